"""The answers to one question about several parts of a table, released together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bayesdp._support import documents, hooks, validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp._support.words import listed
from bayesdp.errors import InvalidInputError
from bayesdp.queries import Value
from bayesdp.queries.windows import by_of
from bayesdp.rounding import shown_above, shown_odds
from bayesdp.session.answer import Answer
from bayesdp.session.measurement import NOISE_ALONE, noise_alone

__all__ = ["Answers"]

KIND, SCHEMA = "answers", 1

Name = Scalar | tuple[Scalar, ...]
"""The name of a part or window: its value of one column, or of several."""


@dataclass(frozen=True)
class Answers(Displayed, Document):
    """One answer for each part or window, in the order in which they were named; each is an `Answer` of its own.

    by:      the public column or clock that tells them apart, or several.
    answers: `answers["A"]` is that about the part A, `answers[1, 7]` that about the window of weekday 1 and hour 7, and
             iterating gives all of them.
    cells:   the names of windows; parts have them in their questions.
    empty:   the windows that have no record, so that an average over them has no value.

    A record is in one part or window: `epsilon` and the guarantee of each answer hold for all of them together.
    """

    by: str | Sequence[str]
    answers: tuple[Answer, ...]
    cells: Sequence[tuple[Scalar, ...]] = field(default=(), kw_only=True)
    empty: Sequence[tuple[Scalar, ...]] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", by_of(self.by))
        object.__setattr__(self, "answers", tuple(validation.items("answers", self.answers)))
        for name in ("cells", "empty"):
            object.__setattr__(self, name, _names(name, getattr(self, name), len(self.columns)))
        if not self.answers or not all(isinstance(answer, Answer) for answer in self.answers):
            raise InvalidInputError(name_of("answers") + " must be a list of at least one answer")
        if self.cells and len(self.cells) != len(self.answers):
            raise InvalidInputError(f"there are {len(self.answers)} answers, and {len(self.cells)} windows")
        if not self.cells and any(
            answer.query.part_column != self.by or len(answer.query.parts) != 1 for answer in self.answers
        ):
            raise InvalidInputError(f"every answer must be about one part by {self.by!r}")

    def __getitem__(self, part: Scalar | tuple[Scalar, ...]) -> Answer:
        wanted = _texts(part)
        for name, answer in zip(self.parts, self.answers, strict=True):
            if _texts(name) == wanted:
                return answer
        raise KeyError(part)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns and clocks that tell the answers apart."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by)

    @property
    def values(self) -> Mapping[Name, Value]:
        """The noisy value of each part or window, as it came out."""
        return {part: answer.value for part, answer in zip(self.parts, self.answers, strict=True)}

    @property
    def parts(self) -> tuple[Name, ...]:
        """The names of the parts or windows; with several columns, a tuple each."""
        if self.cells:
            return tuple(map(_name, self.cells))
        return tuple(cell for answer in self.answers for cell in answer.query.listed[self.columns[0]])

    @property
    def places(self) -> tuple[tuple[Scalar, ...], ...]:
        """The names of all windows, a value for each column, with those that have no record in their place."""
        named = tuple(map(_tuple, self.parts))
        return tuple(sorted((*named, *self.empty), key=_place)) if self.empty else named

    @property
    def epsilon(self) -> float:
        """By how much the release raised what was leaked about any part it touched."""
        return max(answer.epsilon for answer in self.answers)

    @property
    def epsilon_total(self) -> float:
        """What has leaked in all, about the part that has leaked most."""
        return max(answer.epsilon_total for answer in self.answers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that stand beside the numbers, each once."""
        drowned = sum(NOISE_ALONE in answer.warnings for answer in self.answers)
        counts = {NOISE_ALONE: noise_alone(drowned, len(self.answers))}
        every = dict.fromkeys(warning for answer in self.answers for warning in answer.warnings)
        return tuple(counts.get(warning, warning) for warning in every)

    @property
    def guarantee(self) -> str:
        """What an attacker can learn at most: that of the answer given last."""
        return self.latest.guarantee

    @property
    def latest(self) -> Answer:
        """The answer given last, whose promise covers all of them."""
        return max(self.answers, key=lambda answer: (answer.epsilon_total, answer.entry))

    @property
    def listed(self) -> tuple[str, ...]:
        """Each answer with its error as a text, and the windows without a record."""
        rows = {
            _tuple(part): f"{answer.published}, off by less than {answer.off_by}"
            for part, answer in zip(self.parts, self.answers, strict=True)
        } | {tuple(name): "no record" for name in self.empty}
        return tuple(
            f"{', '.join(f'{by} {cell}' for by, cell in zip(self.columns, name, strict=True))}: {rows[name]}"
            for name in self.places
        )

    def statement(self) -> str:
        """Return one page about all answers, in Markdown; `statement.write` makes HTML."""
        from bayesdp.session.statement import statement

        return statement(self).markdown()

    def plot(self, path: str | Path) -> Path:
        """Draw the answers with their intervals; those by two columns, such as weekday and hour, as a heat map.

        Raises InvalidInputError for a path that cannot be written to, and for answers that are several numbers each.
        """
        drawn: Path = hooks.call("plot.answers", self, path)
        return drawn

    @property
    def title(self) -> str:
        """What was asked, in words: "The number of records with on = 1, by hour"."""
        query, ends = self.answers[0].query, {(answer.query.since, answer.query.until) for answer in self.answers}
        about = (replace(query, by=None, by_cells=None) if len(ends) == 1 else query.undivided).description
        return f"{about[:1].upper()}{about[1:]}, by {listed(self.columns)}"

    @property
    def terms(self) -> tuple[str, ...]:
        """What all answers cost together, what they protect and what is proven, in sentences."""
        first = self.answers[0]
        sentences = [
            f"A record is in one {'window' if self.cells else 'part'}: all this cost ε = {shown_above(self.epsilon)} "
            f"about each; {first.dataset} has leaked ε = {shown_above(self.epsilon_total)} in all; remaining: "
            f"{first.left}.",
            f"It protects {first.protects}: {shown_odds(self.epsilon_total)}."
            if first.delta is None
            else f"It protects {first.protects}; all ε are at δ = {shown_above(first.delta)}. {first.kept}.",
            f"{first.proven}. Model: {first.verdict}. The statement has the details.",
            *([] if first.fitted is None else [first.fitted]),
        ]
        return tuple(sentences)

    def _printed(self) -> Sequence[Section]:
        first = self.answers[0]
        unchecked = [] if first.unchecked is None else [first.unchecked]
        beside = [warning for warning in self.warnings if warning not in unchecked]
        return [[*lines(f"{self.title}:", *unchecked), *self._listed(), *lines(*self.terms), *warned(beside)]]

    def _listed(self) -> Sequence[Any]:
        """Return the answers as a table: a grid if two columns tell them apart, else a row for each."""
        if len(self.columns) == 2 and all(not isinstance(answer.value, tuple) for answer in self.answers):
            return self._grid()
        rows = {
            _texts(part): [answer.published, answer.off_by, "released before" if answer.reused else ""]
            for part, answer in zip(self.parts, self.answers, strict=True)
        }
        rows |= {_texts(name): ["no record", "", ""] for name in self.empty}
        listed = [[*map(brief, name), *rows[_texts(name)]] for name in self.places]
        return [PrintedTable([*self.columns, "answer", "off by less than", ""], listed)]

    def _grid(self) -> Sequence[Any]:
        """Return the rounded answers by two columns; the one with fewer values is across."""
        shown = {
            _tuple(part): answer.shown(answer.rounded) for part, answer in zip(self.parts, self.answers, strict=True)
        }
        shown |= dict.fromkeys(map(_tuple, self.empty), "no record")
        first, second = (list(dict.fromkeys(name[i] for name in sorted(shown, key=_place))) for i in range(2))
        across = 0 if len(first) < len(second) else 1
        values = {(name[1 - across], name[across]): text for name, text in shown.items()}
        head, rows = (first, second) if across == 0 else (second, first)
        widest = max(self.answers, key=lambda answer: answer.accuracy())
        table = [[brief(row), *(values.get((row, column), "") for column in head)] for row in rows]
        names = [f"{self.columns[1 - across]} \\ {self.columns[across]}", *map(brief, head)]
        return [PrintedTable(names, table), *lines(f"Each is off by less than {widest.off_by}.")]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --json` prints for a question by parts or windows."""
        answers = [answer.to_dict() for answer in self.answers]
        by = self.by if isinstance(self.by, str) else list(self.by)
        named = {"cells": self.cells, "empty": self.empty}
        listed = {name: [list(cell) for cell in cells] for name, cells in named.items() if cells}
        return {"kind": KIND, "schema": SCHEMA, "by": by, "answers": answers} | listed

    @classmethod
    def from_dict(cls, document: object) -> Answers:
        """Read answers from their JSON object; InvalidInputError for what is none."""
        read = documents.checked(document, KIND, SCHEMA)
        listed = validation.items("answers", read.get("answers"))
        named = {name: read.get(name, ()) for name in ("cells", "empty")}
        return cls(read.get("by", ""), tuple(map(Answer.from_dict, listed)), **named)


def _names(name: str, cells: object, width: int) -> tuple[tuple[Scalar, ...], ...]:
    """Return the names of windows, each a value for every column, without duplicates."""
    names = tuple(
        tuple(validation.scalar(name, value) for value in validation.items(name, cell))
        for cell in validation.items(name, cells)
    )
    if any(len(cell) != width for cell in names) or len(set(names)) < len(names):
        raise InvalidInputError(name_of(name) + " must name each window once, by a value for each column")
    return names


def _name(cell: tuple[Scalar, ...]) -> Name:
    return cell[0] if len(cell) == 1 else cell


def _tuple(name: Name) -> tuple[Scalar, ...]:
    return name if isinstance(name, tuple) else (name,)


def _texts(name: Name) -> tuple[str, ...]:
    return tuple(str(plain_number(value)) for value in _tuple(name))


def _place(name: tuple[Scalar, ...]) -> tuple[tuple[bool, Any], ...]:
    """Return a key that sorts names: numbers before texts."""
    return tuple((isinstance(value, str), value) for value in name)
