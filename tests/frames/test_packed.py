"""Files that are too long in a line, too large unpacked, or packed without saying so are refused in bounded memory."""

import gzip
import random
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest

from bayesdp.errors import FrameError, InvalidInputError, RecordsError
from bayesdp.frames import packed
from bayesdp.frames.packed import check_sheets, check_text
from bayesdp.frames.source import scan

MEBIBYTE = 2**20


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, *contents: bytes) -> str:
    """Write contents, packed if the name says so, piece by piece."""
    with gzip.open(name, "wb", 1) if name.endswith(".gz") else Path(name).open("wb") as file:
        for content in contents:
            file.write(content)
    return name


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_one_endless_line_is_refused_in_bounded_memory(name: str) -> None:
    written(name, b"a,b\n1,", *[bytes(MEBIBYTE).replace(b"\0", b"x")] * 40, b"\n")
    tracemalloc.start()
    with pytest.raises(
        FrameError, match=r"it has a line of more than 16777216 bytes; set .* BAYESDP_MAX_LINE_BYTES "
    ) as e:
        scan(name)
    assert tracemalloc.get_traced_memory()[1] < 10 * MEBIBYTE
    tracemalloc.stop()
    assert isinstance(e.value, RecordsError)


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_one_endless_row_of_quoted_lines_is_refused(name: str) -> None:
    written(name, b'a,b\n1,"', *[(b"x" * 63 + b"\n") * (MEBIBYTE // 64)] * 18, b'"\n2,y\n')
    with pytest.raises(RecordsError, match=r"it has a row of more than 16777216 bytes; is there a quotation mark"):
        scan(name)


def test_a_row_of_ten_thousand_columns_passes() -> None:
    names = ",".join(f"column number {i}" for i in range(10_000))
    assert len(scan(written("x.csv", names.encode(), b"\n", b"1.2345678901234567," * 9_999, b"1\n")).schema) == 10_000


def longest(content: bytes) -> int:
    """Return the length of the longest row, one character after the other."""
    length = most = 0
    quoted = False
    for character in content.decode():
        quoted ^= character == '"'
        length = 0 if character == "\n" and not quoted else length + 1
        most = max(most, length)
    return most


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_measured_as_if_by_hand(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever chunks end, with line breaks and doubled marks between quotation marks."""
    draw = random.Random(seed)
    content = "".join(draw.choices(["x", "yy", ",", "\n", '"', '""', '"\n"'], k=400)).encode()
    limit = longest(content)
    Path("x.csv").write_bytes(content)
    monkeypatch.setattr(packed, "AT_ONCE", draw.randint(1, 40))
    monkeypatch.setenv("BAYESDP_MAX_LINE_BYTES", str(limit))
    check_text("x.csv")
    monkeypatch.setenv("BAYESDP_MAX_LINE_BYTES", str(limit - 1))
    with pytest.raises(FrameError, match=f"of more than {limit - 1} bytes"):
        check_text("x.csv")


def test_a_file_that_is_large_once_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"1,2\n" * 100
    written("x.csv", b"a,b\n", rows)
    written("x.csv.gz", b"a,b\n", rows)
    monkeypatch.setenv("BAYESDP_MAX_UNPACKED_BYTES", "404")
    scan("x.csv.gz")
    monkeypatch.setenv("BAYESDP_MAX_UNPACKED_BYTES", "403")
    scan("x.csv")  # which is as large as it is
    with pytest.raises(
        FrameError, match=r"x\.csv\.gz: it is larger than 403 bytes once it is unpacked; set .*UNPACKED"
    ):
        scan("x.csv.gz")
    monkeypatch.setenv("BAYESDP_MAX_UNPACKED_BYTES", "1 GB")
    with pytest.raises(InvalidInputError, match="BAYESDP_MAX_UNPACKED_BYTES must be a whole number"):
        scan("x.csv.gz")


def test_what_polars_would_unpack_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars goes by the first bytes, whatever the name says; x^2 is a name, too."""
    for level in range(1, 10):
        Path("x.csv").write_bytes(zlib.compress(b"a\n1\n", level))
        with pytest.raises(FrameError, match=r"x\.csv: it begins like a file packed by zlib; unpack it"):
            scan("x.csv")
    pl.DataFrame({"a": [1]}).write_csv("x.csv", compression="zstd", check_extension=False)
    with pytest.raises(FrameError, match=r"x\.csv: it begins like a file packed by zstd; unpack it"):
        scan("x.csv")
    Path("x.csv").write_text("x^2,y\n1,2\n")
    with pytest.raises(FrameError, match="if it is plain text, put the first name in quotes"):
        scan("x.csv")
    Path("x.csv").write_text('"x^2",y\n1,2\n')
    assert list(scan("x.csv").schema) == ["x^2", "y"]


def sheet(name: str, cells: str) -> str:
    """Write an Excel file by hand, with one sheet."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{relation}/'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'{related}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{related}worksheet" Target="worksheets/s.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets><sheet name="S" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/worksheets/s.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, text)
    return name


NAMED = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'


def test_an_excel_file_that_is_large_once_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastexcel")
    sheet("x.xlsx", NAMED + '<row r="2"><c r="A2"><v>7</v></c></row>')
    assert list(scan("x.xlsx").schema) == ["a"]
    monkeypatch.setenv("BAYESDP_MAX_UNPACKED_BYTES", "500")
    with pytest.raises(FrameError, match=r"x\.xlsx: it is larger than 500 bytes once it is unpacked; set .*or save it"):
        scan("x.xlsx")


@pytest.mark.parametrize("place", ["XFD1048576", "ZZ1048576"])
def test_two_cells_far_apart_do_not_take_all_memory(place: str) -> None:
    """The reader of Excel files makes room for every cell in between, and ends the process if there is none."""
    pytest.importorskip("fastexcel")
    sheet("x.xlsx", NAMED + f'<row r="1048576"><c r="{place}"><v>1</v></c></row>')
    with pytest.raises(RecordsError, match=r"its cells span 1048576 rows and \d+ columns, more than 100000000 cells"):
        scan("x.xlsx")


def test_places_are_found_wherever_chunks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sheet("x.xlsx", NAMED + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    for size in (7, 13, 64):
        monkeypatch.setattr(packed, "AT_ONCE", size)
        with pytest.raises(RecordsError, match="its cells span"):
            check_sheets("x.xlsx")
