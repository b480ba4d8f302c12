import csv
import hashlib
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from bayesdp.errors import InvalidInputError
from bayesdp.experiments import Report, catalogue, reproduce
from bayesdp.experiments.curves import CURVES
from bayesdp.experiments.data import FAMILY_IQ_AUTOCORRELATION, FOLDER_VARIABLE
from bayesdp.experiments.errata import _autocorrelation, _triples
from bayesdp.experiments.paper import FIGURES
from bayesdp.experiments.studies import STUDIES, study
from bayesdp.experiments.tables import least_epsilon
from bayesdp.experiments.twins import ACTIVITY_TRIPLES, order_statistic

FILES = Path(__file__).parents[3] / "shared/data"

pytestmark = pytest.mark.xdist_group("reproduction")  # one process makes the full report, once


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Everything, on twins, with 50 runs."""
    out = tmp_path_factory.mktemp("full")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDER_VARIABLE, raising=False)
        return reproduce(out=out, runs=50, progress=False)


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_a_full_run_writes_every_file(full: Report) -> None:
    expected = [*CURVES, *(f"{name}-{kind}" for name in STUDIES for kind in ("error", "mape"))]
    assert [chart.name for chart in full.charts] == expected
    for name in expected:
        assert (full.out / f"figures/{name}.svg").read_bytes().startswith(b"<?xml")
        assert (full.out / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
        for row in rows(full.out / f"numbers/{name}.csv"):
            assert all(math.isfinite(float(value)) for value in list(row.values())[3:])
    for name in STUDIES:
        assert len({row["epsilon"] for row in rows(full.out / f"numbers/{name}.csv")}) == 23
    tables = {"paper-vs-ours", "data-sets", "diagnosis", "least-epsilon", "multiples", "errata"}
    assert {each.name for each in full.tables} == tables
    assert full.failures == {}
    for table in full.tables:
        assert len(rows(full.out / f"numbers/table-{table.name}.csv")) == len(table.rows)
        assert all(len(row) == len(table.header) for row in table.rows)
    assert set(full.files) == {path for path in full.out.rglob("*") if path.is_file()}
    assert "24 figures and 6 tables" in str(full)


class _Page(HTMLParser):
    """What a page consists of, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []
        self.places: list[str] = []
        self.tags: list[str] = []
        self.labels = 0
        self.alts: list[str] = []
        self.captions: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.sources += [given[name] for name in ("src", "srcset", "data", "action") if name in given]
        self.links += [given["href"]] if "href" in given else []
        self.places += [given["id"]] if "id" in given else []
        self.alts += [given["alt"]] if given.get("alt") else []
        self.labels += tag == "td" and bool(given.get("data-label"))
        self.captions += [""] if tag == "figcaption" else []

    def handle_data(self, data: str) -> None:
        if self.captions and self.tags[-1] == "figcaption":
            self.captions[-1] += data


@pytest.fixture(scope="module")
def page(full: Report) -> _Page:
    return _Page(full.html.read_text(encoding="utf-8"))


def test_the_page_needs_nothing_else(full: Report, page: _Page) -> None:
    assert len(page.sources) == len(page.alts) == 24
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.sources)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert not re.search(r"url\(|@import", full.html.read_text(encoding="utf-8"))


def test_contents_name_every_figure_and_table_and_pictures_come_first(full: Report, page: _Page) -> None:
    assert page.links == [f"#{place}" for place in page.places]
    assert page.places[:24] == [name for name in FIGURES if name in page.places]
    assert page.places[24:] == [f"table-{table.name}" for table in full.tables]
    assert max(i for i, tag in enumerate(page.tags) if tag == "img") < page.tags.index("table")
    assert page.tags.index("nav") < page.tags.index("img")


def test_figures_have_the_papers_names(full: Report) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert {chart.name for chart in full.charts} == set(FIGURES)
    for name in ("Figure 1: ", "Figure 7b: Gaussian data results, FamilyIQ", "Figure 10e: MAPE, Markov, Activity"):
        assert text.count(f">{name}") == 2


def test_captions_do_not_repeat_what_stands_in_the_picture(full: Report, page: _Page) -> None:
    assert len(page.captions) == 24
    for chart in full.charts:
        for caption in page.captions:
            assert chart.says not in caption
            assert chart.source not in caption


