"""The report as one self-contained HTML page, and as Markdown with separate pictures: first figures, then tables."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from bayesdp._support.markdown import plain
from bayesdp.experiments.paper import FIGURES, TITLE
from bayesdp.experiments.studies import Study
from bayesdp.experiments.tables import ReportTable
from bayesdp.models.diagnosis import Verdict
from bayesdp.plotting.charts import Chart

__all__ = ["html", "introduction", "markdown", "twins_used"]

_HEADING = "The paper, rerun"

OPENING = f"# {_HEADING}"
"""The first line of the report in Markdown."""

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
h3 { font-size: 1.05rem; margin: 2rem 0 0.5rem; } a { color: #0b5394; }
nav { background: #f5f5f5; padding: 0.5rem 1rem; } nav h2 { font-size: 1rem; margin: 0.3rem 0; border: 0; }
nav ul { columns: 20rem; margin: 0 0 0.6rem; padding-left: 1.2rem; font-size: 0.9rem; } nav li { break-inside: avoid; }
figure { margin: 0 0 1.5rem; } img { width: 100%; height: auto; } figcaption, .note { color: #444; font-size: 0.9rem; }
.failed { border-left: 4px solid #b00020; padding: 0.1rem 1rem; background: #fdf1f1; }
table { border-collapse: collapse; font-size: 0.85rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.5rem; border-bottom: 1px solid #ddd; }
td { overflow-wrap: anywhere; min-width: 3.5rem; } thead th { background: #f5f5f5; } tbody th { padding-top: 0.9rem; }
@media (max-width: 45rem) {
  table, tbody, tr, td, tbody th { display: block; } thead { display: none; } tr { padding: 0.4rem 0; }
  tr { border-bottom: 1px solid #ddd; } td, tbody th { border: 0; padding: 0.1rem 0.2rem; }
  td::before { content: attr(data-label) ": "; color: #666; }
  td.first { font-weight: 600; } td.first::before { content: ""; }
}
"""


def introduction(studies: Sequence[Study], runs: int, seed: int, absent: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the first paragraphs: the contents, the data and their diagnosis, and the number of simulations.

    absent: for data sets whose file is not in the folder of data, the names that it may have.
    """
    return [
        f"Every figure and table of “{TITLE}” that can be recomputed, by bayesdp, with this library's stronger bounds "
        "beside the paper's.",
        f"Data: {_used(studies)}. Simulated releases per mechanism and ε: {runs:,}, seed {seed}.",
        *([twins_used(absent)] if absent else []),
        *_judged(studies),
        "Plain DP is ordinary differential privacy at τ = ε, which does not protect correlated records. "
        "In figures “(ours)” marks theorems that are not in the paper, all except general, gaussian-paper and "
        "markov-paper. yang-2015 is the state of the art that the paper compares its Gaussian bound with. Models were "
        "estimated from the data, if there are any; the guarantees treat them as public.",
    ]


def twins_used(absent: Mapping[str, Sequence[str]]) -> str:
    """Return one sentence about the files that are not in the folder of data.

    >>> twins_used({"activity": ("activity.csv",), "activity-day": ("activity.csv",)})
    'The folder of data lacks activity.csv: built-in twins replace activity, activity-day.'
    """
    files = dict.fromkeys(" or ".join(names) for names in absent.values())
    return f"The folder of data lacks {', '.join(files)}: built-in twins replace {', '.join(absent)}." if files else ""


def _used(studies: Sequence[Study]) -> str:
    """Return the sources of the data, with a definition of twins."""
    kinds = {kind: [study for study in studies if study.data.source == kind] for kind in ("file", "synthetic", "twin")}
    files = dict.fromkeys(study.data.path.name for study in kinds["file"] if study.data.path)
    parts = []
    if files:
        parts.append(f"original files {', '.join(files)} for {_names(kinds['file'])}")
    if kinds["synthetic"]:
        parts.append(f"synthetic for {_names(kinds['synthetic'])}")
    if kinds["twin"]:
        parts.append(
            f"a built-in twin, made-up data with exactly the statistics that the results depend on, for "
            f"{_names(kinds['twin'])}, marked “(twin)” below"
        )
    return "; ".join(parts) or "none, theory only"


def _judged(studies: Sequence[Study]) -> list[str]:
    """Return the data sets that contradict their models, and what the twins hide."""
    against = [study for study in studies if study.diagnosis.verdict == Verdict.VIOLATED]
    sentences = []
    if against:
        sentences.append(
            f"The diagnosis finds the model violated for {_names(against)}: the proofs hold for the model, "
            "and these data do not follow it, although the paper says that all its data sets meet the conditions."
        )
    hidden = {study.data.name: study.data.original_is for study in studies if study.data.original_is}
    sentences += hidden.values()
    return [" ".join(sentences)] if sentences else []


def _names(studies: Sequence[Study]) -> str:
    return ", ".join(study.name for study in studies)


def html(
    intro: Sequence[str],
    charts: Sequence[Chart],
    pictures: Mapping[str, bytes],
    tables: Sequence[ReportTable],
    failures: Mapping[str, str],
) -> str:
    """Return the report as one HTML page with the figures inside it."""
    parts = [f"<h1>{_HEADING}</h1>", *(f"<p>{escape(text)}</p>" for text in intro)]
    parts += [*_failed(failures), *_contents(charts, tables)]
    if charts:
        parts.append("<h2>Figures</h2>")
    for chart in charts:
        data = base64.b64encode(pictures[chart.name]).decode("ascii")
        parts.append(
            f'<h3 id="{chart.name}">{escape(_titled(chart))}</h3>\n'
            f'<figure><img alt="{escape(chart.says)}" src="data:image/svg+xml;base64,{data}">\n'
            f"<figcaption>{escape(chart.note)}</figcaption></figure>"
        )
    if tables:
        parts.append("<h2>Tables</h2>")
    for table in tables:
        parts.append(f'<h3 id="table-{table.name}">{escape(table.title)}</h3>\n{_table(table)}')
        parts += [f'<p class="note">{escape(" ".join(table.notes))}</p>'] if table.notes else []
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_HEADING}</title>\n<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _titled(chart: Chart) -> str:
    """Return the paper's name of the figure."""
    return FIGURES.get(chart.name, chart.name)


def _failed(failures: Mapping[str, str]) -> Iterator[str]:
    if failures:
        listed = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in failures.items())
        yield f'<div class="failed"><h2>Failed</h2><p>These data sets are missing below.</p><ul>{listed}</ul></div>'


