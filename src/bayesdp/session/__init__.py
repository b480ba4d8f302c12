"""The one place where data, model, budget and noise meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.session.session import Preview, Randomized, Session

__all__ = ["Preview", "Randomized", "Session"]

_HOMES = {"Preview": "session", "Randomized": "session", "Session": "session"}

__getattr__ = lazily(__name__, _HOMES, globals())
