"""Messages that keep the parameters they name as data, so that Python and the command line can each word them."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import Any

__all__ = ["Message", "Parameter", "Wordings", "in_python", "name_of", "param", "params"]


@dataclass(frozen=True)
class Parameter:
    """A parameter named in a message: a keyword in Python, an option of a command, an entry of a JSON document.

    name:    its name in Python.
    value:   the value to give it; None if none is suggested.
    like:    a placeholder for a value that the reader chooses, such as n.
    subject: whether it is the subject of a sentence; Python then writes the name without an equals sign.
    """

    name: str
    value: str | bool | None = None
    like: str = ""
    subject: bool = False

    def __str__(self) -> str:
        value = self.like if self.value is None else f'"{self.value}"' if isinstance(self.value, str) else self.value
        return self.name if self.subject else f"{self.name}={value}"


@dataclass(frozen=True)
class Wordings:
    """Words for Python, and others for the command line and JSON documents."""

    python: str
    elsewhere: str

    def __str__(self) -> str:
        return self.python


class Message(str):
    """A text in Python's words that keeps its parts when texts are added to it. An f-string keeps only the text.

    >>> message = "give " + param("size", like="n") + ", or say " + param("missing", "drop")
    >>> message
    'give size=n, or say missing="drop"'
    >>> [part.name for part in message.parts if isinstance(part, Parameter)]
    ['size', 'missing']
    """

    parts: tuple[str | Parameter | Wordings, ...]

    def __new__(cls, *parts: str | Parameter | Wordings) -> Message:
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = tuple(
            piece for part in parts for piece in (part.parts if isinstance(part, Message) else (part,))
        )
        return message

    def __add__(self, other: str) -> Message:
        return Message(self, other)

    def __radd__(self, other: str) -> Message:
        return Message(other, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts


def param(name: str, value: str | bool | None = None, *, like: str = "") -> Message:
    """Return a parameter to be given or left out, perhaps with its value.

    >>> print(param("step"), param("gaps", True), param("bounds", like="(low, high)"))
    step= gaps=True bounds=(low, high)
    """
    return Message(Parameter(name, value, like))


def params(sentence: str) -> Message:
    """Return a sentence in which names in braces are parameters to be given or left out.

    >>> print(params("{size} goes with {correlation}; leave it out"))
    size= goes with correlation=; leave it out
    """
    pieces = Formatter().parse(sentence)
    return Message(*(part for text, name, *_ in pieces for part in (text, Parameter(name) if name else "") if part))


def name_of(name: str) -> Message:
    """Return the parameter that is the subject of a sentence; a text that is not an identifier is unchanged.

    >>> print(name_of("tau") + " must be greater than 0, not -1")
    tau must be greater than 0, not -1
    >>> name_of("edges[0]").parts
    ('edges[0]',)
    """
    return Message(Parameter(name, subject=True) if name.isidentifier() else name)


def in_python(words: str, *, elsewhere: str = "") -> Message:
    """Return words for Python, and others (by default none) for the command line and JSON documents.

    >>> print("save the file with decimal points" + in_python(", or pass a frame"))
    save the file with decimal points, or pass a frame
    """
    return Message(Wordings(words, elsewhere))
