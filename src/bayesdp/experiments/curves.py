"""The figures of the theory: the bounds, without any data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from bayesdp.accuracy import Laplace, laplace_scale, least_failure
from bayesdp.audit import oracle
from bayesdp.calibration.prior_art import Chakrabarti2022, ProvenResponse, chakrabarti_flip
from bayesdp.experiments.simulate import PLAIN, taus
from bayesdp.models import MarkovChain
from bayesdp.plotting.charts import Chart, Line, Panel, Scales, line
from bayesdp.plotting.palette import PALETTE, colour_of
from bayesdp.queries import Count
from bayesdp.theorems.gaussian.paper import paper_factor
from bayesdp.theorems.gaussian.tight import tight_factor
from bayesdp.theorems.registry import theorem_named

__all__ = ["CURVES", "oracle_leak", "response_chart", "symmetric", "tightness"]

_COUNT = Count(equals=1)
_BETA = 0.05
_OURS = ("markov-mixing", "markov-count")
_RINGS = (1.0, 4.0, 7.0, 10.0)
_NAMED = {
    PLAIN: "plain DP,\nunprotected",
    "chakrabarti-2022": "Chakrabarti 2022,\nas published",
    "randomized-response": "randomized response,\nproven by mixing",
    "markov-paper": "markov-paper",
    "markov-mixing": "markov-mixing (ours)\n= markov-count (rings)",
}


_PROVEN = (
    "The other line of randomized response flips with probability 1/(1 + e^τ), τ from markov-mixing, and keeps the "
    "promise."
)


def gaussian_bound() -> Chart:
    """Return ε over ρ at τ = 1 for groups of 3, 5 and 7: general, the paper's bound, ours."""
    panels = []
    for size in (3, 5, 7):
        grid = [Fraction(k, 400 * (size - 2)) for k in range(1, 400)]
        end = 1 / (size - 2)
        paper = _cut(((float(rho), float(paper_factor(size, rho))) for rho in grid), 10)
        tight = tuple((float(rho), float(tight_factor(size, rho))) for rho in grid)
        lines = (
            line("general", ((0.0, float(size)), (end, float(size))), "general\n= yang-2015"),
            line("gaussian-paper", paper, "gaussian-paper"),
            line("gaussian-tight", tight, "gaussian-tight (ours)"),
            line(PLAIN, ((0.0, 1.0), (end, 1.0)), "plain DP promises this,\nunprotected"),
        )
        panels.append(Panel(lines, f"groups of m = {size}", "right" if size == 7 else ""))
    return Chart(
        "gaussian-bound",
        "The paper's Gaussian bound exceeds the general one well before ρ = 1/(m − 2); the tight form of the same "
        "theorem never does.",
        "largest correlation ρ in a group",
        "leakage ε of a 1-DP sum",
        tuple(panels),
        columns=3,
        limits=(0, 10),
    )


def gaussian_error() -> Chart:
    """Return the error relative to plain DP over ρ for groups of 3 to 24: the paper's bound, ours."""
    panels = []
    for factor, title in ((paper_factor, "gaussian-paper"), (tight_factor, "gaussian-tight (ours)")):
        lines = []
        for size, colour in zip((3, 6, 12, 24), PALETTE, strict=False):
            end = 1 / (size - 2)
            grid = np.union1d(np.geomspace(0.005, end, 200)[:-1], np.linspace(0, end, 200)[1:-1])
            rhos = [Fraction(float(rho)).limit_denominator(10**6) for rho in grid]
            points = ((float(rho), float(factor(size, rho))) for rho in rhos if rho * (size - 2) < 1)
            lines.append(Line(f"m = {size}", _cut(points, 10), colour, label=f"m = {size}"))
        lines.append(line(PLAIN, ((0.005, 1.0), (1.0, 1.0)), "plain DP, unprotected"))
        panels.append(Panel(tuple(lines), title, "above"))
    linear = Scales(limits=(0, 10), span=(0, 1))
    logarithmic = Scales(log="x", limits=(0, 10), span=(0.005, 1), ticks=(0.01, 0.1, 1))
    return Chart(
        "gaussian-error",
        "The larger the group, the smaller ρ must be; for m = 24 the tight bound merely doubles the error where the "
        "paper's has passed ten times.",
        "largest correlation ρ in a group",
        "error h relative to plain DP",
        _twice(panels, linear, logarithmic),
        note="Above: the paper's axes. Below: a logarithmic ρ, which shows large groups. Cut off at h = 10 as in the "
        "paper; a line ends where ρ(m − 2) = 1, the end of the theorem's reach.",
        columns=2,
    )


