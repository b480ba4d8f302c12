"""`make demo`: from a table to a released number with its guarantee, on the built-in data.

    python examples/demo.py demo-output

It needs `pip install "bayesdp[demo]"`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bayesdp import MarkovChain, Session, calibrate, leakage
from bayesdp.experiments.data import load
from bayesdp.rounding import shown_above, shown_remaining
from odds_price import odds_picture
from pictures import activity_picture
from step_counter import ACTIVE, assumptions_text

__all__ = ["main"]


def main(folder: str = "demo-output") -> None:
    """Show a table, a model, what plain DP would leak, a release and its ledger; draw pictures into `folder`."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    data = load("activity")
    _title("1. A table: was a person active, every five minutes?")
    print(f"{' '.join(filter(None, [data.description, data.original_is]))}\n")
    chain = MarkovChain.fit(
        data.frame,
        state="steps > 0",
        order_by=["date", "interval"],
        missing="drop",
        record="5-minute interval",
    )
    _title("2. A model of how its records are correlated, and what the table says about it")
    assert chain.diagnosis is not None
    print(f"{chain.summary()}\n\n{chain.diagnosis.table()}\n")
    _title("3. What plain differential privacy would leak")
    proven = leakage(chain, ACTIVE, tau=1.0)
    print("A count released with ordinary ε = 1 promises a leakage of 1, if no two records are correlated.")
    print(f"They are: what is proven for the same release is {shown_above(proven.epsilon)}.\n\n{proven.table()}\n")
    _title("4. The noise that keeps a promise of ε = 1")
    print(f"{calibrate(chain, ACTIVE, epsilon=1.0).table()}\n")
    print("This noise is enough if the fitted chain is right. Weaker and stronger assumptions cost:\n")
    print(f"{assumptions_text(1.0)}\n")
    _released(data.frame, chain, target / "budget.db")
    picture = activity_picture(target / "activity.png")
    odds = odds_picture(target / "odds.png")
    print(f"The error that every theorem allows, over ε, is drawn in {picture};")
    print(f"what a release leaks if all you know is the odds ratio of neighbours, in {odds}.")


def _released(frame: object, chain: MarkovChain, ledger: Path) -> None:
    """Release the count within a budget of 2, once: running the demo again returns the stored answer."""
    _title("5. A release, charged to a ledger before the noise is drawn")
    with Session(frame, chain, epsilon=2.0, ledger=ledger, dataset="activity") as session:
        answer = session.release(ACTIVE, epsilon=1.0)
        low, high = answer.interval(0.95)
        print(f"{answer}\n")
        left = shown_remaining(session.remaining, session.budget)
        print(
            "The noise is drawn in whole numbers, so the error stated is a little larger than the formula's in step 4."
        )
        print(f"95 % interval: {low:g} to {high:g}. Of the budget of {session.budget:g}, {left} is left.")
        print(f"The ledger is {ledger}; asking the same question again returns the same answer and costs nothing.\n")


def _title(text: str) -> None:
    print(f"{text}\n{'=' * len(text)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
