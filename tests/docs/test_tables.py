"""docs/what-is-covered.md is what the registries say."""

from __future__ import annotations

from typing import Literal

import bayesdp as bdp
from bayesdp import Model, Query
from bayesdp.theorems.registry import theorems
from peer_mechanisms.comparison import KNOWS_ANY, KNOWS_NONE, PEERS
from tools.docs.tables import PAGE, ROOT, covered, engines, examples, page, queries


def test_the_page_is_in_step_with_the_registries() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python tools/docs/tables.py"


def test_every_model_query_theorem_and_engine_is_on_it() -> None:
    shown = examples((ROOT / "docs" / "models.md").read_text(encoding="utf-8"))
    own = {kind for kind, model in Model._types.items() if model.__module__.startswith("bayesdp.")}
    assert {example.model.kind for example in shown} == own
    asked = queries()
    assert {query.kind for query in asked} == {
        kind for kind, query in Query.kinds().items() if query.__module__.startswith("bayesdp.")
    }
    used = {theorem.name for example in shown for theorem, _ in covered(example.model, asked)}
    assert used == {theorem.name for theorem in theorems()}
    assert {"polars", "spark", "postgresql"} <= engines(ROOT / "tests" / "frames").keys()


def test_covered_is_what_leakage_proves() -> None:
    for example in examples((ROOT / "docs" / "models.md").read_text(encoding="utf-8")):
        for query in queries():
            names = {theorem.name for theorem, kept in covered(example.model, [query]) if kept}
            try:
                neighbours: Literal["replace"] | None = "replace" if isinstance(query, bdp.AnyMechanism) else None
                leaked = bdp.leakage(example.model, query, tau=0.1, neighbours=neighbours)
            except bdp.BayesDPError:
                assert not names
            else:
                assert names == {said.theorem for said in leaked.assessments if said.applies} - {"any-of"}


def test_every_benchmark_is_on_its_page() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for program in (ROOT / "benchmarks").glob("*.py"):
        assert f"`benchmarks/{program.name}`" in page, program.name


def test_the_peers_stand_on_the_page_of_performance() -> None:
    """`python benchmarks/peers.py --write-docs` writes them between two marks."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    _, begin, rest = page.partition("<!-- benchmarks/peers.py writes from here -->")
    shown, end, _ = rest.partition("<!-- benchmarks/peers.py writes to here -->")
    assert begin
    assert end
    for name in [*(peer.name for peer in PEERS), "OpenDP", "diffprivlib", "PipelineDP"]:
        assert name in shown, name
    assert all(against in shown for against in (KNOWS_ANY, KNOWS_NONE))