def markov_region() -> Chart:
    """Return up to which γ the paper's Markov bound beats the general one, over n."""
    lines = []
    for tau, colour in zip((0.5, 1.0, 2.0), PALETTE, strict=False):
        last = 1 + 4 * math.log(1e4) / tau
        points = tuple((n, math.exp((n - 1) * tau / 4)) for n in [*range(1, math.floor(last) + 1), last])
        lines.append(Line(f"τ = {tau:g}", points, colour, "area", f"τ = {tau:g}"))
    return Chart(
        "markov-region",
        "Below and right of a line τ + 4 ln γ is less than n·τ: for long chains the Markov bound wins even if "
        "γ is huge.",
        "number of records n in the chain",
        "ratio γ of transition probabilities",
        (Panel(tuple(lines), labels="above"),),
        note="markov-mixing (ours) is at most the smaller of the two bounds everywhere: it loses in no region.",
        log="y",
        limits=(1, 1e4),
        span=(1, 100),
        ticks=(1, 20, 40, 60, 80, 100),
    )


def markov_error() -> Chart:
    """Return the error relative to plain DP over γ for several ε: the paper's bound, ours for symmetric chains."""
    epsilons = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
    gammas = np.union1d(np.geomspace(1, 100, 400), np.linspace(1, 100, 400)).tolist()
    coarse = np.union1d(np.geomspace(1.01, 100, 40), np.linspace(10, 100, 19)).tolist()
    mixing = [taus(theorem_named("markov-mixing"), symmetric(1 / (1 + g), None), _COUNT, epsilons) for g in coarse]
    paper, ours = [], []
    for index, (epsilon, colour) in enumerate(zip(epsilons, PALETTE, strict=True)):
        end = math.exp(epsilon / 4)
        heights = [(g, epsilon / (epsilon - 4 * math.log(g))) for g in gammas if g < end]
        points = _cut([*heights, *([(end, math.inf)] if end < 100 else [])], 100)
        paper.append(Line(f"ε = {epsilon:g}", points, colour, label=f"{epsilon:g}"))
        curve = tuple((g, epsilon / float(allowed[index] or 0)) for g, allowed in zip(coarse, mixing, strict=True))
        ours.append(Line(f"ε = {epsilon:g}", curve, colour, label=f"ε = {epsilon:g}"))
    plain = line(PLAIN, ((1.0, 1.0), (100.0, 1.0)), "plain DP,\nunprotected")
    panels = (
        Panel((*paper, replace(plain, label="")), "markov-paper, ε as marked", "above"),
        Panel((*ours, plain), "markov-mixing (ours)"),
    )
    linear = Scales(limits=(0, 10), span=(1, 100), ticks=(1, 20, 40, 60, 80, 100))
    logarithmic = Scales(log="xy", limits=(0.9, 100), ticks=(1, 3, 10, 30, 100))
    return Chart(
        "markov-error",
        "The paper's error explodes at γ = exp(ε/4), beyond which nothing is proven; ours stays finite for every γ "
        "and ε.",
        "ratio γ of transition probabilities",
        "error h relative to plain DP",
        _twice(panels, linear, logarithmic),
        note="Above: the paper's axes. markov-paper depends on γ only. markov-mixing depends on the chain: shown is "
        "the two-state chain that switches with probability 1/(1 + γ), of any length. At its kinks, another adversary "
        "becomes the worst.",
        columns=2,
    )