def test_tables_fit_the_page(full: Report, page: _Page) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert 'name="viewport" content="width=device-width' in text
    assert "@media (max-width" in text
    assert page.tags.count("table") == 6
    assert page.labels == page.tags.count("td")
    for table in full.tables:
        assert len(table.header) - table.grouped <= 7
    assert "scroll" not in text


def test_what_a_twin_is_is_said_once(full: Report) -> None:
    for path in (full.html, full.markdown):
        text = re.sub(r'src="[^"]*"', "", path.read_text(encoding="utf-8"))
        assert text.count("built-in twin") == 1
        assert "electricity-90, marked “(twin)” below" in text


def test_the_report_says_what_the_original_data_are_like(full: Report) -> None:
    text = full.html.read_text(encoding="utf-8")
    assert "The original is not a first-order chain" in text
    assert "G² = 496 on 2 degrees of freedom" in text
    assert "Neighbouring rows of the original resemble each other (autocorrelation up to 0.29)" in text


def test_every_data_set_has_a_diagnosis(full: Report) -> None:
    rows = full.table("diagnosis").rows
    assert [row[0].removesuffix(" (twin)") for row in rows] == [each.title for each in STUDIES.values()]
    for name, row in zip(STUDIES, rows, strict=True):
        assert row[1] == full.verdicts[name] == study(name).diagnosis.verdict
        assert row[2]
        (chart,) = [chart for chart in full.charts if chart.name == f"{name}-error"]
        assert f"Diagnosis of these data: {row[1]}" in chart.note


def test_the_markdown_shows_the_pictures_that_were_written(full: Report) -> None:
    text = full.markdown.read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert len(shown) == 24
    assert all((full.out / path).is_file() for path in shown)


def test_every_figure_and_table_marks_twins(full: Report) -> None:
    for chart in full.charts:
        name = chart.name.rpartition("-")[0]
        if name in STUDIES:
            assert ("synthetic data" if name == "syntheticiq" else "(twin)") in chart.source
        else:
            assert chart.source == "theory only, no data"
    for table in full.tables:
        if table.name != "errata":
            assert all(re.search(r"\(twin\)|^Synthetic|no data", row[0]) for row in table.rows)


@pytest.mark.skipif(not FILES.is_dir(), reason=f"the original files are not in {FILES}")
def test_original_files_are_used_and_named(tmp_path: Path) -> None:
    found = reproduce(["galton", "activity-day", "electricity-70"], out=tmp_path, data=FILES, runs=20, progress=False)
    assert found.sources["galton"] == "original file galton.csv"
    assert found.sources["activity-day"] == "original file activity.csv"
    assert "twin" in found.sources["electricity-70"]
    text = found.html.read_text(encoding="utf-8")
    assert "original files galton.csv, activity.csv for galton, activity-day" in text
    assert found.verdicts["activity-day"] == "violated"
    violated = [name for name, said in found.verdicts.items() if said == "violated"]
    assert f"The diagnosis finds the model violated for {', '.join(violated)}: " in text
    assert found.results["galton"].at("gaussian-covariance", 1)[0].factor == pytest.approx(1.468, abs=5e-4)


def test_plain_dp_is_dashed_and_called_unprotected(full: Report) -> None:
    for chart in full.charts:
        dashed = [line for panel in chart.panels for line in panel.lines if line.style == "--"]
        assert all(line.name == "plain-dp" for line in dashed)
        assert bool(dashed) == (chart.name not in ("markov-region", "impossibility", "tightness"))
        if dashed:
            assert any("unprotected" in line.label for line in dashed)


@pytest.mark.parametrize("name", STUDIES)
def test_the_sentence_about_percentages_does_not_hang_on_the_seed(full: Report, name: str) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == f"{name}-mape"]
    ours, general, plain = (float(text.replace(",", "")) for text in re.findall(r"([\d.,]+) %", chart.says))
    assert plain < ours < general
    for each in chart.panels[0].lines:
        if each.style != "o":
            falling = [y for _, y in each.points]
            assert falling == sorted(falling, reverse=True)
    markers = {line.name: line.points for line in chart.panels[0].lines if line.style == "o"}
    lines = {line.name: line.points for line in chart.panels[0].lines if line.style != "o"}
    for mechanism, points in markers.items():
        shares = [y / expected for (_, y), (_, expected) in zip(points, lines[mechanism], strict=True)]
        assert sum(shares) / len(shares) == pytest.approx(1, abs=0.15)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "numbers").iterdir()}


