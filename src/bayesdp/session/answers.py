"""The answers to one question about several parts of a table, released together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp._support import documents, validation
from bayesdp._support.display import Displayed, PrintedTable, Section, lines, warned
from bayesdp._support.documents import Document
from bayesdp._support.messages import name_of
from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp.errors import InvalidInputError
from bayesdp.queries import Value
from bayesdp.rounding import shown_above, shown_odds
from bayesdp.session.answer import Answer
from bayesdp.session.parts import everywhere

__all__ = ["Answers"]

KIND, SCHEMA = "answers", 1


@dataclass(frozen=True)
class Answers(Displayed, Document):
    """One answer for each part, in the order in which the parts were named; each is an `Answer` of its own.

    by:      the public column that tells the parts apart.
    answers: `answers["A"]` is that about the part A, and iterating gives all of them.

    A record is in one part: `epsilon` and the guarantee of each answer hold for all of them together.
    """

    by: str
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        validation.text("by", self.by)
        object.__setattr__(self, "answers", tuple(validation.items("answers", self.answers)))
        if not self.answers or not all(isinstance(answer, Answer) for answer in self.answers):
            raise InvalidInputError(name_of("answers") + " must be a list of at least one answer")
        if any(answer.query.by != self.by or len(answer.query.parts) != 1 for answer in self.answers):
            raise InvalidInputError(f"every answer must be about one part by {self.by!r}")

    def __getitem__(self, part: Scalar) -> Answer:
        wanted = str(plain_number(part))
        for answer in self.answers:
            if answer.query.parts == (wanted,):
                return answer
        raise KeyError(part)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def values(self) -> Mapping[Scalar, Value]:
        """The noisy value of each part, as it came out."""
        return {part: answer.value for part, answer in zip(self.parts, self.answers, strict=True)}

    @property
    def parts(self) -> tuple[Scalar, ...]:
        """The names of the parts."""
        return tuple(cell for answer in self.answers for cell in answer.query.by_cells or ())

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
        """What must stand beside the numbers, each sentence once."""
        return tuple(dict.fromkeys(warning for answer in self.answers for warning in answer.warnings))

    @property
    def guarantee(self) -> str:
        """What an attacker can learn at most: that of the answer given last."""
        return max(self.answers, key=lambda answer: (answer.epsilon_total, answer.entry)).guarantee

    def _printed(self) -> Sequence[Section]:
        first = self.answers[0]
        about = everywhere(first.query).description
        rows = [
            [brief(part), answer.published, answer.off_by, "released before" if answer.reused else ""]
            for part, answer in zip(self.parts, self.answers, strict=True)
        ]
        listed = PrintedTable([self.by, "answer", "off by less than", ""], rows)
        sentences = [
            f"A record is in one part: all this cost ε = {shown_above(self.epsilon)} about each; {first.dataset} has "
            f"leaked ε = {shown_above(self.epsilon_total)} in all; remaining: {first.left}.",
            f"It protects {first.protects}: {shown_odds(self.epsilon_total)}."
            if first.delta is None
            else f"It protects {first.protects}; all ε are at δ = {shown_above(first.delta)}. {first.kept}.",
            f"{first.proven}. Model: {first.verdict}. The statement says more.",
            *([] if first.fitted is None else [first.fitted]),
        ]
        title = f"{about[:1].upper()}{about[1:]}, by {self.by}:"
        unchecked = [] if first.unchecked is None else [first.unchecked]
        beside = [warning for warning in self.warnings if warning not in unchecked]
        return [[*lines(title, *unchecked), listed, *lines(*sentences), *warned(beside)]]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `bayesdp release --json` prints for a question by parts."""
        answers = [answer.to_dict() for answer in self.answers]
        return {"kind": KIND, "schema": SCHEMA, "by": self.by, "answers": answers}

    @classmethod
    def from_dict(cls, document: object) -> Answers:
        """Read answers from their JSON object; InvalidInputError for what is none."""
        read = documents.checked(document, KIND, SCHEMA)
        listed = validation.items("answers", read.get("answers"))
        return cls(validation.text("by", read.get("by")), tuple(map(Answer.from_dict, listed)))