def _contents(charts: Sequence[Chart], tables: Sequence[ReportTable]) -> Iterator[str]:
    lists = {
        "Figures": [(chart.name, _titled(chart)) for chart in charts],
        "Tables": [(f"table-{table.name}", table.title) for table in tables],
    }
    shown = ""
    for heading, entries in lists.items():
        items = "".join(f'<li><a href="#{place}">{escape(title)}</a></li>' for place, title in entries)
        shown += f"<h2>{heading}</h2><ul>{items}</ul>" if entries else ""
    if shown:
        yield f'<nav aria-label="Contents">{shown}</nav>'


def _table(table: ReportTable) -> str:
    """Return a table; on a narrow screen, the cells of a row are stacked, each with the name of its column."""
    header = table.header[1:] if table.grouped else table.header
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = ""
    for group, rows in groupby(table.rows, key=lambda row: row[0] if table.grouped else ""):
        if table.grouped:
            body += f'<tr><th colspan="{len(header)}">{escape(group)}</th></tr>\n'
        for row in rows:
            cells = zip(header, row[1:] if table.grouped else row, strict=True)
            body += f"<tr>{''.join(_cell(name, cell, not i) for i, (name, cell) in enumerate(cells))}</tr>\n"
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def _cell(name: str, text: str, first: bool) -> str:
    kind = ' class="first"' if first else ""
    return f'<td{kind} data-label="{escape(name)}">{escape(text)}</td>'


def markdown(
    intro: Sequence[str],
    charts: Sequence[Chart],
    tables: Sequence[ReportTable],
    failures: Mapping[str, str],
    folder: str,
) -> str:
    """Return the report as Markdown that shows the figures in `folder`."""
    parts = [OPENING, *map(_line, intro)]
    if failures:
        parts += ["## Failed", "\n".join(f"- {_line(name)}: {_line(why)}" for name, why in failures.items())]
    for chart in charts:
        parts += [
            f"## {_titled(chart)}",
            f"![{_line(chart.says)}]({folder}/{chart.name}.png)",
            *([chart.note] if chart.note else []),
        ]
    for table in tables:
        lines = [table.header, tuple("---" for _ in table.header), *table.rows]
        body = "\n".join("| " + " | ".join(map(_line, row)) + " |" for row in lines)
        parts += [f"## {table.title}", body, *([" ".join(table.notes)] if table.notes else [])]
    return "\n\n".join(parts) + "\n"


def _line(text: str) -> str:
    """Return a text as one line of Markdown, escaped, because file names and error messages may contain anything."""
    return plain(" ".join(text.split()))