def test_names_select_and_the_seed_decides(full: Report, tmp_path: Path) -> None:
    names = ["electricity-80", "gaussian-bound", "syntheticiq"]
    chosen = reproduce(names, out=tmp_path / "a", runs=50, progress=False)
    assert {chart.name.removesuffix("-error").removesuffix("-mape") for chart in chosen.charts} == set(names)
    everything, some = digests(full.out), digests(tmp_path / "a")
    kept = {name for name in some if not name.startswith("table-")}
    assert {name: some[name] for name in kept} == {name: everything[name] for name in kept}
    other = reproduce("syntheticiq", out=tmp_path / "b", runs=50, seed=1, progress=False)
    assert list(other.results) == ["syntheticiq"]
    assert digests(tmp_path / "b")["syntheticiq.csv"] != everything["syntheticiq.csv"]


def test_only_curves_need_no_data(tmp_path: Path) -> None:
    found = reproduce(["impossibility"], out=tmp_path, progress=True)
    assert [table.name for table in found.tables] == ["paper-vs-ours"]
    assert "theory only" in found.html.read_text(encoding="utf-8")


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"galton.*errata"):
        reproduce(["nonsense"], out=tmp_path)
    with pytest.raises(InvalidInputError, match="runs"):
        reproduce(out=tmp_path, runs=0)
    with pytest.raises(InvalidInputError, match="out"):
        reproduce(out=7)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot write"):
        reproduce(out=tmp_path / "file")
    with pytest.raises(InvalidInputError, match="folder"):
        reproduce(["galton"], out=tmp_path, data=tmp_path / "nowhere")


@pytest.mark.parametrize("link", ["folder", "symbolic", "hard"])
def test_original_files_are_never_overwritten(tmp_path: Path, link: str) -> None:
    originals = tmp_path / ("out/numbers" if link == "folder" else "data")
    originals.mkdir(parents=True)
    original = originals / "activity.csv"
    original.write_text("steps,date,interval\n")
    if link != "folder":
        (tmp_path / "out/numbers").mkdir(parents=True)
        written = tmp_path / "out/numbers/activity.csv"
        written.symlink_to(original) if link == "symbolic" else written.hardlink_to(original)
    with pytest.raises(InvalidInputError, match="is an input"):
        reproduce(["electricity-70"], out=tmp_path / "out", data=originals, runs=2, progress=False)
    assert original.read_text() == "steps,date,interval\n"
    assert not (tmp_path / "out/figures").exists()


def test_the_catalogue_has_a_line_for_everything() -> None:
    found = catalogue()
    assert list(found) == [*CURVES, *STUDIES, "errata"]
    assert all(text and "\n" not in text for text in found.values())


LEAST = {"activity": 8.060, "electricity-70": 6.952, "electricity-80": 6.021, "electricity-90": 8.542}


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_the_smallest_epsilon_of_the_reference(name: str, least: float, full: Report) -> None:
    found = study(name)
    assert least_epsilon("markov-paper", found) == pytest.approx(least, abs=5e-4)
    mixing = least_epsilon("markov-mixing", found)
    assert mixing is not None
    assert mixing < 1e-6
    (row,) = [row for row in full.table("least-epsilon").rows if row[0] == found.label]
    assert row[2:5] == (f"{least:.3f}", "any ε > 0", "any ε > 0")


def verdict(full: Report, about: str, what: str) -> list[str]:
    table = full.table("paper-vs-ours")
    return [row[-1] for row in table.rows if row[0].startswith(about) and row[1].startswith(what)]


