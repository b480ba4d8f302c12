"""The report as one HTML page that needs nothing else, and as Markdown beside its pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from bayesdp.experiments.charts import Chart
from bayesdp.experiments.paper import TITLE
from bayesdp.experiments.tables import Table

__all__ = ["html", "markdown"]

_HEADING = "The paper, rerun"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
figure { margin: 1.5rem 0; } img { width: 100%; height: auto; } figcaption, .note { color: #444; font-size: 0.9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #ddd; }
td { min-width: 4rem; } td:last-child { min-width: 12rem; } th { background: #f5f5f5; }
"""


def introduction(sources: Mapping[str, str], runs: int, seed: int) -> list[str]:
    """Return the first paragraphs: what this is, from which data, how often simulated."""
    kinds = {kind: [name for name, source in sources.items() if source == kind] for kind in sources.values()}
    used = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items()) or "no data, theory only"
    return [
        f"Every figure and table of “{TITLE}” that can be recomputed, by bayesdp, with this library's stronger bounds "
        "beside the paper's.",
        f"Data: {used}. Simulated releases per mechanism and ε: {runs:,}, seed {seed}.",
        "Plain DP is what ordinary differential privacy would do at τ = ε: unprotected, since records are correlated. "
        "In figures “(ours)” marks theorems that are not in the paper, which are all but general, gaussian-paper and "
        "markov-paper. Models were estimated from the data where there are any; the guarantees take them as public.",
    ]


def html(intro: Sequence[str], charts: Sequence[Chart], pictures: Mapping[str, bytes], tables: Sequence[Table]) -> str:
    """Return the report as one HTML page with the figures inside it."""
    parts = [f"<h1>{_HEADING}</h1>", *(f"<p>{escape(text)}</p>" for text in intro)]
    if tables:
        parts.append("<h2>Tables</h2>")
    for table in tables:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows)
        parts.append(f'<h3 id="{table.name}">{escape(table.title)}</h3>')
        parts.append(f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>')
        parts.append(f'<p class="note">{escape(table.note)}</p>' if table.note else "")
    if charts:
        parts.append("<h2>Figures</h2>")
    for chart in charts:
        data = base64.b64encode(pictures[chart.name]).decode("ascii")
        said = f"<strong>{escape(chart.says)}</strong> {escape(chart.source)}. {escape(chart.note)}"
        parts.append(
            f'<figure id="{chart.name}"><img alt="{escape(chart.says)}" src="data:image/svg+xml;base64,{data}">\n'
            f"<figcaption>{said}</figcaption></figure>"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_HEADING}</title>\n<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def markdown(intro: Sequence[str], charts: Sequence[Chart], tables: Sequence[Table], folder: str) -> str:
    """Return the report as Markdown that shows the figures in `folder`."""
    parts = [f"# {_HEADING}", *intro]
    for table in tables:
        lines = [table.header, tuple("---" for _ in table.header), *table.rows]
        body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
        parts += [f"## {table.title}", body, *([table.note] if table.note else [])]
    for chart in charts:
        parts += [f"## {chart.name}", f"**{chart.says}**", f"![{chart.says}]({folder}/{chart.name}.png)"]
        parts.append(f"{chart.source}. {chart.note}".strip())
    return "\n\n".join(parts) + "\n"