def response_beta() -> Chart:
    """Return β over α for 500 records: Chakrabarti's randomized response and Laplace under each theorem."""
    alphas = np.linspace(1, 7, 121).tolist()
    epsilons = (13.0, 14.0, 15.0)
    panels = []
    for stay in (0.8, 0.6):
        chain = symmetric(1 - stay, 500)
        allowed = _allowed(chain, epsilons, rings=epsilons)
        for index, epsilon in enumerate(epsilons):
            law = Chakrabarti2022.noise(chain, epsilon)
            proven = ProvenResponse.noise(chain, float(allowed["markov-mixing"][epsilon] or 0))
            lines = [
                line(name, tuple((a, response.beta(a)) for a in alphas), _NAMED[name])
                for name, response in (("chakrabarti-2022", law), ("randomized-response", proven))
            ]
            for name, taus_by_epsilon in allowed.items():
                noise = Laplace(laplace_scale(_COUNT, float(taus_by_epsilon[epsilon] or 0)))
                shown = alphas[::10] if name == "markov-count" else alphas
                lines.append(_laplace_line(name, tuple((a, noise.beta(a)) for a in shown), epsilons))
            labels: Literal["right", ""] = "right" if index == 2 else ""
            panels.append(Panel(tuple(lines), f"P(stay) = {stay:g}, ε = {epsilon:g}", labels))
    alphas_shown = (1, 2, 3, 4, 5, 6, 7)
    linear, logarithmic = Scales(ticks=alphas_shown), Scales("y", (1e-48, 1), ticks=alphas_shown)
    law, laplace = Chakrabarti2022.noise(symmetric(0.2, 500), 13), Laplace(1 / (13 - 4 * math.log(4)))
    return Chart(
        "response-beta",
        "At every whole α, Laplace noise reaches an error of α far less often than randomized response; of the proven "
        "mechanisms, ours reaches it least often.",
        "error α (records, of n = 500)",
        "probability β of an error ≥ α",
        (*_twice(panels[:3], linear, logarithmic), *_twice(panels[3:], linear, logarithmic)),
        note=f"{_oracle_note()} {_PROVEN} A linear β as in the paper, and a logarithmic one below. As in the authors' "
        "script, half of the bits are 1. markov-count and markov-mixing coincide here. The paper finds Laplace better "
        "for all α; randomized response, whose errors are nearly whole numbers, is better just above them: at P(stay) "
        f"= 0.8, ε = 13, α = 1.05 it has β = {law.beta(1.05):.1e}, markov-paper {laplace.beta(1.05):.1e}.",
        columns=3,
    )


def response_alpha() -> Chart:
    """Return α over ε for 700 records: Chakrabarti's randomized response and Laplace under each theorem."""
    chart = response_chart("response-alpha", (0.2, 0.3, 0.4), "", _RINGS)
    first = [{drawn.name: drawn.points[0][1] for drawn in panel.lines} for panel in chart.panels]
    mixing = max(at_one["markov-mixing"] for at_one in first)
    response = min(at_one[name] for at_one in first for name in ("chakrabarti-2022", "randomized-response"))
    says = (
        f"At ε = 1 the error α is {math.ceil(mixing)} records or less with markov-mixing, {math.floor(response)} or "
        "more with randomized response; markov-paper proves nothing."
    )
    return replace(chart, says=says)