def test_verdicts_on_the_papers_numbers(full: Report) -> None:
    assert "197 trios" in verdict(full, "Galton", "records")[0]
    assert verdict(full, "FamilyIQ", "records") == ["match"]
    assert "1.610" in verdict(full, "FamilyIQ", "factor")[0]
    assert "2,304 missing" in verdict(full, "Activity, number", "records")[0]
    assert "0.850/0.149 = 5.70" in verdict(full, "Electricity, days above 70", "γ")[0]
    assert [text[:5] for text in verdict(full, "Electricity", "γ")] == ["contr", "match", "match"]
    assert verdict(full, "SyntheticIQ", "factor") == ["match"]
    assert "below n" in verdict(full, "Activity, number", "error of general")[0]
    assert "10.75" in verdict(full, "Theory", "γ from which")[0]
    assert all(row[-1] not in ("", "differs") for row in full.table("paper-vs-ours").rows)


def test_a_smallest_epsilon_that_nothing_gives_is_explained_as_far_as_it_can_be(full: Report) -> None:
    equation, text = verdict(full, "Electricity, days above 80", "smallest")
    assert "printed γ = 4.49 gives 6.0074" in equation
    assert "between 5.9980 and 6.0249" in equation
    assert "rounded up, 6.0213 would be 6.03" in equation
    assert "the equation has 4.7 for “Electricity, days above 70 kWh”" in text
    equation, text, results = verdict(full, "Electricity, days above 90", "smallest")
    assert equation.startswith("match")
    assert "8.54 with two digits swapped" in text
    assert results == text
    equation, text, results = verdict(full, "Electricity, days above 70", "smallest")
    assert equation.startswith("wrong, as its γ is")
    assert text.startswith("match, cut off")
    assert "γ would have to be 3.40" in results


def test_every_verdict_is_a_match_or_gives_a_reason(full: Report) -> None:
    for row in full.table("paper-vs-ours").rows:
        word, _, reason = (
            re.split("(:|, but )", row[-1], maxsplit=1) if re.search(":|, but ", row[-1]) else (row[-1], "", "")
        )
        assert word.split(",")[0] in ("match", "holds", "holds for every ε tried") or len(reason) > 20, row


def test_what_the_paper_takes_for_granted_is_not_called_published(full: Report) -> None:
    for name in ("galton", "familyiq"):
        (chart,) = [chart for chart in full.charts if chart.name == f"{name}-error"]
        dotted = [line for line in chart.panels[0].lines if line.style == ":"]
        assert dotted
        assert all("if variances were equal" in line.label for line in dotted)
        assert "gaussian-tight is ours" in chart.note
        assert not any("published" in line.label for line in chart.panels[0].lines)
    labels = [row[1] for row in full.table("multiples").rows]
    assert not any("published" in label for label in labels)
    assert labels.count("gaussian-tight, if variances were equal") == 2


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


def test_the_order_statistic_is_that_of_a_table_of_counts() -> None:
    independent = [[[60, 40], [30, 70]], [[30, 20], [15, 35]]]
    assert order_statistic(independent) == pytest.approx(0, abs=1e-12)
    table = np.array(ACTIVITY_TRIPLES, dtype=float)
    by_hand = 2 * sum(
        count * math.log(count * table[:, now].sum() / (table[before, now].sum() * table[:, now, then].sum()))
        for (before, now, then), count in np.ndenumerate(table)
    )
    assert order_statistic(ACTIVITY_TRIPLES) == pytest.approx(by_hand)


def test_the_twin_of_family_iq_says_what_clipping_does(full: Report) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == "familyiq-error"]
    assert re.search(
        r"Clipping to 40–160 moves the exact sum by \+[\d.]+ IQ points: \d values lie outside\.", chart.note
    )
    assert "clipping to 40–160" in " ".join(full.table("data-sets").notes)


def test_claims_that_nobody_checked(full: Report) -> None:
    general = verdict(full, "", "MAPE of general")
    ends = [re.findall(r"holds for ε up to (\d+) only: the mean error is n/ε records", text) for text in general]
    assert ends == [["3"], ["3"], ["1"], ["3"], ["5"]]
    (gaussian,) = verdict(full, "Theory", "ρ up to which")
    assert gaussian.startswith("holds for m below 7 only")
    (similar,) = verdict(full, "Theory", "h close to 1")
    assert similar.startswith(
        "holds as a necessary condition, but is not sufficient: at ε = 6, γ = 4 the error is 13.2"
    )


