"""What else might hold: a model's assumption, relaxed a little."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bayesdp.models.base import Model

__all__ = ["HALF_AGAIN", "Alternative"]

HALF_AGAIN = 1.5
"""By how much a strength of correlation is raised to see what that would leak."""


class Alternative(NamedTuple):
    """A weaker assumption: the model, and how it differs, as the clause after "if"."""

    condition: str
    model: Model
