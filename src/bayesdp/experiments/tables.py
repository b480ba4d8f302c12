"""The tables of the report: data sets, smallest ε, errors as multiples of plain DP, the paper's numbers beside ours."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bayesdp.accuracy import least_failure
from bayesdp.experiments.paper import CLAIMS, DATA
from bayesdp.experiments.simulate import Result
from bayesdp.experiments.studies import IF_EQUAL, STUDIES, Study
from bayesdp.leakage.gaussian_paper import paper_factor
from bayesdp.leakage.registry import theorem_named
from bayesdp.models import GaussianGroups, MarkovChain
from bayesdp.spending import as_spend

__all__ = [
    "SHOWN",
    "Runs",
    "Table",
    "agrees",
    "data_table",
    "least_epsilon",
    "least_table",
    "multiples_table",
    "paper_table",
]

SHOWN = (1.0, 5.0, 10.0, 20.0)
"""The ε of the tables."""

_NEXT_TO_NOTHING = 1e-9
_MARKOV = ("markov-paper", "markov-quilt", "markov-mixing", "markov-count", "general")

Runs = Mapping[str, tuple[Study, Result]]


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def csv(self) -> str:
        """Return the table as CSV."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()


def least_epsilon(theorem: str, study: Study) -> float | None:
    """Return the ε a theorem proves for next to no τ: what it cannot go below; None where it does not apply."""
    chosen, spec = theorem_named(theorem), study.experiment
    if chosen.refusal(spec.model, (spec.query,)) is not None:
        return None
    return chosen.epsilon(spec.model, as_spend(spec.query, _NEXT_TO_NOTHING))


def data_table(runs: Runs) -> Table:
    """Return the data sets, with what the paper prints and what we find side by side."""
    rows = []
    for name, (study, result) in runs.items():
        printed, model = DATA[name], study.experiment.model
        symbol, value = ("γ", model.gamma) if isinstance(model, MarkovChain) else ("ρ", _correlation(study))
        answers = result.answers
        rows.append(
            (
                study.title,
                study.source,
                printed.records,
                str(study.records) + (f", {len(answers)} days" if len(answers) > 1 else ""),
                printed.size,
                str(study.size),
                f"{symbol} = {printed.gamma or printed.correlation}",
                f"{symbol} = {value:.4f}",
                printed.sensitivity,
                f"{study.experiment.query.sensitivity:g} ({study.unit})",
                f"{_answer(answers)} {study.unit}" + (" a day" if len(answers) > 1 else ""),
            )
        )
    header = ("data set", "used here", "n (paper)", "n", "m (paper)", "m", "parameter (paper)", "parameter")
    more = ("sensitivity (paper)", "sensitivity", "exact answer")
    return Table("data-sets", "Data sets, the paper's values and ours", (*header, *more), tuple(rows))


def _answer(answers: Sequence[float]) -> str:
    mean = sum(answers) / len(answers)
    return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"


def least_table(runs: Runs) -> Table:
    """Return the smallest ε of every Markov data set under every theorem."""
    rows = []
    for name, (study, _) in runs.items():
        if not isinstance(study.experiment.model, MarkovChain):
            continue
        cells = []
        for theorem in _MARKOV:
            least = least_epsilon(theorem, study)
            none = least is not None and least < 1e-3
            cells.append("does not apply" if least is None else "any ε > 0" if none else f"{least:.3f}")
        rows.append((study.title, study.source, " / ".join(dict.fromkeys(DATA[name].least)), *cells))
    header = ("data set", "used here", "printed in the paper", *_MARKOV)
    note = "What a theorem proves for next to no τ; an ε below it cannot be promised, however much noise is added."
    return Table("least-epsilon", "The smallest ε that can be promised", header, tuple(rows), note)


