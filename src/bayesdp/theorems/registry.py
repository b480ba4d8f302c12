"""Which theorems there are. Adding one is one line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from bayesdp._support.display import Displayed, Section, Table
from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError
from bayesdp.theorems.theorem import Theorem

__all__ = ["Theorems", "register", "theorem_named", "theorems", "unregister"]

_OWN = (
    "bayesdp.theorems.independent:IndependentRecords",
    "bayesdp.theorems.general:GeneralBound",
    "bayesdp.theorems.gaussian.covariance:GaussianCovariance",
    "bayesdp.theorems.gaussian.tight:GaussianTight",
    "bayesdp.theorems.gaussian.walk:GaussianWalk",
    "bayesdp.theorems.gaussian.paper:GaussianPaper",
    "bayesdp.theorems.markov.mixing:MarkovMixing",
    "bayesdp.theorems.odds.chain:OddsChainTheorem",
    "bayesdp.theorems.odds.tree:OddsTree",
    "bayesdp.theorems.odds.network:OddsNetwork",
    "bayesdp.theorems.markov.count:MarkovCount",
    "bayesdp.theorems.markov.quilt:MarkovQuilt",
    "bayesdp.theorems.markov.paper:MarkovPaper",
    "bayesdp.theorems.markov.memory:MarkovMemory",
)
"""Our own theorems, loaded when first asked for; where two prove the same ε, the earlier one is named."""

_others: dict[str, Theorem] = {}


class Theorems(tuple[Theorem, ...], Displayed):
    """A tuple of theorems. Prints as a table: what each is called, and where its proof is."""

    def _printed(self) -> Sequence[Section]:
        several = {True: "any number together", False: "one release"}
        rows = [[theorem.name, several[theorem.composes], theorem.proof] for theorem in self]
        return [[Table(["theorem", "covers", "proof"], rows)]]


def theorems() -> Theorems:
    """Return every theorem, our own first.

    >>> [theorem.name for theorem in theorems()][:2]
    ['independent', 'general']
    """
    return Theorems((*_own(), *_others.values()))


def theorem_named(name: str) -> Theorem:
    """Return the theorem of that name; raises InvalidInputError with the names there are."""
    for candidate in theorems():
        if candidate.name == name:
            return candidate
    raise InvalidInputError(
        f"there is no theorem {name!r}; there are {', '.join(theorem.name for theorem in theorems())}"
    )


def register(theorem: Theorem) -> None:
    """Let `leakage`, `calibrate` and `compare` use a theorem of yours from now on.

    You vouch for its proof: the library will promise what it returns. Raises InvalidInputError if it is not a theorem
    or its name is taken.
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
    """Remove a theorem that was added with `register`; our own stay."""
    if name not in _others:
        raise InvalidInputError(f"no theorem {name!r} was registered from outside")
    del _others[name]


@cache
def _own() -> tuple[Theorem, ...]:
    instances = []
    for address in _OWN:
        module, name = address.split(":")
        instances.append(getattr(import_module(module), name)())
    return tuple(instances)
