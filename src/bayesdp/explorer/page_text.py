"""The texts of the page for the choices, the priced assumptions and the findings so far; independent of Shiny."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bayesdp.advice.sensitivity_to_assumption import sensitivity_to_assumption, weaker_than
from bayesdp.audit.beliefs import Belief, posterior
from bayesdp.errors import BayesDPError, InvalidInputError
from bayesdp.explorer import code, pictures
from bayesdp.explorer.assumed import ASSUMPTIONS
from bayesdp.explorer.choices import BETAS, Choices
from bayesdp.explorer.explored_file import ExploredFile, hides
from bayesdp.explorer.meaning import meaning
from bayesdp.explorer.priced_assumptions import PricedAssumptions, check_complete
from bayesdp.explorer.question import model_and_query
from bayesdp.explorer.view import COIN, Findings, Row, Sides, Wanted, figure, risk, rows
from bayesdp.models import Model
from bayesdp.rounding import hardly_a_promise, shown_above, shown_below
from bayesdp.session.delta_words import MEANING
from bayesdp.theorems.leakage import Leakage

__all__ = ["Bar", "PageText", "page_text", "wanted_of"]

_LOOK = "When the question is complete, look at the table: you will see which assumptions fit it, and what each costs."
_LOOK_AGAIN = "The question has changed since the last look at the table. Look again."
_NONE_PRICED = (
    "No amount of noise is enough at this ε under any of the assumptions: enter a larger ε, or name entities."
)
_ESTIMATED = (
    "These numbers use the model as estimated. The errors in the list of assumptions also cover the uncertainty of the "
    "estimates, and may be larger."
)
_STATES = (
    "The model was fitted to a table, so its states are values of records. This page calls the states that you did not "
    "enter value 1, value 2 and so on."
)


@dataclass(frozen=True)
class Bar:
    """An attacker's belief: a title, the belief before and after (in percent), the same in words, and a comment.

    tone: "promise" for a claim, "broken" if more may leak than claimed, "kept" if the bound is proven.
    """

    title: str
    before: float
    after: float
    words: str
    tone: str
    says: str


@dataclass(frozen=True)
class PageText:
    """Everything the page shows beside the form.

    problem: what is wrong or missing; then only the meaning of the choices is shown, and the claim of the promise.
    meaning: what the choices about a table mean.
    approximate: the noise and the error for (ε, δ), if there is a δ.
    waiting: whether some theorem is still being evaluated.
    figures: the underlying numbers, if any; they are not shown.
    """

    problem: str = ""
    meaning: tuple[str, ...] = ()
    question: str = ""
    assumption: str = ""
    bars: tuple[Bar, ...] = ()
    error: str = ""
    interval: str = ""
    noise: str = ""
    price: str = ""
    approximate: str = ""
    heads: tuple[str, str] = ("", "")
    rows: tuple[Row, ...] = ()
    chart: str = ""
    pictures: tuple[str, ...] = ()
    python: str = ""
    shell: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    waiting: bool = False
    figures: Sides | None = field(default=None, repr=False)


def wanted_of(explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None) -> Wanted:
    """Return the model, the query and the target of a screen; raises BayesDPError for invalid or missing choices."""
    model, query = model_and_query(choices, _model(explored, choices, priced_assumptions))
    return Wanted(model, query, choices.target)


def _model(explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None) -> Model:
    if explored.model is not None:
        return explored.model
    if explored.kind == "nothing":
        if choices.assumed not in ASSUMPTIONS:
            raise InvalidInputError(
                f"there is no assumption {choices.assumed!r}; choose one of {', '.join(ASSUMPTIONS)}"
            )
        return ASSUMPTIONS[choices.assumed].built(choices)
    check_complete(explored, choices)
    if priced_assumptions is None:
        raise InvalidInputError(_LOOK)
    if not priced_assumptions.fits(choices):
        raise InvalidInputError(_LOOK_AGAIN)
    assumption = priced_assumptions.chosen(choices)
    if assumption is None or assumption.model is None:
        raise InvalidInputError(_NONE_PRICED)
    return assumption.model


def page_text(
    explored: ExploredFile,
    choices: Choices,
    priced_assumptions: PricedAssumptions | None = None,
    findings: Findings | None = None,
) -> PageText:
    """Return the screen for the choices; findings: the results computed so far."""
    try:
        wanted = wanted_of(explored, choices, priced_assumptions)
        known = findings if findings is not None and findings.concerns(wanted) else Findings.about(wanted)
        current = known.sides(wanted)
    except BayesDPError as error:
        means = meaning(explored, choices)
        return PageText(problem=_capital(str(error)), meaning=means, bars=_claims(choices) if means else ())
    leaked = current.ours.leakage
    chart = known.chart
    mark = (current.ours.belief.epsilon if wanted.target.epsilon is None else current.ours.claimed, current.ours.alpha)
    here = f"at ε = {shown_above(mark[0], 3)} the smallest proven error is {figure(mark[1])}."
    by_error = wanted.target.alpha is not None
    cases = BETAS.get(choices.beta, f"{shown_below(100 * (1 - wanted.target.beta))} %")
    estimated = wanted.model.estimated
    return PageText(
        question=_capital(wanted.query.description),
        assumption=f"If {leaked.assumption}. Protected: {leaked.unit}.",
        bars=tuple(_bars(current, by_error=by_error)),
        error=figure(current.ours.alpha),
        interval=f"{cases} interval: {_answers(choices)} ± {figure(current.ours.alpha)}",
        noise=(
            f"This is the error of the noise alone: Laplace noise of scale {figure(current.ours.scale)} (τ = "
            f"{shown_below(current.ours.belief.tau, 4)}), proven by {leaked.headline}."
            + ("" if by_error else f" Plain DP would give ± {figure(current.plain.alpha)}.")
        ),
        meaning=meaning(explored, choices),
        price=current.price,
        approximate=_approximate(current, _answers(choices)),
        heads=("ε at this error", "") if by_error else ("error α", "noise τ"),
        rows=rows(current, known, wanted.target),
        chart="" if chart is None else pictures.chart(chart, mark, here),
        pictures=pictures.pictures(wanted.model),
        python=code.python(explored, choices, wanted.query, priced_assumptions),
        shell=code.shell(explored, choices, wanted.query, priced_assumptions),
        notes=(
            *((_ESTIMATED,) if estimated and explored.kind == "table" else ()),
            *((_STATES,) if hides_any(explored, choices, priced_assumptions) else ()),
            *(_if_the_assumption_is_wrong(leaked) if current.settled else ()),
        ),
        warnings=tuple(text for text in (*leaked.denial, hardly_a_promise(current.ours.claimed)) if text is not None),
        waiting=not (current.settled and known.complete),
        figures=current,
    )


def _answers(choices: Choices) -> str:
    return "each answer" if choices.windows else "the answer"


def _claims(choices: Choices) -> tuple[Bar, ...]:
    """Return the bar of the promise, which depends on no table; none if an error is given instead."""
    try:
        epsilon = choices.target.epsilon
    except BayesDPError:
        return ()
    if epsilon is None:
        return ()
    says = "Someone who wavers between two values of one record may become as sure as this, and no surer."
    return (replace(_claim(epsilon, "The promise"), says=says),)


def _claim(epsilon: float, title: str) -> Bar:
    promised = Belief(epsilon, epsilon, COIN, posterior(epsilon, COIN))
    says = f"As if records were independent, at ε = {shown_above(epsilon, 3)}."
    return Bar(title, 100 * COIN, 100 * promised.posterior, str(promised), "promise", says)


def _approximate(current: Sides, answers: str) -> str:
    found = current.approximate
    if found is None:
        return ""
    error = figure(found.accuracy(found.beta))
    return (
        f"With δ = {found.delta:g}: {answers} ± {error}, with {found.noise.capitalize()} noise. {found.why} {MEANING}"
    )


def _if_the_assumption_is_wrong(leaked: Leakage) -> tuple[str, ...]:
    """Return the leakage of this noise under slightly weaker assumptions; it depends on the model only."""
    lines = sensitivity_to_assumption(leaked.spend, leaked.epsilon, weaker_than(leaked.model))
    return (f"If the assumption is wrong, ε may be larger. {' '.join(map(str, lines))}",) if lines else ()


def hides_any(explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None) -> bool:
    """Whether the page replaces names of states of the model."""
    return hides(_model(explored, choices, priced_assumptions), ())


def _bars(current: Sides, *, by_error: bool) -> list[Bar]:
    plain, ours = current.plain, current.ours
    before = 100 * COIN
    claim = _claim(plain.claimed, "Plain DP's claim")
    leak = Bar(
        "Plain DP, with these correlations",
        before,
        100 * plain.belief.posterior,
        str(plain.belief),
        "kept" if plain.kept else "broken",
        "It leaks no more than it claims: the correlations do no harm here."
        if plain.kept
        else f"The same noise may leak ε = {shown_above(plain.belief.epsilon, 3)}: "
        f"a risk of disclosure of up to {plain.risk}, instead of {risk(posterior(plain.claimed, COIN))}.",
    )
    if by_error:
        title = "bayesdp, with this error"
        says = (
            f"Proven: ε = {shown_above(ours.belief.epsilon, 3)}. The attacker is right in at most {ours.risk} of cases."
        )
    else:
        title = "bayesdp, with enough noise"
        says = f"It keeps the promise: he is right in at most {ours.risk} of cases, whatever other records he knows."
    return [claim, leak, Bar(title, before, 100 * ours.belief.posterior, str(ours.belief), "kept", says)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
