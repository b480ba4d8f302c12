"""One page about a release that a data-protection officer can file."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

from bayesdp._support.files import write_private
from bayesdp._support.validation import escaped
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError
from bayesdp.rounding import shown_above, shown_below, shown_odds
from bayesdp.session.answers import Answers
from bayesdp.session.delta_words import MEANING, factor_and_delta, guessed_right, number_left
from bayesdp.session.pages import Block, Code, Listed, Page, Text, Verbatim, html_opening, markdown_opening
from bayesdp.session.proofs import proof_names
from bayesdp.theorems.approximate import LIFT

if TYPE_CHECKING:
    from bayesdp.session.answer import Answer

__all__ = ["statement", "write"]

TITLE = "Statement on a privacy-protected release"

_OPENINGS = {".html": html_opening(TITLE), ".md": markdown_opening(TITLE)}
"""How a statement begins, by its file's ending; a file that begins otherwise is not replaced by one."""

_LARGEST_LOG = 700.0

_ADDING, _SELECTING = "discrete Laplace sampler", "noisy max, which selects among candidates,"
_ADDING_GAUSSIAN = "discrete Gaussian sampler"
"""What draws noise, in OpenDP's words."""

_ACCOUNT = "docs/theory/accounting.md"
"""The proof of what accounts promise that promise (ε, δ)."""


def statement(answer: Answer | Answers) -> Page:
    """Return the page: what was released, under which assumptions, what it can tell, who checks what.

    The answers to a question by windows or parts have one page together.
    """
    if isinstance(answer, Answers):
        page, answers = statement(answer.latest), answer
        listed = ("The answers", [Listed(answers.listed)])
        return replace(page, warnings=answers.warnings, facts=_facts_of(answers), sections=(listed, *page.sections))
    return Page(
        TITLE,
        answer.warnings,
        _facts(answer),
        (
            (f"What an attacker {'could' if answer.denied else 'can'} learn at most", _learned(answer)),
            ("Under which assumptions", _assumptions(answer)),
            ("What the data say about the assumption", _tested(answer)),
            *([("If the assumption is wrong", _if_the_assumption_is_wrong(answer))] if answer.consequences else []),
            ("The proof", [_proof(answer)]),
            ("Who should check what", _checks(answer)),
        ),
    )


def write(answer: Answer | Answers, path: str | Path) -> None:
    """Write the page to a file, by its ending as HTML or Markdown. It may replace an older statement, nothing else.

    Raises InvalidInputError, which names the file, for another ending, another file in its place, and a failure.
    """
    ending = Path(path).suffix.lower()
    if ending not in _OPENINGS:
        raise InvalidInputError(f"{path}: a statement is written to a .html or an .md file")
    try:
        taken = Path(path).exists() and not _begins(Path(path), _OPENINGS[ending].encode())
        if not taken:
            page = statement(answer)
            write_private(path, escaped(page.html() if ending == ".html" else page.markdown()))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
    if taken:
        raise InvalidInputError(f"{path} exists and is not a statement; remove it first, or write to another file")


def _begins(path: Path, opening: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(opening)) == opening


def _facts(answer: Answer) -> list[tuple[str, str]]:
    rounded, unrounded = answer.shown(answer.rounded), answer.shown()
    exactly = (
        [] if rounded == unrounded else [("Unrounded", f"{unrounded} (rounding what is released costs no privacy)")]
    )
    return [
        ("Data set", f"{answer.dataset} ({counted(answer.records, 'record')}, a public number)"),
        ("Question", answer.query.description),
        ("Answer", rounded),
        *exactly,
        ("Accuracy", f"off by less than {answer.off_by}"),
        ("Cost of this release", f"ε = {shown_above(answer.epsilon)} ({answer.spent})"),
        ("All releases on this data set so far", f"ε = {shown_above(answer.epsilon_total)}{_at(answer)}"),
        ("Remaining budget", f"ε = {answer.left}"),
        *_promised(answer),
        *_believed(answer),
        ("Verdict on the model", answer.verdict),
        ("Released", f"{answer.timestamp}, by {answer.by or '(responsible person not named)'}"),
        ("Ledger", f"{answer.ledger or 'not named'}, entry {answer.entry}"),
        ("Software", f"bayesdp {answer.version or '(version not recorded)'}"),
    ]


def _facts_of(answers: Answers) -> list[tuple[str, str]]:
    """Return the facts about several answers: what is the same for all of them, and what it cost together."""
    last, entries = answers.latest, sorted(answer.entry for answer in answers)
    windows = "windows" if answers.cells else "parts"
    span = f"entry {entries[0]}" if entries[0] == entries[-1] else f"entries {entries[0]} to {entries[-1]}"
    changed = {
        "Data set": f"{last.dataset} ({counted(sum(answer.records for answer in answers), 'record')} in these "
        f"{windows}, a public number)",
        "Question": answers.title,
        "Answer": f"{counted(len(answers), 'answer')}, listed below",
        "Accuracy": "beside each answer",
        "Cost of this release": f"ε = {shown_above(answers.epsilon)} about each record, for all answers together: a "
        f"record is in one of the {windows}",
        "Ledger": f"{last.ledger or 'not named'}, {span}",
    }
    return [(name, changed.get(name, text)) for name, text in _facts(last) if name != "Unrounded"]


def _believed(answer: Answer) -> list[tuple[str, str]]:
    if answer.credibility is None:
        return []
    return [("Credibility", f"{shown_below(100 * answer.credibility)} % of the models that the data leave possible")]


def _at(answer: Answer) -> str:
    return "" if answer.delta is None else f" at δ = {shown_above(answer.delta)}"