def multiples_table(runs: Runs) -> Table:
    """Return the error under every theorem as a multiple of plain DP's, at a few ε."""
    rows = []
    for study, result in runs.values():
        for name in result.mechanisms[1:]:
            found = [row for epsilon in SHOWN for row in result.at(name, epsilon)]
            rows.append((study.title, study.source, name, *(_multiple(row.factor) for row in found)))
        for name, reason in result.reasons:
            if "it is about" not in reason and name != "independent":
                rows.append((study.title, study.source, name, *("does not apply" for _ in SHOWN)))
    header = ("data set", "used here", "theorem", *(f"ε = {epsilon:g}" for epsilon in SHOWN))
    supposed = any(IF_EQUAL in name for _, result in runs.values() for name in result.mechanisms)
    equal = (
        f"“{IF_EQUAL}”: from the paper's printed ρ, and no guarantee for these data, whose variances differ. "
        "gaussian-paper is then what the paper published; gaussian-tight is ours."
    )
    note = f"{equal if supposed else ''} {_refusals(runs)}".strip()
    return Table("multiples", "Error as a multiple of plain DP's", header, tuple(rows), note)


def paper_table(runs: Runs, charts: Sequence[str] = ()) -> Table:
    """Return every number the paper prints that can be recomputed, beside ours, with a verdict."""
    rows: list[tuple[str, ...]] = []
    for name, (study, result) in runs.items():
        about = _gaussian if isinstance(study.experiment.model, GaussianGroups) else _markov
        rows += [(study.title, study.source, *row) for row in (*_records(name, study), *about(name, study, result))]
    rows += [("theory", "no data", *row) for chart in charts for row in _theory(chart)]
    header = ("about", "used here", "what", "printed", "from the paper's own numbers", "from the data", "verdict")
    return Table("paper-vs-ours", "The paper's numbers and ours", header, tuple(rows))


def agrees(printed: str, value: float) -> str | None:
    """Return "match" if the value rounds to what is printed, "match, cut off" if it is cut to it, else None.

    >>> agrees("0.882", 0.88236), agrees("0.117", 0.11764), agrees("4.7", 6.95)
    ('match', 'match, cut off instead of rounded', None)
    """
    decimals = len(printed.partition(".")[2])
    step, off = 10.0**-decimals, value - float(printed)
    if abs(off) <= step / 2 * (1 + 1e-9):
        return "match"
    return "match, cut off instead of rounded" if 0 <= off < step else None


Cells = tuple[str, str, str, str, str]


def _row(what: str, printed: str, own: float | None, data: float | None, otherwise: str, digits: int = 4) -> Cells:
    """Return one row: match if what is recomputed, from either source, rounds to what is printed."""
    verdicts = [None if value is None else agrees(printed, value) for value in (own, data)]
    found = [verdict for verdict in verdicts if verdict]
    shown = ["–" if value is None else f"{value:.{digits}f}" for value in (own, data)]
    return what, printed, shown[0], shown[1], min(found, key=len) if found else otherwise


def _records(name: str, study: Study) -> Iterator[Cells]:
    frame = study.data.frame
    missing = sum(frame.null_count().row(0))
    reason = (
        f"differs: {frame.height:,} counts the {missing:,} missing values"
        if missing
        else f"differs: one child of each family and its parents are {study.records // study.size} trios; the file has "
        f"{frame.height} rows, one a child"
    )
    yield _row("records n", DATA[name].records, None, study.records, reason, digits=0)


def _gaussian(name: str, study: Study, result: Result) -> Iterator[Cells]:
    printed, model = DATA[name], study.experiment.model
    assert isinstance(model, GaussianGroups)
    assert printed.correlation is not None
    assert printed.factor is not None
    rho = _correlation(study)
    yield _row("largest correlation ρ", printed.correlation, None, rho, "differs")
    own, data = (float(paper_factor(study.size, Fraction(value))) for value in (printed.correlation, rho))
    row = _row("factor ε/τ of the Gaussian bound", printed.factor, own, data, "differs")
    paper, exact, general = (
        next(rows[0] for each in result.mechanisms if each.startswith(start) and (rows := result.at(each, 1.0)))
        for start in ("gaussian-paper", "gaussian-covariance", "general")
    )
    if not paper.proven:
        deviations = ", ".join(f"{value**0.5:.2f}" for value in sorted(model.matrices[0].diagonal(), reverse=True))
        below = "above: ε is understated" if (exact.factor or 0) > own else "below it all the same"
        row = (
            *row[:4],
            f"{row[4]}, but variances differ (sd {deviations}); the lemma gives {exact.factor:.3f}, {below}",
        )
    yield row
    claim = CLAIMS.galton_saving if name == "galton" else CLAIMS.iq_saving
    saved = (general.alpha or 0) - (paper.alpha or 0)
    three = (general.alpha or 0) / study.size * 3 - (paper.alpha or 0)
    verdict = (
        "holds"
        if saved > float(claim)
        else (
            f"less: general has τ = ε/{study.size} here; the text takes τ = ε/3 for all three data sets, which is "
            f"right for Galton only and would save {three:.0f}"
        )
    )
    yield f"error saved at ε = 1, {study.unit}", f"more than {claim}", "–", f"{saved:.0f}", verdict


