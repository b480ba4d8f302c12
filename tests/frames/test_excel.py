"""Excel files: one sheet is one table."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import polars
import pytest

import bayesdp as bdp
from bayesdp.errors import FrameError, MissingDependencyError
from bayesdp.frames.aggregates import tally
from bayesdp.frames.source import scan

pytest.importorskip("fastexcel")

Rows = Sequence[Sequence[object]]
STEPS: Rows = [("walker", "steps", "on", "empty"), *((f"w{i % 3}", i / 2, i % 2 == 0, None) for i in range(40))]
NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(path: Path, sheets: Mapping[str, Rows]) -> Path:
    """Write the smallest file that Excel would open."""
    numbered = list(enumerate(sheets.items(), start=1))
    listed = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, (name, _) in numbered)
    related = "".join(
        f'<Relationship Id="r{i}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i, _ in numbered
    )
    packages = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{packages}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r" Type="{RELATIONS}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml", f'<workbook {NAMESPACE} xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{packages}/relationships">{related}</Relationships>'
        )
        for i, (_, rows) in numbered:
            lines = "".join(
                f'<row r="{r}">{"".join(_cell(f"{chr(65 + c)}{r}", value) for c, value in enumerate(row))}</row>'
                for r, row in enumerate(rows, start=1)
            )
            file.writestr(
                f"xl/worksheets/sheet{i}.xml", f"<worksheet {NAMESPACE}><sheetData>{lines}</sheetData></worksheet>"
            )
    return path


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def test_a_sheet_is_a_table_like_any_other(tmp_path: Path) -> None:
    path = workbook(tmp_path / "steps.xlsx", {"March": STEPS})
    plain = polars.DataFrame(STEPS[1:], schema=list(map(str, STEPS[0])), orient="row").drop("empty")
    asked = [
        bdp.Count("on", equals=True),
        bdp.Histogram("walker", cells=["w0", "w2"]),
        bdp.Sum("steps", bounds=(0, 15)),
        bdp.Count(where="steps > 7"),
    ]
    assert [found.counts for found in tally(path, asked)] == [found.counts for found in tally(plain, asked)]
    assert scan(f"{path}#March").guessed
    with pytest.raises(FrameError, match=r"column 'empty' .* holds no values"):
        tally(path, [bdp.Count("empty", equals=1)])


def test_which_sheet_is_asked_if_there_are_several(tmp_path: Path) -> None:
    path = workbook(tmp_path / "steps.xlsx", {"March": STEPS, "April": STEPS[:11]})
    with pytest.raises(FrameError, match=r"has the sheets 'March', 'April'; name one after a #, such as .*#March"):
        scan(path)
    with pytest.raises(FrameError, match="has no sheet 'May'; it has 'March', 'April'"):
        scan(f"{path}#May")
    assert tally(f"{path}#April", [bdp.Count("on", equals=True)])[0].rows == 10


def test_what_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FrameError, match="there is no such file"):
        scan(tmp_path / "nothing.xlsx")
    (tmp_path / "text.xlsx").write_text("no workbook")
    with pytest.raises(FrameError, match=r"cannot read .*text\.xlsx: \w+; open it in Excel"):
        scan(tmp_path / "text.xlsx")
    for name in ("a.xlsx", "b.xlsx"):
        workbook(tmp_path / name, {"March": STEPS})
    with pytest.raises(FrameError, match="name one Excel file"):
        scan(str(tmp_path / "[ab].xlsx"))
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesdp\[excel\]'"):
        scan(tmp_path / "a.xlsx")
