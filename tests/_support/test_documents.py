"""JSON in and out: strict where it reads, exact where it writes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bayesdp._support import documents
from bayesdp.errors import InvalidInputError, ModelError


@dataclass(frozen=True)
class Note(documents.Document):
    entries: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.entries


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("[1]", "must hold one JSON object"),
        ('"a"', "must hold one JSON object"),
        ('{"a": NaN}', "contains NaN"),
        ('{"a": -Infinity}', "contains -Infinity"),
        ('{"a": 1, "a": 2}', 'gives "a" twice'),
        ('{"a": {"b": 1, "b": 1}}', 'gives "b" twice'),
        ('{"a": 1,}', "not valid JSON"),
        ("{'a': 1}", "at line 1, column 2"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read"),
    ],
)
def test_what_is_no_object_is_refused_with_the_reason(source: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        documents.parse(source)


def test_a_document_is_written_whole_and_read_again(tmp_path: Path) -> None:
    note = Note({"kind": "note", "tau": 0.1 + 0.2, "least": 5e-324, "text": "été 😀"})
    documents.write(tmp_path / "note.json", note)
    assert documents.read(tmp_path / "note.json") == note.entries
    assert (tmp_path / "note.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInputError, match="cannot write"):
        documents.write(tmp_path / "note.json", Note({"tau": float("nan")}))
    assert documents.read(tmp_path / "note.json") == note.entries
    assert [path.name for path in tmp_path.iterdir()] == ["note.json"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    for name, message in (("nowhere.json", "cannot read"), ("binary.json", "not UTF-8"), ("", "cannot read")):
        with pytest.raises(InvalidInputError, match=message):
            documents.read(tmp_path / name)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "note.json").write_text('\ufeff{"a": 1}', encoding="utf-8")
    assert documents.read(tmp_path / "note.json") == {"a": 1}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "fit", "schema": 1}, "expected a document of kind answer"),
        ({"kind": "answer", "schema": 2}, "update it"),
        ({"kind": "answer", "schema": 0}, "whole number from 1"),
        ({"kind": "answer", "schema": True}, "whole number from 1"),
        ({"kind": "answer", "schema": "1"}, "whole number from 1"),
        ([1], "must be a JSON object"),
    ],
)
def test_kinds_and_schemas_that_are_not_ours_are_refused(document: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        documents.checked(document, "answer", 1, ModelError)


def test_a_fingerprint_does_not_depend_on_the_order_of_entries() -> None:
    assert documents.fingerprint({"a": 1, "b": [1.5, "é"]}) == documents.fingerprint({"b": [1.5, "é"], "a": 1})
    assert documents.fingerprint({"a": 1}) != documents.fingerprint({"a": 2})
    assert documents.fingerprint({"a": [1, 2]}) != documents.fingerprint({"a": [2, 1]})