def response_chart(name: str, switches: Sequence[float], says: str, rings: Sequence[float] = ()) -> Chart:
    """Return α over ε for 700 records of chains that switch with each of these probabilities, in a panel each.

    rings: the ε at which markov-count is evaluated, too.
    """
    epsilons = tuple(map(float, range(1, 11)))
    panels = []
    for switch in switches:
        chain = symmetric(switch, 700)
        least = math.ceil(4 * math.log(chain.gamma))
        responses = {
            method.name: tuple(
                (result.epsilon, result.alpha)
                for result in method.results(chain, _COUNT, epsilons, _BETA)
                if result.alpha
            )
            for method in (Chakrabarti2022(), ProvenResponse())
            if method.objection(chain, _COUNT) is None
        }
        lines = [line(method, points, _NAMED[method]) for method, points in responses.items()]
        for theorem, taus_by_epsilon in _allowed(chain, epsilons, rings).items():
            points = tuple(
                (epsilon, Laplace(laplace_scale(_COUNT, tau)).alpha(_BETA))
                for epsilon, tau in taus_by_epsilon.items()
                if tau is not None and (theorem != "markov-paper" or epsilon >= least)
            )
            lines.append(_laplace_line(theorem, points, rings))
        panels.append(Panel(tuple(lines), f"P(stay) = {1 - switch:g}", "right" if switch == switches[-1] else ""))
    return Chart(
        name,
        says,
        "promised leakage ε",
        "error α at β = 5 % (records, of n = 700)",
        tuple(panels),
        note=f"{_oracle_note()} {_PROVEN} At small ε, its error is even smaller. markov-paper is drawn from "
        "⌈4 ln γ⌉ as in the paper. As in the authors' script, half of the bits are 1."
        + (" markov-count and markov-mixing coincide here." if rings else ""),
        columns=len(panels),
        log="y",
        ticks=_RINGS,
    )


def impossibility() -> Chart:
    """Return the least β any ε-BDP mechanism has when all records may be correlated in any way."""
    epsilons = np.linspace(0.05, 6, 120).tolist()
    lines = [Line("least β", tuple((e, least_failure(e)) for e in epsilons), PALETTE[0], label="least β")]
    for share, colour in zip((0.9, 0.95, 0.99), PALETTE[1:], strict=False):
        reach = math.log(share / (1 - share))
        label = f"{100 * share:g} % certain:\nonly from ε = {reach:.3f}"
        lines.append(Line(f"{share:g} sure", ((reach, 1 - share), (6, 1 - share)), colour, ":", label))
    return Chart(
        "impossibility",
        "If all records may be correlated in any way, useful answers that are 95 % certain need ε of "
        f"{math.log(19):.3f} or more.",
        "promised leakage ε",
        "least probability β of a useless answer",
        (Panel(tuple(lines)),),
        note="Useless: off by half the range of the query or more. β ≥ 1/(e^ε + 1) for every ε-BDP mechanism.",
        log="y",
    )


def tightness_example() -> Chart:
    """Return leakage relative to 2τ, and Pearson's correlation, over the r of the paper's example."""
    sizes = [*range(2, 11), 12, 15, 20, 30, 50, 70, 100, 200, 500, 1000, 2000, 5000, 10000]
    lines = []
    for tau, colour in zip((0.5, 1.0, 2.0), PALETTE, strict=False):
        points = tuple((r, tightness(r, tau)[0] / (2 * tau)) for r in sizes)
        lines.append(Line(f"BDPL/2τ at τ = {tau:g}", points, colour, label=f"BDPL/2τ, τ = {tau:g}"))
    correlations = tuple((r, tightness(r, 1.0)[1]) for r in sizes)
    lines.append(Line("Pearson ρ", correlations, colour_of("general"), label="Pearson's ρ"))
    return Chart(
        "tightness",
        "As r grows, two records become nearly uncorrelated, yet the leakage approaches the general bound 2τ: a small "
        "Pearson ρ gives no protection.",
        "r of the paper's example",
        "share of 2τ, and correlation",
        (Panel(tuple(lines)),),
        note="Leakage enumerated over all adversaries and outputs, for randomized response on each record.",
        log="x",
        limits=(0, 1.05),
        ticks=(2, 10, 100, 1000, 10000),
    )


def tightness(r: int, tau: float) -> tuple[float, float]:
    """Return the leakage of randomized response with τ in the paper's example, and Pearson's ρ.

    >>> leak, rho = tightness(10_000, 1.0)
    >>> round(leak, 2), round(rho, 2)
    (2.0, 0.01)
    """
    joint = np.array([[r, 1.0], [r * r - r, r**3 - r * r - 1.0]]) / r**3
    kernel = oracle.randomized_response(1 / (math.exp(tau) + 1), 2)
    first, second = joint[1].sum(), joint[:, 1].sum()
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    return oracle.bdpl(joint, kernel).epsilon, float((joint[1, 1] - first * second) / spread)


