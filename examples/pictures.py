"""Draw the pictures of the README, docs/one-number.md and docs/why.md: `python examples/pictures.py docs/pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

from attacker import bars_picture, belief_picture
from bayesdp import plot_tradeoff
from bayesdp.experiments.data import activity_chain
from odds_price import odds_picture
from step_counter import ACTIVE

__all__ = ["activity_picture", "main"]

TITLE = "How far off is the number of active intervals? (Activity, 15,264 records, one person)"


def activity_picture(path: str | Path) -> Path:
    """Draw the error of the Activity count over the promise, for every theorem."""
    return plot_tradeoff(activity_chain(), ACTIVE, path, title=TITLE)


def main(folder: str = "docs/pictures") -> None:
    """Draw all four pictures as SVG into a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    activity_picture(target / "activity.svg")
    odds_picture(target / "odds.svg")
    bars_picture(target / "bars.svg")
    belief_picture(target / "attacker.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
