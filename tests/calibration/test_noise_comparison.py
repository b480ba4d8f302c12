"""Laplace and Gaussian noise side by side, theorem by theorem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp.calibration.noise_comparison import NoiseComparison, NoiseRow
from bayesdp.errors import InvalidInputError

CHAIN = bdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=30)
COUNT = bdp.Count(equals=1)


def compared(**options: object) -> NoiseComparison:
    found = bdp.compare(CHAIN, COUNT, epsilons=[0.5, 1.0], **options)  # type: ignore[arg-type]
    assert isinstance(found, NoiseComparison)
    return found


def test_every_row_is_what_calibrate_chooses() -> None:
    for count in (1, 50):
        rows = [row for row in compared(delta=1e-6, count=count).rows if isinstance(row, NoiseRow)]
        for epsilon in (0.5, 1.0):
            for noise in ("laplace", "gaussian"):
                usable = [row for row in rows if (row.epsilon, row.noise) == (epsilon, noise) and row.reason is None]
                best = min(usable, key=lambda row: row.alpha or 0.0)
                chosen = bdp.calibrate(CHAIN, COUNT, epsilon=epsilon, delta=1e-6, count=count, noise=noise)
                assert best.alpha == chosen.accuracy()
                assert (best.tau, best.rho) == (chosen.tau, chosen.rho)


def test_it_prints_both_noises_and_the_reasons() -> None:
    text = str(compared(delta=1e-6, count=50))
    assert "gaussian" in text
    assert "laplace" in text
    assert "gaussian-tight: it is about normal groups" in text
    assert "δ = 1e-06; τ, ρ and α are those of each of 50 questions" in text
    assert "gaussian" not in str(compared(delta=1e-6, noise="laplace", theorem="markov-mixing"))


def test_the_json_names_theorem_and_noise_apart() -> None:
    document = compared(delta=1e-6, theorem="markov-mixing").to_dict()
    assert [(row["theorem"], row["noise"], row["epsilon"]) for row in document["rows"]] == [
        ("markov-mixing", noise, epsilon) for epsilon in (0.5, 1.0) for noise in ("laplace", "gaussian")
    ]
    assert all(row["delta"] == 1e-6 for row in document["rows"])


def test_models_that_may_hold_all_count() -> None:
    either = bdp.AnyOf(CHAIN, bdp.ArbitraryGroups(2))
    rows = bdp.compare(either, COUNT, epsilons=[1.0], delta=1e-6, noise="gaussian").rows
    best = next(row for row in rows if row.theorem.startswith("any-of"))
    assert best.alpha == bdp.calibrate(either, COUNT, epsilon=1, delta=1e-6, noise="gaussian").accuracy()


def test_it_plots_both(tmp_path: Path) -> None:
    picture = compared(delta=1e-6, count=20).plot(tmp_path / "noise.svg").read_text(encoding="utf-8")
    assert "Gaussian" in picture


def test_losses_made_elsewhere_are_stated_for_their_neighbours() -> None:
    anything = bdp.AnyMechanism()
    asked: Any = {"epsilons": [1.0], "delta": 1e-6, "theorem": "odds-chain"}
    replaced, added = (bdp.compare(CHAIN, anything, **asked, neighbours=kind) for kind in ("replace", "add-remove"))
    taus, rhos = ([(row.tau, row.rho) for row in rows] for rows in (replaced.rows, added.rows))  # type: ignore[attr-defined]
    assert [(tau and tau / 2, rho and rho / 4) for tau, rho in taus] == rhos
    assert "for adding or removing a record" in str(added)
    with pytest.raises(InvalidInputError, match="neighbours= goes with AnyMechanism"):
        bdp.compare(CHAIN, COUNT, **asked, neighbours="add-remove")


def test_plain_comparisons_take_one_theorem_too() -> None:
    rows = bdp.compare(CHAIN, COUNT, epsilons=[1.0], theorem="markov-quilt").rows
    assert [row.theorem for row in rows] == ["markov-quilt"]


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="Gaussian noise keeps no promise without a delta"):
        compared(noise="gaussian")
    with pytest.raises(InvalidInputError, match="delta must lie strictly"):
        compared(delta=2.0)