def _markov(name: str, study: Study, result: Result) -> Iterator[Cells]:
    printed, model = DATA[name], study.experiment.model
    assert isinstance(model, MarkovChain)
    assert printed.matrix is not None
    assert printed.gamma is not None
    entries = [entry for row in model.transition for entry in row]
    verdicts = [agrees(text, entry) for text, entry in zip(printed.matrix, entries, strict=True)]
    verdict = "differs" if None in verdicts else max(map(str, verdicts), key=len)
    ours = " ".join(f"{entry:.4f}" for entry in entries)
    yield "transition matrix, row by row", " ".join(printed.matrix), "–", ours, verdict
    numbers = [float(text) for text in printed.matrix]
    gamma = max(numbers) / min(numbers)
    contradiction = (
        f"contradicts the printed matrix: {max(printed.matrix)}/{min(printed.matrix)} = {gamma:.2f}, 4 ln γ = "
        f"{4 * math.log(gamma):.2f}"
    )
    yield _row("γ, from the printed matrix", printed.gamma, gamma, model.gamma, contradiction)
    wrong = agrees(printed.gamma, gamma) is None
    for place, least in zip(("equation", "text", "results"), printed.least, strict=False):
        own, data = 4 * math.log(gamma), 4 * math.log(model.gamma)
        from_gamma = 4 * math.log(float(printed.gamma))
        fits = agrees(least, from_gamma) is not None
        said = f"the printed γ = {printed.gamma} gives {from_gamma:.4f}"
        known = f"wrong, as its γ is: {said}; it {contradiction}"
        reason = known if fits and wrong else f"differs: {said}, {_unexplained(name, least, data)}"
        row = _row(f"smallest ε, 4 ln γ ({place})", least, own, data, reason)
        yield row if fits or not row[4].startswith("match") else (*row[:4], f"{row[4]}, but {said}")
    if len(result.answers) > 1:
        for days in CLAIMS.days:
            every = study.data.frame["date"].n_unique()
            held = f"differs: {every} days, {len(result.answers)} of them with values"
            unseen = "" if days == str(every) else f"; where {days} comes from cannot be seen"
            yield _row("number of days", days, None, len(result.answers), held + unseen, digits=0)
    yield from _claims(name, study, result)


def _unexplained(name: str, least: str, found: float) -> str:
    """Return what the paper's own numbers say about a smallest ε that its γ does not give, and how it may have come."""
    printed = DATA[name]
    assert printed.matrix is not None
    low, high = _printed_range(printed.matrix)
    said = f"every matrix that is printed like this one between {low:.4f} and {high:.4f}"
    place = len(least.partition(".")[2])
    others = [other for other, each in DATA.items() if other != name and each.least[:1] == (least,)]
    if others:
        return f"{said}; the equation has {least} for “{STUDIES[others[0]].title}”"
    if least != printed.least[0] and sorted(least) == sorted(printed.least[0]):
        return f"{said}; it may be the equation's {printed.least[0]} with two digits swapped"
    if math.ceil(found * 10**place) == round(float(least) * 10**place):
        return f"{said}; rounded up, {found:.4f} would be {least}"
    return f"{said}; γ would have to be {math.exp(float(least) / 4):.2f}, which nothing in the paper gives"


