"""Contents of compressed and text files, and checks of their size, in bounded memory."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import ZipFile

from bayesdp._support.limits import LINE_BYTES, SHEET_BYTES, UNPACKED_BYTES
from bayesdp.errors import FrameError, RecordsError

__all__ = ["AT_ONCE", "check_sheets", "check_text", "is_packed", "unpacked"]

AT_ONCE = 2**20
"""Bytes that are read at a time."""

_GZIP = b"\x1f\x8b"
_UNPACKED_UNASKED = {"zstd": (b"\x28\xb5\x2f\xfd",), "zlib": (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")}
"""The first bytes of files that Polars unpacks, whatever their name."""

_MOST_CELLS = 10**8
"""The most cells in the rectangle around all cells of a sheet; each takes some 30 bytes, even if it is empty."""

_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{0,4})([0-9]{1,8})["']""")
_LONGEST_PLACE = 64


def is_packed(name: str) -> bool:
    """Return whether a file is compressed by gzip, whatever its name, as Polars does."""
    with Path(name).open("rb") as file:
        return file.read(2) == _GZIP


def unpacked(name: str) -> BinaryIO:
    """Open the unpacked contents of a file."""
    return cast("BinaryIO", gzip.open(name) if is_packed(name) else Path(name).open("rb"))


def check_text(name: str) -> None:
    """Refuse a text file that Polars would load as a whole, or unpack without limit.

    Raises FrameError for a file that is too large once unpacked, and for one that is packed, but not by gzip. Raises
    RecordsError for a line that is too long, and for a row that quotation marks make too long.
    """
    _check_beginning(name)
    packed, size, row = is_packed(name), 0, _Row(LINE_BYTES.value)
    most = UNPACKED_BYTES.value
    with unpacked(name) as file:
        while chunk := file.read(min(AT_ONCE, row.most)):
            size += len(chunk)
            if packed and size > most:
                raise FrameError(
                    f"cannot read {name}: it is larger than {most} bytes once it is unpacked; {UNPACKED_BYTES.advice}"
                )
            row.go_on(chunk)
            if row.line > row.most:
                raise RecordsError(
                    f"cannot read {name}: it has a line of more than {row.most} bytes; {LINE_BYTES.advice}"
                )
            if row.length > row.most:
                raise RecordsError(
                    f'cannot read {name}: it has a row of more than {row.most} bytes; is there a quotation mark (") '
                    f"that is never closed? If not, {LINE_BYTES.advice}"
                )


class _Row:
    """The lengths of the current line and row, chunk by chunk; no chunk is longer than `most`.

    Line breaks between quotation marks end a line, but not a row. A line or row within one chunk is short enough.
    """

    def __init__(self, most: int) -> None:
        self.most, self.line, self.length, self.quoted = most, 0, 0, False

    def go_on(self, chunk: bytes) -> None:
        """Process one more chunk, up to a line or a row that is too long."""
        end = chunk.find(b"\n")
        self.line += len(chunk) if end < 0 else end
        if self.line > self.most:
            return
        if end >= 0:
            self.line = len(chunk) - 1 - chunk.rfind(b"\n")
        marks = chunk.count(b'"')
        end = self._first_end(chunk) if marks or not self.quoted else -1
        self.length += len(chunk) if end < 0 else end
        if self.length > self.most:
            return
        self.quoted ^= marks % 2 == 1
        if end >= 0:
            self.length = len(chunk) - 1 - self._last_end(chunk)

    def _first_end(self, chunk: bytes) -> int:
        """Return the end of the first row, or -1, given whether the chunk begins between quotation marks."""
        quoted, begin = self.quoted, 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            quoted ^= chunk.count(b'"', begin, end) % 2 == 1
            if not quoted:
                return end
            begin, quoted = chunk.find(b'"', end) + 1, False
            if begin == 0:
                break
        return -1

    def _last_end(self, chunk: bytes) -> int:
        """Return the end of the last row, given whether the chunk ends between quotation marks."""
        quoted, end = self.quoted, len(chunk)
        while (place := chunk.rfind(b"\n", 0, end)) >= 0:
            quoted ^= chunk.count(b'"', place, end) % 2 == 1
            if not quoted:
                return place
            end, quoted = chunk.rfind(b'"', 0, place), False
        raise AssertionError("no row ends in this chunk")


def _check_beginning(name: str) -> None:
    with Path(name).open("rb") as file:
        begun = file.read(4)
    for packer, beginnings in _UNPACKED_UNASKED.items():
        if begun.startswith(beginnings):
            raise FrameError(
                f"cannot read {name}: it begins like a file packed by {packer}; unpack it, or pack it by gzip; if it "
                "is plain text, put the first name in quotes"
            )


def check_sheets(name: str) -> None:
    """Refuse an Excel file that would take too much memory.

    Raises FrameError for one that is too large once unpacked, RecordsError for cells that are too far apart.
    """
    size, most = 0, SHEET_BYTES.value
    with ZipFile(name) as archive:
        for member in archive.infolist():
            rest, rows, columns = b"", 1, 1
            with archive.open(member) as file:
                while chunk := file.read(AT_ONCE):
                    size += len(chunk)
                    if size > most:
                        raise FrameError(
                            f"cannot read {name}: it is larger than {most} bytes once it is unpacked; "
                            f"{SHEET_BYTES.advice}, or save it as .csv"
                        )
                    rest += chunk
                    places = _PLACE.findall(rest)
                    rows = max(rows, *(int(row) for _, row in places), 1)
                    columns = max(columns, *map(_number, {column.upper() for column, _ in places}), 1)
                    if rows * columns > _MOST_CELLS:
                        raise RecordsError(
                            f"cannot read {name}: its cells span {rows} rows and {columns} columns, more than "
                            f"{_MOST_CELLS} cells; delete cells that lie far from the table, or save it as .csv"
                        )
                    rest = rest[-_LONGEST_PLACE:]


def _number(column: bytes) -> int:
    """Return the number of a column: 1 for A, 27 for AA; 0 without a name."""
    number = 0
    for letter in column:
        number = 26 * number + letter - 64
    return number
