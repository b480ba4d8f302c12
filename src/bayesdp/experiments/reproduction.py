"""`bayesdp reproduce`: write every figure and table of the paper, with our bounds beside it, to one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bayesdp._support import validation
from bayesdp._support.documents import Document
from bayesdp._support.files import refuse_overwriting
from bayesdp._support.progress import tracked
from bayesdp._support.validation import brief
from bayesdp.errors import BayesDPError, InvalidInputError
from bayesdp.experiments import report
from bayesdp.experiments.added import added_charts
from bayesdp.experiments.curves import CURVES
from bayesdp.experiments.data import absent, originals
from bayesdp.experiments.errata import errata_table
from bayesdp.experiments.extra import EXTRA
from bayesdp.experiments.figures import error_chart, mape_chart
from bayesdp.experiments.paper import FIGURES
from bayesdp.experiments.simulate import Result, run
from bayesdp.experiments.studies import STUDIES, Study, study
from bayesdp.experiments.tables import SHOWN, ReportTable, joined, study_tables, theory_table
from bayesdp.plotting.charts import Chart
from bayesdp.plotting.drawing import draw

__all__ = ["Report", "catalogue", "reproduce"]

_ERRATA = "errata"
_FIGURES, _NUMBERS = "figures", "numbers"

_THEORY = {**CURVES, **EXTRA}

Output = TypeVar("Output")


@dataclass(frozen=True, eq=False)
class Report(Document):
    """The reproduced figures and tables, and the written files.

    results:  one result for each data set. sources: for each, whether the original file or a twin was used.
    verdicts: for each, the verdict of its diagnosis.
    absent:   for each data set whose file is not in the folder of data, the names that the file may have; a twin
              replaces it. Without a folder, none.
    failures: the data sets that failed, each with the reason; everything else was written.
    """

    out: Path
    charts: tuple[Chart, ...]
    tables: tuple[ReportTable, ...]
    results: Mapping[str, Result] = field(repr=False)
    sources: Mapping[str, str]
    verdicts: Mapping[str, str]
    absent: Mapping[str, tuple[str, ...]]
    failures: Mapping[str, str]
    files: tuple[Path, ...] = field(repr=False)

    @property
    def html(self) -> Path:
        """The page to open."""
        return self.out / "report.html"

    @property
    def markdown(self) -> Path:
        """The same as Markdown."""
        return self.out / "report.md"

    @property
    def twins_used(self) -> str:
        """One sentence about the files that are not in the folder of data, empty if none is absent."""
        return report.twins_used(self.absent)

    def table(self, name: str) -> ReportTable:
        """Return one of the tables by name."""
        return next(table for table in self.tables if table.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary that `bayesdp reproduce --json` prints: the files, the sources and the key numbers."""
        return {
            "out": str(self.out),
            "html": str(self.html),
            "markdown": str(self.markdown),
            "files": [str(path) for path in self.files],
            "sources": dict(self.sources),
            "verdicts": dict(self.verdicts),
            "absent": {name: list(files) for name, files in self.absent.items()},
            "failures": dict(self.failures),
            "results": {name: _key_numbers(result) for name, result in self.results.items()},
            "tables": {
                table.name: [dict(zip(table.header, row, strict=True)) for row in table.rows] for table in self.tables
            },
        }

    def __str__(self) -> str:
        lines = [f"{name}: {source}, diagnosis: {self.verdicts[name]}" for name, source in self.sources.items()]
        lines += [self.twins_used] if self.absent else []
        lines += [f"{name}: failed: {why}" for name, why in self.failures.items()]
        counted = f"{len(self.charts)} figures and {len(self.tables)} tables"
        return "\n".join([*lines, f"{counted} in {self.out}; open {self.html}"])


def _key_numbers(result: Result) -> list[dict[str, Any]]:
    """Return the results of every mechanism at the ε of the tables."""
    shown = ("mechanism", "epsilon", "tau", "alpha", "factor", "proven")
    return [{name: getattr(row, name) for name in shown} for row in result.rows if row.epsilon in SHOWN]


def catalogue() -> dict[str, str]:
    """Return the names of everything that can be reproduced, each with a one-line description; extra figures last.

    >>> catalogue()["impossibility"]
    'the least β when all records may be correlated'
    """
    curves = {name: about for name, (_, about) in CURVES.items()}
    return (
        curves
        | {name: f"{recipe.title}: error and MAPE over ε" for name, recipe in STUDIES.items()}
        | {_ERRATA: "table: the paper's errata with evidence"}
        | {name: about for name, (_, about) in EXTRA.items()}
    )