def _promised(answer: Answer) -> list[tuple[str, str]]:
    if answer.delta is None:
        return []
    left = number_left(answer.further_answers).strip()
    return [
        ("Promise of the account", f"ε = {shown_above(answer.promised)} with δ = {shown_above(answer.delta)}"),
        *([("More answers", left)] if left else []),
    ]


def _learned_with_delta(answer: Answer, delta: float) -> list[Block]:
    """Return the promise of an account that promises (ε, δ), and what its δ means and does not mean."""
    epsilon = answer.promised
    denied = "The data contradict the assumption, so nothing is proven about them. Were the assumption true: "
    worst = f" The guarantee covers {answer.scope}."
    return [
        f"{denied if answer.denied else ''}For every attacker whom the guarantee covers, and whichever answers are "
        "named beforehand, everything that is ever released in this account makes them at most "
        f"{factor_and_delta(epsilon, delta)}. So {guessed_right(epsilon, delta)}.",
        MEANING,
        f"This promise was fixed when the account was opened. What has been used so far, ε = "
        f"{shown_above(answer.epsilon_total)}, is the ε that the releases so far could have promised at the same δ.",
        f"What is protected is {answer.protects}.{worst}",
    ]


def _learned(answer: Answer) -> list[Block]:
    if answer.delta is not None:
        return _learned_with_delta(answer, answer.delta)
    total = answer.epsilon_total
    factor = f"e^ε = {shown_above(exp(total), 4)}" if total < _LARGEST_LOG else "e^ε, beyond any meaning"
    worst = f" The worst case found: {answer.worst_case}." if answer.worst_case else ""
    if answer.denied:
        return [
            "The data contradict the assumption, so nothing is proven about what an attacker can learn from them. Were "
            f"the assumption true, everything released on this data set so far would change the odds between any two "
            f"values of one record by a factor of at most {factor}: {shown_odds(total)}.",
            f"What would be protected is {answer.protects}.",
        ]
    return [
        "For every attacker whom the guarantee covers, everything released on this data set so far changes the odds "
        f"between any two values of what is protected by a factor of at most {factor}: {shown_odds(total)}.",
        f"What is protected is {answer.protects}. The guarantee covers {answer.scope}.{worst}",
    ]


def _assumptions(answer: Answer) -> list[Block]:
    listed: list[Text] = [
        f"{answer.assumption[:1].upper()}{answer.assumption[1:]}.",
        "The number of records is public, and every release of the data set is in this ledger; of those that were made "
        "elsewhere and recorded in it, the τ is the word of whoever recorded them.",
        f"The noise was drawn by OpenDP's {_sampler(answer)}; the operating system seeds its generator.",
        *([f"{answer.believed}."] if answer.believed else []),
        *answer.notes,
    ]
    query = answer.query
    if query.public_filter and query.where is not None:
        listed.insert(
            2,
            (
                "The filter ",
                Code(query.where),
                f" was asserted to be public by {answer.by or 'the analyst'}: that it uses public attributes only "
                "cannot be seen from the data.",
            ),
        )
    if answer.parameters is None:
        return [Listed(listed, ordered=True)]
    return [Listed(listed, ordered=True), "The parameters of the first assumption:", Verbatim(answer.parameters)]


def _sampler(answer: Answer) -> str:
    if answer.query.thresholds:
        return _SELECTING
    return _ADDING_GAUSSIAN if answer.noise_kind == "gaussian" else _ADDING


def _tested(answer: Answer) -> list[Block]:
    if answer.diagnosis is None:
        return [
            (
                f"{answer.tested}. ",
                Code("bayesdp diagnose"),
                " tests it on a table. If there is no test for such a model, it rests on the word of the data holder.",
            )
        ]
    return [
        f"{answer.tested}.",
        Listed([f"{finding['name']}: {finding['verdict']}" for finding in answer.diagnosis["findings"]]),
        "A diagnosis can find a violation, but cannot prove an assumption. It was computed from the data without "
        "noise, and no guarantee covers it.",
    ]


def _if_the_assumption_is_wrong(answer: Answer) -> list[Block]:
    return [
        "What everything released on this data set so far would leak, by the same theorems, if less than the first "
        "assumption were true (ε):",
        Listed(answer.consequences),
    ]


def _proof(answer: Answer) -> Text:
    theorem: tuple[str | Code, ...] = ("Theorem ", Code(answer.theorem), ", proven in ", Code(answer.proof))
    ours = [name for name in proof_names() if answer.proof == f"docs/theory/{name}.md"]
    if answer.delta is not None:
        theorem = (*theorem, "; how it gives δ, and what an account promises, in ", Code(LIFT), " and ", Code(_ACCOUNT))
    return (*theorem, "; ", Code(f"bayesdp proof {ours[0]}"), " prints that page.") if ours else (*theorem, ".")


def _judged(answer: Answer) -> str:
    if answer.delta is None:
        return f"ε = {shown_above(answer.epsilon_total)}"
    return f"ε = {shown_above(answer.promised)} with δ = {shown_above(answer.delta)}"


def _checks(answer: Answer) -> list[Block]:
    return [
        Listed(
            [
                (
                    "The data holder: does the assumption hold? ",
                    Code("bayesdp diagnose"),
                    " shows what the data say about it, where there is a test for it.",
                ),
                f"The data-protection officer: is {_judged(answer)} acceptable? What it protects "
                f"is {answer.protects}: a person with more records than that is protected less.",
                (
                    "The auditor: ",
                    Code("bayesdp budget verify"),
                    f" recomputes the ledger; this answer was charged as entry {answer.entry} with head hash ",
                    Code(answer.head),
                    ".",
                ),
            ]
        ),
        (
            "Fingerprints: query ",
            Code(answer.query_fingerprint),
            ", model ",
            Code(answer.model_fingerprint),
            ".",
        ),
    ]
