"""The one place where data, model, budget and noise meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.session.preview import Preview
    from bayesdp.session.randomize import Randomized
    from bayesdp.session.session import Session

__all__ = ["Preview", "Randomized", "Session"]

_HOMES = {"Preview": "preview", "Randomized": "randomize", "Session": "session"}

__getattr__ = lazily(__name__, _HOMES, globals())
