"""The truth about windows: joint releases on small tables, enumerated, leak at most what the account says.

The exact leakage of everything that was released together: every target, every set of known records with every value
of theirs, every output. False accounts fail the same comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp import ArbitraryGroups, MarkovChain, Network, OddsChain
from bayesdp.models import Model
from bayesdp.queries import AnyMechanism
from bayesdp.queries.region import Region
from bayesdp.rounding import float_above
from bayesdp.session.accounting import Accountant
from bayesdp.theorems.leakage import Composition
from bayesdp.theorems.spend import Release

Floats = NDArray[np.float64]
ROUNDED = 1e-9
RELEASES = 2100
HOURS = ("0", "1", "2")


@dataclass(frozen=True)
class Case:
    """A law of binary records, the public hour of each, and windows with the τ of their releases.

    model: an assumption that the law keeps; `law(records)` is the same assumption about so many records.
    """

    joint: Floats
    model: Model
    hours: tuple[str, ...]
    windows: tuple[tuple[Region | None, float], ...]
    counted: tuple[bool, ...]

    @property
    def records(self) -> int:
        return self.joint.ndim

    def read(self, region: Region | None) -> tuple[int, ...]:
        """Return the records in a region."""
        if region is None:
            return tuple(range(self.records))
        first, end = region.since or 0, self.records if region.until is None else region.until
        cells = dict(region.cells).get("hour", HOURS)
        return tuple(i for i in range(self.records) if first <= i < end and self.hours[i] in cells)  # type: ignore[operator]

    @property
    def spent(self) -> tuple[Release, ...]:
        return tuple(Release(AnyMechanism(), tau, region) for region, tau in self.windows)


def weights(draw: np.random.Generator, records: int, edges: list[tuple[int, int, float]]) -> Floats:
    """Return the law of binary records with an odds ratio along each edge."""
    table = np.ones((2,) * records)
    for i, j, odds in edges:
        pair = np.exp(np.abs(np.subtract.outer([0, 1], [0, 1])) * -math.log(odds) / 2)
        table = table * pair.reshape([2 if axis in (i, j) else 1 for axis in range(records)])
    for axis in range(records):
        single = draw.dirichlet([1, 1]) if draw.random() < 0.5 else np.array([0.5, 0.5])
        table = table * single.reshape([2 if place == axis else 1 for place in range(records)])
    normed: Floats = table / table.sum()
    return normed


def law(draw: np.random.Generator, records: int) -> tuple[Floats, Model]:
    """Return a random chain, group or tree with a model that it follows."""
    kind = draw.integers(4)
    if kind == 0:
        rows = draw.dirichlet([0.5, 0.5], size=2).clip(0.01)
        chain = MarkovChain((rows / rows.sum(axis=1, keepdims=True)).tolist(), length=records)
        joint = np.array(chain.stationary)
        for _ in range(records - 1):
            joint = joint[..., None] * chain.matrix
        return joint, chain
    if kind == 1:
        odds = float(draw.choice([1.5, 4.0, 30.0]))
        return weights(
            draw, records, [(i, i + 1, odds ** draw.choice([-1, 1])) for i in range(records - 1)]
        ), OddsChain(odds)
    if kind == 2:
        flat = draw.dirichlet(np.full(2**records, 0.05)) if draw.random() < 0.5 else np.zeros(2**records)
        flat[[0, -1]] += [draw.random(), 1.0]
        return (flat / flat.sum()).reshape((2,) * records), ArbitraryGroups(records)
    edges = [(int(draw.integers(j)), j, float(draw.choice([1.5, 4.0, 30.0]))) for j in range(1, records)]
    model = Network(edges=edges, records=records)
    return weights(draw, records, [(i, j, odds ** draw.choice([-1, 1])) for i, j, odds in edges]), model


def region(draw: np.random.Generator, records: int) -> Region | None:
    since, until = sorted(draw.choice(records + 1, size=2, replace=False).tolist())
    hours = (("hour", tuple(sorted(draw.choice(HOURS, size=draw.integers(1, 3), replace=False).tolist()))),)
    kind = draw.integers(6)
    if kind == 0:
        return None
    return Region(cells=hours) if kind == 1 else Region("t", since, until, hours if kind == 2 else ())


def cases(number: int) -> Iterator[Case]:
    draw = np.random.default_rng(18)  # any seed will do
    for _ in range(number):
        records = int(draw.integers(2, 7))
        joint, model = law(draw, records)
        size = int(draw.integers(1, 4))
        windows = tuple((region(draw, records), float(draw.choice([0.1, 0.5, 1.0]))) for _ in range(size))
        hours = tuple(draw.choice(HOURS, size=records).tolist())
        yield Case(joint, model, hours, windows, tuple(bool(kind) for kind in draw.integers(2, size=size)))


def likelihoods(case: Case) -> Floats:
    """Return the likelihood of every output of all releases together, given every table.

    A count has discrete Laplace noise: outputs beyond 0 and all records are as telling as these. Any other release
    answers for each record by chance; those are together as telling as all of a record's answers that agree.
    """
    tables = np.array(list(product((0, 1), repeat=case.records)))
    every = np.zeros((len(tables), 1))
    by_chance = np.zeros(case.records)
    for (window, tau), counted in zip(case.windows, case.counted, strict=True):
        inside = list(case.read(window))
        if counted:
            counts = tables[:, inside].sum(axis=1)
            noise = -tau * np.abs(np.arange(len(inside) + 1)[None, :] - counts[:, None])
            every = (every[:, :, None] + noise[:, None, :]).reshape(len(tables), -1)
        else:
            by_chance[inside] += tau
    signs = np.array(list(product(*((-0.5, 0.5) if tau else (0.0,) for tau in by_chance))))
    told = (2 * tables - 1) @ (signs * by_chance).T
    joint = np.exp((every[:, :, None] + told[:, None, :]).reshape(len(tables), -1))
    return joint.reshape(*(2,) * case.records, -1)


def truth(case: Case) -> float:
    """Return the leakage: the largest logarithm of a ratio that any adversary may see."""
    sums: dict[frozenset[int], tuple[Floats, Floats]] = {
        frozenset(): (case.joint[..., None] * likelihoods(case), case.joint)
    }
    largest = 0.0
    for record in range(case.records):
        for unknown, (weighted, prior) in list(sums.items()):
            sums[unknown | {record}] = (
                weighted.sum(axis=record, keepdims=True),
                prior.sum(axis=record, keepdims=True),
            )
    for unknown, (weighted, prior) in sums.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.log(weighted) - np.log(prior)[..., None]
            for target in set(range(case.records)) - unknown:
                difference = np.abs(np.diff(given, axis=target))
                largest = max(largest, float(difference[np.isfinite(difference)].max(initial=0.0)))
    return largest


def account(case: Case) -> float:
    return Accountant(case.model).leaked(case.spent)


def without_overlap(case: Case) -> float:
    """Return what a false account says: the largest τ of any window, converted."""
    tau = max(tau for _, tau in case.windows)
    return Composition(case.model).proven((Release(AnyMechanism(), tau),))


def windows_as_parts(case: Case) -> float:
    """Return what a false account says: a window of a chain leaks as if its records were all there are."""
    largest = 0.0
    for i in range(case.records):
        met = [(window, Fraction(tau)) for window, tau in case.windows if i in case.read(window)]
        size = len({record for window, _ in met for record in case.read(window)})
        tau = float_above(sum((tau for _, tau in met), Fraction(0)))
        if tau:
            largest = max(largest, Composition(shortened(case.model, size)).proven((Release(AnyMechanism(), tau),)))
    return largest


def largest_epsilon(case: Case) -> float:
    """Return what a false account says: the largest ε of any one record's releases taken alone."""
    return max(
        float_above(sum((Fraction(tau) for w, tau in case.windows if i in case.read(w)), Fraction(0)))
        for i in range(case.records)
    )


