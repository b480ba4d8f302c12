"""What chains and series have in common whose odds ratios a private fit may estimate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, Protocol, Self, TypeVar, cast

__all__ = ["LearntOdds"]


class _Learnt(Protocol):
    """The result of a private fit: the odds that were estimated, and the ceiling that stood before."""

    @property
    def odds(self) -> Any: ...

    @property
    def ceiling(self) -> Any: ...

    @property
    def origin(self) -> str: ...


L = TypeVar("L", bound=_Learnt)


class LearntOdds(Generic[L]):
    """A model with the fields `odds` and `learnt`, the private fit (`Session.fit`) that estimated the odds, if any."""

    learnt: L | None

    @property
    def origin(self) -> str | None:
        """How the odds were estimated; None if they were not."""
        return None if self.learnt is None else self.learnt.origin

    @property
    def opened_as(self) -> Self:
        """The model before the private fit: with the ceiling."""
        return self if self.learnt is None else self._with(odds=self.learnt.ceiling, learnt=None)

    def with_learnt(self, learnt: L) -> Self:
        """Return the model with the odds that the private fit estimated."""
        return self._with(odds=learnt.odds, learnt=learnt)

    def _with(self, **fields: Any) -> Self:
        return cast("Self", replace(cast("Any", self), **fields))
