"""The figures for δ that stand in sentences are what the library computes."""

from __future__ import annotations

import itertools
import math
import re

from scipy.stats import norm

import bayesdp as bdp
from bayesdp.audit.chain_attack_models import UnknownStretch, adding, chain_attack_model
from bayesdp.losses import PrivacyProfile
from bayesdp.theorems.markov.sides import Ending
from tools.docs.navigation import ROOT

SCALE, EPSILON, RECORDS = 8.0, 1.0, 7
COUNT = bdp.Count(equals=1)


def _plain(tau: float) -> float:
    """Return δ(τ) of Gaussian noise on a count of independent records (Balle and Wang 2018)."""
    first, second = norm.sf(SCALE * tau - 0.5 / SCALE), norm.sf(SCALE * tau + 0.5 / SCALE)
    return max(0.0, float(first - math.exp(tau) * second))


def _attained() -> float:
    """Return the largest δ at ε = 1 that any attacker of the symmetric chain of odds 9 attains."""
    chain = bdp.MarkovChain([[0.75, 0.25], [0.25, 0.75]], length=RECORDS)
    ends = [Ending(unknown, boundary) for unknown in range(RECORDS) for boundary in (None, 0, 1)]
    return max(
        chain_attack_model(chain, adding(COUNT, chain), UnknownStretch(before, after))[0].excess(EPSILON, SCALE).delta
        for before, after in itertools.product(ends, ends)
        if before.records + after.records < RECORDS
    )


def test_plain_true_and_proven_delta_are_those_of_the_first_page() -> None:
    paragraph = next(
        text for text in (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n") if "Gaussian noise of σ" in text
    )
    shown = re.findall(r"\d\.\de-\d+", paragraph)
    assert len(shown) == 3
    plain, true, proven = shown
    assert float(plain) == float(f"{_plain(EPSILON):.1e}")
    assert float(true) == float(f"{_attained():.1e}")
    noise = PrivacyProfile(_plain, neighbours="replace")
    model = bdp.OddsChain(9.0, length=RECORDS)
    assert bdp.leakage(model, bdp.AnyMechanism(), profile=noise, delta=float(proven)).epsilon <= EPSILON
    smaller = float(proven) - 0.05e-4
    assert bdp.leakage(model, bdp.AnyMechanism(), profile=noise, delta=smaller).epsilon > EPSILON
    assert float(plain) < _attained() < float(proven)


def _leaked(model: bdp.Model) -> tuple[str, str]:
    """Return what (1, 1e-5), for adding or removing a record, leaks, as pages show it."""
    leaked = bdp.leakage(model, bdp.AnyMechanism(), tau=1.0, delta=1e-5, neighbours="add-remove")
    return f"{leaked.epsilon:.2f}", f"{leaked.delta:.2g}"


def test_the_page_for_model_trainers_has_the_library_s_figures() -> None:
    page = (ROOT / "docs" / "model-trainers.md").read_text(encoding="utf-8")
    epsilon, delta = _leaked(bdp.OddsChain(17.0))
    assert f"({epsilon}, {delta}) is what is promised" in page
    plain_epsilon, plain_delta = _leaked(bdp.Independent())
    assert f"({float(plain_epsilon):g}, {float(plain_delta) * 1e5:.1f}·10⁻⁵), which is claimed here" in page


def test_the_sentence_for_officers_has_figures_of_the_library() -> None:
    page = (ROOT / "docs" / "data-protection-officer.md").read_text(encoding="utf-8")
    assert f"at most {math.e:.2f} times its probability" in page
    right = 100 * (math.e + 1e-6) / (1 + math.e)
    assert f"is right in at most {math.ceil(100 * right) / 100} % of cases" in page