def shortened(model: Model, records: int) -> Model:
    if isinstance(model, ArbitraryGroups):
        return ArbitraryGroups(records)
    if isinstance(model, MarkovChain):
        return replace(model, length=records)
    return OddsChain(model.odds, length=records) if isinstance(model, OddsChain) else model


def exceeded(case: Case, said: float) -> bool:
    return truth(case) > said + ROUNDED * (1 + said)


@pytest.mark.slow
def test_everything_released_leaks_at_most_what_the_account_says() -> None:
    found = [(case, account(case)) for case in cases(RELEASES)]
    leaks = [truth(case) for case, _ in found]
    assert len(found) >= 2000
    assert all(leak <= said + ROUNDED for leak, (_, said) in zip(leaks, found, strict=True))
    tight = sum(leak >= said * (1 - 1e-6) > 0 for leak, (_, said) in zip(leaks, found, strict=True))
    assert tight >= 50


@pytest.mark.parametrize("said", [without_overlap, windows_as_parts, largest_epsilon])
def test_a_false_account_of_windows_is_found_out(said: Any) -> None:
    assert any(exceeded(case, said(case)) for case in cases(150))


def test_a_fair_bit_that_is_published_twice_leaks_both_answers() -> None:
    """The example of docs/theory/windows.md: the largest τ, converted, is right; the largest ε is not."""
    bit = np.array([[0.5, 0.0], [0.0, 0.5]])
    windows = tuple((Region("t", place, place + 1), 1.0) for place in (0, 1))
    case = Case(bit, ArbitraryGroups(2), ("0", "0"), windows, (False, False))
    assert truth(case) == pytest.approx(2.0)
    assert account(case) == 2.0
    assert account(replace(case, windows=windows[:1], counted=(False,))) == 2.0
    assert largest_epsilon(case) == windows_as_parts(case) == 1.0