def test_a_failing_data_set_does_not_abort_the_others(tmp_path: Path) -> None:
    (tmp_path / "galton.csv").write_text("nothing\n1\n")
    (tmp_path / "activity.csv").write_text("steps,date,interval\n0,2012-10-01,0\n0,2012-10-01,5\n")
    found = reproduce(
        ["galton", "activity", "electricity-80", "errata"], out=tmp_path / "out", data=tmp_path, runs=5, progress=False
    )
    assert set(found.failures) == {"galton", "activity", "activity-day"}
    assert list(found.results) == ["electricity-80"]
    assert "galton.csv has no column 'family'" in found.failures["galton"]
    text = found.html.read_text(encoding="utf-8")
    assert text.index("<h2>Failed</h2>") < text.index("<nav")
    assert "galton.csv has no column" in text
    assert "galton.csv has no column" in found.markdown.read_text(encoding="utf-8")
    assert "galton: failed: " in str(found)
    evidence = {row[0]: row[2] for row in found.table("errata").rows}
    assert evidence["2"] == "not computed: galton failed"
    assert evidence["3"].startswith("printed γ")


def test_what_goes_wrong_unforeseen_is_a_failure_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("no days")

    monkeypatch.setattr("bayesdp.experiments.reproduction.mape_chart", broken)
    found = reproduce(["electricity-80", "impossibility"], out=tmp_path, runs=5, progress=False)
    assert found.failures == {"electricity-80": "ZeroDivisionError: no days (not foreseen; please report it)"}
    assert [chart.name for chart in found.charts] == ["impossibility"]
    assert not (tmp_path / "numbers/electricity-80.csv").exists()


def test_laplace_beats_randomized_response_at_whole_errors(full: Report) -> None:
    (chart,) = [chart for chart in full.charts if chart.name == "response-beta"]
    for panel in chart.panels:
        values = {line.name: dict(line.points) for line in panel.lines}
        for alpha in range(1, 8):
            at = {name: points[alpha] for name, points in values.items()}
            assert at["plain-dp"] < at["markov-mixing"] <= at["markov-paper"]
            assert at["markov-paper"] < min(at["chakrabarti-2022"], at["randomized-response"])
            assert math.log(at["markov-count"]) == pytest.approx(math.log(at["markov-mixing"]), rel=1e-5)


def test_randomized_response_has_a_proven_line_wherever_the_published_one_is(full: Report) -> None:
    shown = [chart for chart in full.charts if any("chakrabarti" in each.name for each in chart.panels[0].lines)]
    assert [chart.name for chart in shown] == ["response-beta", "response-alpha"]
    for chart in shown:
        for panel in chart.panels:
            styles = {each.name: each.style for each in panel.lines}
            assert (styles["chakrabarti-2022"], styles["randomized-response"]) == (":", "-")
        assert "keeps the promise" in chart.note


def test_yang_is_in_the_figures_of_gaussian_data(full: Report) -> None:
    for chart in full.charts:
        name = chart.name.rpartition("-")[0]
        labels = [each.label for panel in chart.panels for each in panel.lines]
        gaussian = name in ("galton", "familyiq", "syntheticiq") or chart.name == "gaussian-bound"
        assert any("yang-2015" in label for label in labels) == gaussian
        assert not any("yang-2015 (ours)" in label for label in labels)
    for name in ("galton", "familyiq", "syntheticiq"):
        yang, general = full.results[name].at("yang-2015"), full.results[name].at("general")
        assert [row.factor for row in yang] == pytest.approx([row.factor for row in general])
        assert all(row.proven for row in yang)


def test_our_bounds_never_exceed_the_papers(full: Report) -> None:
    charts = {chart.name: chart for chart in full.charts}
    for panel in charts["gaussian-bound"].panels:
        lines = {line.name: dict(line.points) for line in panel.lines}
        shared = set(lines["gaussian-tight"]) & set(lines["gaussian-paper"])
        assert len(shared) > 100
        assert all(lines["gaussian-tight"][rho] <= lines["gaussian-paper"][rho] for rho in shared)
    for panel in charts["response-alpha"].panels:
        lines = {line.name: dict(line.points) for line in panel.lines}
        for epsilon, alpha in lines["markov-paper"].items():
            assert lines["markov-mixing"][epsilon] <= alpha