def oracle_leak(switch: float, epsilon: float, records: int) -> float:
    """Return the exact leakage of Chakrabarti's randomized response with a claimed ε, over all adversaries."""
    joint = oracle.chain_joint(symmetric(switch, records), records)
    return oracle.bdpl(joint, oracle.randomized_response(chakrabarti_flip(switch, epsilon), records)).epsilon


def _twice(panels: Sequence[Panel], above: Scales, below: Scales) -> tuple[Panel, ...]:
    """Return a row of panels twice, with two kinds of scales; the lines are named below."""
    top = math.inf if above.limits is None else above.limits[1]
    cut = [
        replace(panel, lines=tuple(replace(line, points=_cut(line.points, top)) for line in panel.lines))
        for panel in panels
    ]
    return (
        *(replace(panel, scales=above, labels="") for panel in cut),
        *(replace(panel, scales=below) for panel in panels),
    )


def _oracle_note() -> str:
    return (
        "Chakrabarti's mechanism as published is no guarantee: at P(stay) = 0.8, ε = 13 and 5 records it leaks "
        f"{oracle_leak(0.2, 13, 5):.2f}, at ε = 5 and 7 records {oracle_leak(0.2, 5, 7):.2f}."
    )


def _cut(points: Iterable[tuple[float, float]], top: float) -> tuple[tuple[float, float], ...]:
    """Return the points up to where they first rise above `top`, and the crossing."""
    kept: list[tuple[float, float]] = []
    for x, y in points:
        if y > top:
            before, height = kept[-1]
            share = (top - height) / (y - height) if math.isfinite(y) else 1.0
            return (*kept, (before + share * (x - before), top))
        kept.append((x, y))
    return tuple(kept)


def symmetric(switch: float, length: int | None) -> MarkovChain:
    """Return the chain of two states that switches with this probability."""
    stay = 1 - switch
    return MarkovChain(((stay, switch), (switch, stay)), length=length)


def _allowed(
    chain: MarkovChain, epsilons: Sequence[float], rings: Sequence[float]
) -> dict[str, dict[float, float | None]]:
    """Return the τ each theorem and plain DP allow at each ε; markov-count, the slowest, only at `rings`."""
    by_theorem: dict[str, dict[float, float | None]] = {PLAIN: {epsilon: epsilon for epsilon in epsilons}}
    for name in ("markov-paper", *(_OURS if rings else _OURS[:1])):
        promised = rings if name == "markov-count" else epsilons
        allowed = taus(theorem_named(name), chain, _COUNT, promised)
        by_theorem[name] = dict(zip(promised, allowed, strict=True))
    return by_theorem


def _laplace_line(name: str, points: tuple[tuple[float, float], ...], rings: Sequence[float]) -> Line:
    label = _NAMED.get(name, "") if rings else _NAMED.get(name, "").partition("\n= ")[0]
    return line(name, points, label, "ring" if name == "markov-count" else None)


CURVES: Mapping[str, tuple[Callable[[], Chart], str]] = {
    "gaussian-bound": (gaussian_bound, "Gaussian bound against general: ε over ρ, m = 3, 5, 7"),
    "gaussian-error": (gaussian_error, "error relative to plain DP over ρ, m = 3, 6, 12, 24"),
    "markov-region": (markov_region, "where the Markov bound beats the general one: γ over n"),
    "markov-error": (markov_error, "error relative to plain DP over γ, ε = 0.5 to 20"),
    "response-beta": (response_beta, "randomized response against Laplace: β over α, n = 500"),
    "response-alpha": (response_alpha, "randomized response against Laplace: α over ε, n = 700"),
    "impossibility": (impossibility, "the least β when all records may be correlated"),
    "tightness": (tightness_example, "the general bound is tight at vanishing correlation"),
}
"""The figures of the theory by name, each with its function and a description."""