def reproduce(
    names: Iterable[str] = (),
    *,
    out: str | Path,
    data: str | Path | None = None,
    extra: bool = False,
    runs: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> Report:
    """Recompute the paper's figures and tables and write them to `out`.

    names: names from `catalogue()`; none means all but the extra figures. Tables cover the data sets among them.
    extra: also draw the extra figures, of variants in the authors' scripts that the paper does not use.
    data:  the folder of the original files, under our names or the authors'; by default the one in BAYESDP_DATA. A
           built-in twin replaces a missing file; the report names the file, and every figure and table marks the twin.
    runs:  the number of simulated releases for each mechanism and ε.

    A data set that cannot be read or run is left out; `Report.failures` and the report give the reason.

    Writes figures/*.svg, *.png, the numbers of every figure, data set and table as numbers/*.csv, the self-contained
    report.html, and report.md; the same seed gives the same numbers. Raises InvalidInputError for an unknown name, an
    unreadable folder of data and an unwritable output folder.
    """
    chosen = _chosen(names, bool(extra))
    desk = _Desk(data, validation.natural("runs", runs), validation.natural("seed", seed, least=0))
    pictures: dict[str, bytes] = {}
    charts: list[Chart] = []
    tables: list[ReportTable] = []
    writer = _Writer(_folder(out, originals(data) if set(chosen) - set(_THEORY) else ()))
    for name in tracked(chosen, len(chosen), "reproducing the paper") if progress else chosen:
        new_charts, rows = desk.figures_and_tables(name)
        tables += rows
        for chart in new_charts:
            charts.append(chart)
            pictures[chart.name], png = draw(chart, "svg", "png")
            writer.write(f"{_FIGURES}/{chart.name}.svg", pictures[chart.name])
            writer.write(f"{_FIGURES}/{chart.name}.png", png)
            writer.write(f"{_NUMBERS}/{chart.name}.csv", chart.csv())
        if name in desk.results:
            writer.write(f"{_NUMBERS}/{name}.csv", desk.results[name].csv())
    every = joined([*tables, theory_table([name for name in chosen if name in CURVES])])
    for table in every:
        writer.write(f"{_NUMBERS}/table-{table.name}.csv", table.csv())
    studies = [loaded for name in desk.results if (loaded := desk.study(name)) is not None]
    missing = {study.name: files for study in studies if (files := absent(study.data.name, data))}
    intro = report.introduction(studies, desk.runs, desk.seed, missing)
    shown = sorted(charts, key=lambda chart: list(FIGURES).index(chart.name))
    writer.write("report.html", report.html(intro, shown, pictures, every, desk.failures))
    writer.write("report.md", report.markdown(intro, shown, every, desk.failures, _FIGURES))
    sources = {study.name: study.source for study in studies}
    verdicts = {study.name: study.diagnosis.verdict for study in studies}
    return Report(
        writer.folder,
        tuple(charts),
        every,
        desk.results,
        sources,
        verdicts,
        missing,
        desk.failures,
        tuple(writer.files),
    )


@dataclass(frozen=True, eq=False)
class _Desk:
    """Loads each data set once and runs it; records the reason if one fails, and continues with the others."""

    data: str | Path | None
    runs: int
    seed: int
    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    _loaded: dict[str, Study] = field(default_factory=dict)

    def figures_and_tables(self, name: str) -> tuple[list[Chart], list[ReportTable]]:
        """Return the figures and the table rows of a name; none for a data set that fails."""
        if name in _THEORY:
            return [_THEORY[name][0]()], []
        if name == _ERRATA:
            return self._attempt(name, lambda: ([], [errata_table(self.study)])) or ([], [])
        loaded = self.study(name)
        return ([], []) if loaded is None else self._attempt(name, lambda: self._run(loaded)) or ([], [])

    def study(self, name: str) -> Study | None:
        """Return a data set, ready to run; None if it fails."""
        if name not in self._loaded and name not in self.failures:
            loaded = self._attempt(name, lambda: study(name, self.data, runs=self.runs, seed=self.seed))
            if loaded is not None:
                self._loaded[name] = loaded
        return self._loaded.get(name)

    def _run(self, loaded: Study) -> tuple[list[Chart], list[ReportTable]]:
        result = run(loaded.experiment)
        charts = [error_chart(loaded, result), mape_chart(loaded, result), *added_charts(loaded, result)]
        outputs = charts, study_tables(loaded, result)
        self.results[loaded.name] = result
        return outputs

    def _attempt(self, name: str, work: Callable[[], Output]) -> Output | None:
        """Return the result of the work; on any error, record the failure, so that other data sets still run."""
        try:
            return work()
        except BayesDPError as error:
            self.failures[name] = str(error)
        except Exception as error:
            self.failures[name] = f"{type(error).__name__}: {error} (unexpected; please report this)"
        return None


def _chosen(names: Iterable[str], extra: bool) -> list[str]:
    known = catalogue()
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in known:
            raise InvalidInputError(f"cannot reproduce {brief(name)}: no such name; choose from {', '.join(known)}")
    wanted = {*(chosen or set(known) - set(EXTRA)), *(EXTRA if extra else ())}
    return [name for name in known if name in wanted]


def _folder(out: str | Path, inputs: Sequence[Path]) -> Path:
    """Return the output folder, created if missing; refuse to overwrite original files or other reports."""
    if not isinstance(out, str | Path):
        raise InvalidInputError(f"out must be a folder, not {brief(out)}")
    folder = Path(out)
    try:
        for pattern in ("report.*", f"{_FIGURES}/*", f"{_NUMBERS}/*"):
            for written in folder.glob(pattern):
                refuse_overwriting(written, inputs)
        page = folder / "report.md"
        if page.exists() and not page.read_text(encoding="utf-8", errors="replace").startswith(report.OPENING):
            raise InvalidInputError(
                f"{page} is not a report of bayesdp and would be overwritten; choose another folder"
            )
        for subfolder in (_FIGURES, _NUMBERS):
            (folder / subfolder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot write to {folder}: {error.strerror or error}") from None
    return folder


@dataclass(frozen=True)
class _Writer:
    folder: Path
    files: list[Path] = field(default_factory=list)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        try:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        except OSError as error:
            raise InvalidInputError(f"cannot write {path}: {error.strerror or error}") from None
        self.files.append(path)
