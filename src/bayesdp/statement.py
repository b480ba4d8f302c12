"""One page about a release that a data-protection officer can file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp.rounding import shown_above, shown_below

if TYPE_CHECKING:
    from bayesdp.answer import Answer

__all__ = ["statement"]


def statement(answer: Answer) -> str:
    """Return the page, in Markdown: what was released, under which assumptions, what it can tell, who checks what."""
    from math import exp

    odds = (
        f"e^ε = {shown_above(exp(answer.epsilon_total), 4)}"
        if answer.epsilon_total < 700
        else "e^ε, beyond any meaning"
    )
    notes = "".join(f"- {note}\n" for note in answer.notes)
    worst = f" The worst case found: {answer.worst_case}." if answer.worst_case else ""
    return f"""# Statement on a privacy-protected release

| | |
|---|---|
| Data set | {_cell(answer.dataset)} ({answer.records} records, a public number) |
| Question | {_cell(answer.query.description)} |
| Answer | {_cell(answer.shown())} |
| Accuracy | off by less than {shown_above(answer.accuracy())} with probability {shown_below(100 * answer.level)} % |
| Released | {answer.timestamp} |
| Cost of this release | ε = {shown_above(answer.epsilon)} (τ = {shown_below(answer.tau)}) |
| All releases on this data set so far | ε = {shown_above(answer.epsilon_total)} |
| Remaining budget | ε = {shown_below(answer.epsilon_remaining)} |

## What an attacker can learn at most
Whatever anyone knows of the other records and of how records are correlated, everything released on this data set so
far changes the odds between any two values of one record by a factor of at most {odds}.
What is protected is {answer.protects}. The guarantee covers {answer.scope}.{worst}

## Under which assumptions
1. {answer.assumption[:1].upper() + answer.assumption[1:]}.
2. The number of records is public, and the data set was not released by any other way than through this ledger.
3. The noise was drawn by OpenDP's discrete Laplace sampler from the operating system's randomness.
{notes}
The proof is theorem `{answer.theorem}` ({answer.proof}).

## Who should check what
- The data holder: does the assumption hold? `bayesdp diagnose` shows what the data say about it.
- The data-protection officer: is ε = {shown_above(answer.epsilon_total)} acceptable? What it protects is
  {answer.protects}: a person with several records is protected less than each record.
- The auditor: `bayesdp budget verify` recomputes the ledger; this answer was charged as entry {answer.entry} with head
  hash `{answer.head}`.

Fingerprints: query `{answer.query_fingerprint}`, model `{answer.model_fingerprint}`.
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
