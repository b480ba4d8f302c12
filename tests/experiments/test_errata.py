"""The paper's errata: each comes with its evidence, recomputed."""

from pathlib import Path

import numpy as np
import pytest

from bayesdp.experiments import Report
from bayesdp.experiments.data import FAMILY_IQ_AUTOCORRELATION
from bayesdp.experiments.errata import _autocorrelation, _triples, errata_table
from bayesdp.experiments.studies import study
from bayesdp.experiments.twins import ACTIVITY_TRIPLES

FILES = Path(__file__).parents[3] / "shared/data"


def test_errata_come_with_their_evidence(full: Report) -> None:
    evidence = {row[0]: row[2] for row in full.table("errata").rows}
    known = {"1": "1.845", "2": "1.610", "3": "5.70", "5": "53 days", "7": "1.998", "8": "2.000", "9": "1.618"}
    for number, text in {**known, "10": "2.944", "11": "58.4", "14": "16.8", "17": "G² = 496.1"}.items():
        assert text in evidence[number]
    assert "1.477 were they equal" in evidence["2"]
    assert "width 253" in evidence["4"]
    assert "autocorrelations up to 0.29" in evidence["17"]


def test_the_original_files_do_not_meet_the_conditions() -> None:
    if not FILES.is_dir():
        pytest.skip(f"the original files are not in {FILES}")
    steps = study("activity", FILES).data.frame["steps"].to_list()
    assert _triples(steps) == [[list(row) for row in table] for table in ACTIVITY_TRIPLES]
    pairs = study("familyiq", FILES)
    assert (
        round(_autocorrelation(pairs.sample.select("kid_score", "mom_iq").to_numpy()), 2) == FAMILY_IQ_AUTOCORRELATION
    )
    assert pairs.remarks == ("Clipping to 40–160 moves the exact sum by +22 IQ points: 2 values lie outside",)
    assert "listed by the father's height" in study("galton", FILES).remarks[0]


def test_what_could_not_be_read_is_said_and_the_rest_is_computed() -> None:
    table = errata_table(lambda name: None)
    evidence = {number: said for number, _, said in table.rows}
    assert evidence["2"] == "not computed: familyiq, galton failed"
    assert "not computed" not in evidence["1"] + evidence["7"]
    assert list(evidence) == sorted(evidence, key=int)


def test_triples_leave_gaps_out() -> None:
    assert _triples([0, 3, None, 0, 0, 5, 5]) == [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]


def test_the_largest_autocorrelation_of_rows() -> None:
    rows = np.tile(np.sin(np.arange(300) * 2 * np.pi / 8)[:, None], (1, 2))
    assert _autocorrelation(rows) == pytest.approx(0.97, abs=0.02)  # eight rows on, where it repeats
    assert _autocorrelation(np.random.default_rng(1).normal(size=(2000, 2))) < 0.08
