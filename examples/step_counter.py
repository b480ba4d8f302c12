"""The figures of the README and of docs/one-number.md: what each assumption about a step counter costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bayesdp._support.display import table
from bayesdp.accuracy import Laplace, laplace_scale
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.experiments.data import activity_chain
from bayesdp.experiments.twins import ACTIVITY_TRIPLES
from bayesdp.models import Independent, MarkovChain, Model, OddsChain
from bayesdp.models.odds import odds_above
from bayesdp.queries import Count
from bayesdp.rounding import shown_above
from bayesdp.theorems.registry import theorem_named

__all__ = ["ACTIVE", "AssumptionRow", "activity_assumptions", "assumptions_text", "readme_table"]

ACTIVE = Count("steps > 0", equals=True)
README_EPSILONS = (1.0, 5.0, 10.0, 20.0)
BETA = 0.05


@dataclass(frozen=True)
class AssumptionRow:
    """An assumption about the step counter: in words, as a model, and the theorem that uses it."""

    words: str
    model: Model
    theorem: str

    def errors(self, epsilons: Sequence[float] = README_EPSILONS) -> list[float | None]:
        """Return α of the count at each promise; None if the theorem does not reach it."""
        taus = largest_taus(theorem_named(self.theorem), self.model, ACTIVE, epsilons)
        return [None if tau is None else Laplace(laplace_scale(ACTIVE, tau)).alpha(BETA) for tau in taus]


def activity_assumptions() -> tuple[AssumptionRow, ...]:
    """Return the assumptions about the step counter, the strongest first."""
    chain = activity_chain()
    pairs = MarkovChain.from_counts(
        ACTIVITY_TRIPLES, memory=2, states=chain.states, length=chain.length, gaps=True, state=chain.state
    )
    known, unknown = odds_above([chain.log_odds]), odds_above([pairs.log_odds])
    one = OddsChain(known, length=chain.length, states=chain.states, gaps=True, state=chain.state)
    blocks = replace(one, odds=unknown, memory=2)
    return (
        AssumptionRow("plain DP: no two records are correlated", Independent(), "independent"),
        AssumptionRow("a Markov chain, its probabilities known and always the same", chain, "markov-mixing"),
        AssumptionRow(
            f"a chain, odds ratio of neighbours at most {shown_above(known, 4)}, whatever the hour", one, "odds-chain"
        ),
        AssumptionRow("the last two records matter, probabilities known and always the same", pairs, "markov-memory"),
        AssumptionRow(
            f"the last two matter, odds ratio of pairs at most {shown_above(unknown, 4)}, whatever the hour",
            blocks,
            "odds-chain",
        ),
        AssumptionRow("the paper's bound for the known chain", chain, "markov-paper"),
        AssumptionRow("nothing: any of the 15,264 records may determine any other", chain, "general"),
    )


def readme_table(*, theorems: bool = False) -> str:
    """Return the error of the count for each promise and assumption, as a table in Markdown.

    theorems: name the theorem of each row, as docs/one-number.md does and the README does not.
    """
    header = [
        "what is assumed",
        *(["theorem"] if theorems else []),
        *(f"ε = {epsilon:g}" for epsilon in README_EPSILONS),
    ]
    rows = [
        [row.words, *([f"`{row.theorem}`"] if theorems else []), *map(_shown, row.errors())]
        for row in activity_assumptions()
    ]
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def assumptions_text(epsilon: float) -> str:
    """Return the errors at one promise as a text table, with multiples of plain DP's error."""
    errors = [(row, row.errors([epsilon])[0]) for row in activity_assumptions()]
    plain = errors[0][1]
    assert plain is not None
    rows = [
        [row.words, _shown(error), "–" if error is None else f"{error / plain:,.2f} ×", row.theorem]
        for row, error in errors
    ]
    return table(["what is assumed", f"error at ε = {epsilon:g}", "plain DP's", "theorem"], rows)


def _shown(error: float | None) -> str:
    return "impossible" if error is None else f"{error:,.2f}"
