"""`make demo`: what plain differential privacy promises on correlated data, what is proven, and the noise it takes."""

from __future__ import annotations

import sys
from pathlib import Path

from bayesdp import Count, Model, Query, Sum, calibrate, compare, leakage, plot_tradeoff
from bayesdp.experiments.data import activity_chain, galton_families
from bayesdp.rounding import shown_above

__all__ = ["activity_picture", "main", "readme_table"]

README_EPSILONS = (1.0, 5.0, 10.0, 20.0)
TITLE = "How far off is the number of active intervals? (Activity, 15,264 records, one person)"


def main(folder: str = "demo-output") -> None:
    """Print the story for two data sets and write one picture of the first into `folder`."""
    chain = activity_chain()
    active = Count("steps > 0", equals=True)
    _story("How many 5-minute intervals was a person active? (Activity, a Markov chain)", chain, active, epsilon=1)
    _story(
        "What is the total height of Galton's families? (normal groups of three)",
        galton_families(),
        Sum("height", bounds=(0, 100)),
        epsilon=1,
    )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    picture = activity_picture(target / "activity.png")
    print(f"The picture of the first question is in {picture}.")


def activity_picture(path: str | Path) -> Path:
    """Draw the error of the Activity count over the promise, for every theorem."""
    return plot_tradeoff(activity_chain(), Count("steps > 0", equals=True), path, title=TITLE)


def readme_table() -> str:
    """Return the README's table: the error of the Activity count for each promise, under each theorem."""
    found = compare(activity_chain(), Count("steps > 0", equals=True), epsilons=README_EPSILONS)
    lines = [
        "| error α of the count, 95 % sure | " + " | ".join(f"ε = {epsilon:g}" for epsilon in README_EPSILONS) + " |"
    ]
    lines.append("|---" * (len(README_EPSILONS) + 1) + "|")
    plain = [each.alpha for each in found.published if each.method == "plain-dp"]
    lines.append("| plain DP, unprotected | " + " | ".join(f"{alpha:.2f}" for alpha in plain) + " |")
    for name in ("markov-mixing", "markov-quilt", "markov-paper", "general"):
        alphas = [row.alpha for row in found.rows if row.theorem == name]
        cells = ["impossible" if alpha is None else f"{alpha:,.2f}" for alpha in alphas]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _story(title: str, model: Model, query: Query, epsilon: float) -> None:
    proven = leakage(model, query, tau=1.0)
    print(f"{title}\n{'=' * len(title)}")
    print("Plain differential privacy at ε = 1 promises a leakage of 1, if no two records are correlated.")
    print(f"They are: what is proven for the same release is {shown_above(proven.epsilon)}.\n")
    print(f"{proven}\n\n{proven.table()}\n")
    chosen = calibrate(model, query, epsilon=epsilon)
    print(f"Noise that keeps a promise of ε = {epsilon:g} although records are correlated:\n")
    print(f"{chosen}\n\n{chosen.table()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
