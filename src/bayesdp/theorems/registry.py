"""The registry of theorems: those of this package, and those that users registered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from bayesdp._support.display import Displayed, PrintedTable, Section
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.theorems.theorem import Theorem

__all__ = ["Theorems", "register", "theorem_named", "theorems", "unregister"]

_others: dict[str, Theorem] = {}


class Theorems(tuple[Theorem, ...], Displayed):
    """A tuple of theorems. It prints as a table of their names and proofs."""

    def _printed(self) -> Sequence[Section]:
        several = {True: "any number together", False: "one release"}
        rows = [[theorem.name, several[theorem.composes], theorem.proof] for theorem in self]
        return [[PrintedTable(["theorem", "covers", "proof"], rows)]]


def theorems() -> Theorems:
    """Return every theorem, those of this package first.

    >>> [theorem.name for theorem in theorems()][:2]
    ['independent', 'general']
    """
    return Theorems((*_own(), *_others.values()))


def theorem_named(name: str) -> Theorem:
    """Return the theorem of that name; InvalidInputError, with all names, if there is none."""
    for candidate in theorems():
        if candidate.name == name:
            return candidate
    raise InvalidInputError(
        f"there is no theorem {name!r}; there are {', '.join(theorem.name for theorem in theorems())}"
    )


def register(theorem: Theorem) -> None:
    """Add a theorem for `leakage`, `calibrate`, `compare` and sessions to use.

    You are responsible for its proof: the library states its result as a guarantee. Raises InvalidInputError if it is
    not a theorem or its name is taken.
    """
    if not isinstance(theorem, Theorem):
        raise InvalidInputError(f"expected an instance of a Theorem subclass, not {brief(theorem)}")
    for needed in ("name", "proof"):
        if not isinstance(getattr(theorem, needed, None), str):
            raise InvalidInputError(f"{type(theorem).__name__} needs a {needed}, a text")
    if any(other.name == theorem.name for other in theorems()):
        raise InvalidInputError(f"there is a theorem {theorem.name!r} already; give yours another name")
    _others[theorem.name] = theorem


def unregister(name: str) -> None:
    """Remove a theorem that was added with `register`; InvalidInputError for any other name."""
    if name not in _others:
        raise InvalidInputError(f"no theorem {name!r} was added with register")
    del _others[name]


@cache
def _own() -> tuple[Theorem, ...]:
    """Load and return the theorems of this package; if two prove the same ε, the earlier one is named."""
    from bayesdp.theorems.gaussian.covariance import GaussianCovariance
    from bayesdp.theorems.gaussian.paper import GaussianPaper
    from bayesdp.theorems.gaussian.tight import GaussianTight
    from bayesdp.theorems.gaussian.walk import GaussianWalk
    from bayesdp.theorems.general import GeneralBound
    from bayesdp.theorems.independent import IndependentRecords
    from bayesdp.theorems.markov.count import MarkovCount
    from bayesdp.theorems.markov.memory import MarkovMemory
    from bayesdp.theorems.markov.mixing import MarkovMixing
    from bayesdp.theorems.markov.paper import MarkovPaper
    from bayesdp.theorems.markov.quilt import MarkovQuilt
    from bayesdp.theorems.odds.chain import OddsChainTheorem
    from bayesdp.theorems.odds.elimination import OddsElimination
    from bayesdp.theorems.odds.ising import OddsIsing
    from bayesdp.theorems.odds.network import OddsNetwork
    from bayesdp.theorems.odds.series import OddsSeriesTheorem
    from bayesdp.theorems.odds.tree import OddsTree

    return (
        IndependentRecords(),
        GeneralBound(),
        GaussianCovariance(),
        GaussianTight(),
        GaussianWalk(),
        GaussianPaper(),
        MarkovMixing(),
        OddsChainTheorem(),
        OddsTree(),
        OddsNetwork(),
        OddsElimination(),
        OddsIsing(),
        OddsSeriesTheorem(),
        MarkovCount(),
        MarkovQuilt(),
        MarkovPaper(),
        MarkovMemory(),
    )
