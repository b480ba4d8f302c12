"""The one place where data, model, budget and noise meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp._support.lazy import lazily

if TYPE_CHECKING:
    from bayesdp.session.preview import Preview
    from bayesdp.session.randomize import Randomized
    from bayesdp.session.record import Recorded
    from bayesdp.session.session import Session

__all__ = ["Preview", "Randomized", "Recorded", "Session"]

_HOMES = {"Preview": "preview", "Randomized": "randomize", "Recorded": "record", "Session": "session"}

__getattr__ = lazily(__name__, _HOMES, globals())