def _printed_range(matrix: Sequence[str]) -> tuple[float, float]:
    """Return between what 4 ln γ lies for the matrices of two states whose entries, rounded or cut off, are these.

    >>> low, high = _printed_range(("0.818", "0.182", "0.371", "0.629"))
    >>> round(low, 3), round(high, 3)
    (5.998, 6.025)
    """
    rows = []
    for stay, leave in (matrix[:2], matrix[2:]):
        (least, most), (other_least, other_most) = map(_before_rounding, (stay, leave))
        rows.append((max(least, 1 - other_most), min(most, 1 - other_least)))
    entries = [(first, 1 - first, second, 1 - second) for first in rows[0] for second in rows[1]]
    gammas = [max(each) / min(each) for each in entries]
    return 4 * math.log(min(gammas)), 4 * math.log(max(gammas))


def _before_rounding(printed: str) -> tuple[float, float]:
    step = 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - step / 2, float(printed) + step


def _claims(name: str, study: Study, result: Result) -> Iterator[Cells]:
    rows = [row for row in result.at("markov-paper") if row.factor is not None]
    if name == "activity":
        ratios = [(result.at("general", row.epsilon)[0].factor or 0) / (row.factor or 1) for row in rows]
        ratio = f"cannot be: n(ε − 4 ln γ)/ε is below n = {study.records:,}"
        yield "error of general over that of markov-paper", CLAIMS.activity_ratio, "–", f"{max(ratios):,.0f}", ratio
    claim = CLAIMS.day_mape if len(result.answers) > 1 else CLAIMS.mape
    above = [row for row in rows if (result.expected(row) or 0) >= float(claim)]
    largest = max(result.expected(row) or 0 for row in rows)
    verdict = "holds for every ε tried"
    if above:
        last = max(row.epsilon for row in above)
        verdict = f"holds for ε above {last:g} only: just above the smallest ε the error has no limit"
    yield "MAPE of markov-paper, %", f"below {claim}", "–", f"up to {largest:.2g}", verdict


def _theory(chart: str) -> Iterator[Cells]:
    if chart == "markov-region":
        for claim, wins in ((CLAIMS.markov_wins, True), (CLAIMS.markov_loses, False)):
            tau, n, gamma = map(float, claim)
            limit = math.exp((n - 1) * tau / 4)
            verdict = "holds" if wins and gamma < limit else f"wrong: it loses from γ = {limit:.2f} on"
            what = f"γ {'at which markov-paper still wins' if wins else 'from which it loses'}, τ = {tau:g}, n = {n:g}"
            yield what, claim[2], f"up to {limit:,.2f}" if wins else f"from {limit:,.2f}", "–", verdict
    if chart == "impossibility":
        limits = [math.log(share / (1 - share)) for share in (0.9, 0.95, 0.99)]
        sure = 100 * (1 - least_failure(float(CLAIMS.impossible_below)))
        shown = ", ".join(f"{limit:.3f}" for limit in limits)
        verdict = f"too much: at ε = {CLAIMS.impossible_below} answers up to {sure:.1f} % sure are not excluded"
        yield "ε below which 90, 95, 99 % sure is impossible", CLAIMS.impossible_below, shown, "–", verdict


def _multiple(factor: float | None) -> str:
    if factor is None:
        return "not reached"
    return f"{factor:.3f}" if factor < 10 else f"{factor:,.2f}" if factor < 100 else f"{factor:,.0f}"


def _refusals(runs: Runs) -> str:
    """Return why theorems do not apply where they do not, one sentence a data set and reason."""
    sentences = []
    for study, result in runs.values():
        reasons: dict[str, list[str]] = {}
        for name, reason in result.reasons:
            if "it is about" not in reason and name != "independent":
                reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            apply = "does not apply" if len(names) == 1 else "do not apply"
            why = reason if len(names) == 1 else reason.replace("it needs", "they need", 1)
            sentences.append(f"{study.title}: {' and '.join(names)} {apply}: {why}.")
    return " ".join(sentences)


def _correlation(study: Study) -> float:
    model = study.experiment.model
    assert isinstance(model, GaussianGroups)
    return model.largest_correlation
