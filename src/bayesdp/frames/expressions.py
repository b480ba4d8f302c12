"""Conditions such as `steps > 0 and room != "hall"`, in a small grammar of their own; never evaluated as Python.

condition   = conjunction { "or" conjunction }
conjunction = negation { "and" negation }
negation    = "not" negation | "(" condition ")" | comparison
comparison  = operand { ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=") operand }
            | operand [ "not" ] "in" "[" literal { "," literal } "]"
            | column
operand     = column | literal
literal     = number | text in quotes | true | false
column      = a name, or any name between backquotes
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from bayesdp._support.validation import Scalar, brief, plain_number
from bayesdp.errors import ExpressionError

if TYPE_CHECKING:
    import narwhals as nw

    from bayesdp.frames.source import LazyTable

__all__ = ["Condition", "canonical", "parse", "values_needed"]

_LONGEST = 10_000
"""The most characters of a condition."""

_DEEPEST = 50
"""The most nested parentheses: engines plan recursively, and Python allows about a thousand stack frames."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<name>[^\W\d]\w*)
    | (?P<quoted>`[^`]+`)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<sign><=|>=|==|!=|<>|[<>=()\[\],])
    )""",
    re.VERBOSE,
)

_SIGNS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "<": ("<", operator.lt),
    "<=": ("<=", operator.le),
    ">": (">", operator.gt),
    ">=": (">=", operator.ge),
    "==": ("==", operator.eq),
    "=": ("==", operator.eq),
    "!=": ("!=", operator.ne),
    "<>": ("!=", operator.ne),
}


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Condition(ABC):
    """A condition on records: true or false for each record with values in all of its columns."""

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The names of its columns."""

    @abstractmethod
    def expression(self, table: LazyTable) -> nw.Expr:
        """Return the condition as a Narwhals expression; FrameError or QueryError for comparisons across kinds.

        It is never null, and undefined where one of its columns is missing.
        """


@dataclass(frozen=True)
class Column(Condition):
    """A column: an operand, or a condition if it holds true and false."""

    name: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.name})

    def expression(self, table: LazyTable) -> nw.Expr:
        return table.decided(table.truth(self.name))

    def __str__(self) -> str:
        plain = re.fullmatch(r"[^\W\d]\w*", self.name) and self.name.lower() not in _RESERVED
        return self.name if plain else f"`{self.name}`"


Operand = Column | Scalar


@dataclass(frozen=True)
class Comparison(Condition):
    """Two operands with a sign between them, at least one of them a column."""

    left: Operand
    sign: str
    right: Operand

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(side.name for side in (self.left, self.right) if isinstance(side, Column))

    def expression(self, table: LazyTable) -> nw.Expr:
        left, right = self.left, self.right
        compared: nw.Expr
        if isinstance(left, Column) and isinstance(right, Column):
            compared = _SIGNS[self.sign][1](*table.pair(left.name, right.name))
        elif isinstance(left, Column):
            compared = _SIGNS[self.sign][1](table.column(left.name), table.value(left.name, cast("Scalar", right)))
        else:
            return Comparison(right, _MIRRORED.get(self.sign, self.sign), left).expression(table)
        return table.decided(compared)

    def __str__(self) -> str:
        return f"{_shown(self.left)} {self.sign} {_shown(self.right)}"


@dataclass(frozen=True)
class Membership(Condition):
    """A column and a list of values."""

    column: Column
    values: tuple[Scalar, ...]

    @property
    def columns(self) -> frozenset[str]:
        return self.column.columns

    def expression(self, table: LazyTable) -> nw.Expr:
        return table.decided(table.member(self.column.name, self.values))

    def __str__(self) -> str:
        return f"{self.column} in [{', '.join(map(_shown, self.values))}]"


@dataclass(frozen=True)
class _Every(Condition):
    parts: tuple[Condition, ...]
    word: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns for part in self.parts))

    def expression(self, table: LazyTable) -> nw.Expr:
        joined = operator.and_ if self.word == "and" else operator.or_
        expressions = [part.expression(table) for part in self.parts]
        while len(expressions) > 1:  # a balanced tree: a deep one is slow in Polars and too deep for other engines
            pairs = zip(expressions[::2], expressions[1::2], strict=False)
            expressions = [joined(*pair) for pair in pairs] + ([expressions[-1]] if len(expressions) % 2 else [])
        return expressions[0]

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" if isinstance(part, _Every) else str(part) for part in self.parts)


@dataclass(frozen=True)
class _Not(Condition):
    part: Condition

    @property
    def columns(self) -> frozenset[str]:
        return self.part.columns

    def expression(self, table: LazyTable) -> nw.Expr:
        return ~self.part.expression(table)

    def __str__(self) -> str:
        return f"not ({self.part})"


def canonical(condition: Condition) -> str:
    """Return a condition as text, the same for conditions that differ only in order, direction or number format.

    >>> canonical(parse("3.0 < a and b in [2, 1, 2]")) == canonical(parse("(b in [1, 2]) and a > 3"))
    True
    """
    if isinstance(condition, Comparison):
        left, sign, right = condition.left, condition.sign, condition.right
        if not isinstance(left, Column) or (isinstance(right, Column) and right.name < left.name):
            left, sign, right = right, _MIRRORED.get(sign, sign), left
        return f"{_named(left)} {sign} {_named(right)}"
    if isinstance(condition, Membership):
        values = sorted({_named(value) for value in condition.values})
        return f"{condition.column} == {values[0]}" if len(values) == 1 else f"{condition.column} in {values}"
    if isinstance(condition, _Every):
        return f"{condition.word}{sorted({canonical(part) for part in condition.parts})}"
    if isinstance(condition, _Not):
        return f"not ({canonical(condition.part)})"
    return str(condition)


def values_needed(condition: Condition) -> Mapping[str, frozenset[Scalar]]:
    """Return the only values of columns with which a condition may hold; nothing of a column that may have any value.

    >>> needed = values_needed(parse("a == 1 and b in [2, 3] and c > 4"))
    >>> {column: sorted(needed[column]) for column in sorted(needed)}
    {'a': [1], 'b': [2, 3]}
    """
    if isinstance(condition, Column):
        return {condition.name: frozenset({True})}
    if isinstance(condition, Membership):
        return {condition.column.name: frozenset(condition.values)}
    if isinstance(condition, Comparison) and condition.sign == "==":
        sides = (condition.left, condition.right), (condition.right, condition.left)
        return {
            one.name: frozenset({value})
            for one, value in sides
            if isinstance(one, Column) and not isinstance(value, Column)
        }
    if not isinstance(condition, _Every):
        return {}
    parts = [values_needed(part) for part in condition.parts]
    if condition.word == "and":
        return {column: values for part in reversed(parts) for column, values in part.items()}
    shared = frozenset.intersection(*(frozenset(part) for part in parts))
    return {column: frozenset().union(*(part[column] for part in parts)) for column in sorted(shared)}


def _named(operand: Operand) -> str:
    return _shown(operand if isinstance(operand, Column) else plain_number(operand))


def parse(text: str) -> Condition:
    """Read a condition.

    Raises ExpressionError, with the position of the error and what was expected there.

    >>> str(parse("steps>0 and not room in ['hall', \\"attic\\"]"))
    'steps > 0 and not (room in ["hall", "attic"])'
    >>> parse("__import__('os')")
    Traceback (most recent call last):
    ...
    bayesdp.errors.ExpressionError: cannot read "__import__('os')": expected the end after "__import__", found "("
    """
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError(f"a condition must be a text such as 'steps > 0', not {brief(text)}")
    if len(text) > _LONGEST:
        raise ExpressionError(f"a condition of {len(text)} characters is too long; the limit is {_LONGEST}")
    return _read(text)


@lru_cache(maxsize=256)
def _read(text: str) -> Condition:
    """Return a condition, which does not change; a release reads the same one several times."""
    return _Reader(text).read()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int


_RESERVED = frozenset({"and", "or", "not", "in", "true", "false"})
_END = "the end"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def read(self) -> Condition:
        condition = self._disjunction()
        if self._token.kind != "end":
            self._fail(_END)
        return condition

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _fail(self, expected: str) -> Any:
        token = self._token
        instead = _END if token.kind == "end" else f'"{token.text}"'
        read = self._text[: token.start].strip()
        after = f' after "{read[-30:]}"' if read else ""
        raise ExpressionError(f"cannot read {brief(self._text)}: expected {expected}{after}, found {instead}")

    def _word(self, *words: str) -> str | None:
        """Consume the next token if it is one of these words or signs."""
        token = self._token
        if token.kind in ("name", "sign") and token.text.lower() in words:
            self._next += 1
            return token.text.lower()
        return None

    def _joined(self, word: str, part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._word(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Every(tuple(parts), word)

    def _disjunction(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExpressionError(f"the condition is nested more than {_DEEPEST} deep")
        condition = self._joined("or", lambda: self._joined("and", self._negation))
        self._depth -= 1
        return condition

    def _negation(self) -> Condition:
        negated = False
        while self._word("not"):
            negated = not negated
        if self._word("("):
            condition = self._disjunction()
            if not self._word(")"):
                self._fail('")"')
        else:
            condition = self._comparison()
        return _Not(condition) if negated else condition

    def _comparison(self) -> Condition:
        left = self._operand()
        if isinstance(left, Column):
            outside = self._word("not") is not None
            if self._word("in"):
                member = Membership(left, self._values())
                return _Not(member) if outside else member
            if outside:
                self._fail('"in"')
        compared: list[Condition] = []
        while (sign := self._word(*_SIGNS)) is not None:
            right = self._operand()
            if not isinstance(left, Column) and not isinstance(right, Column):
                raise ExpressionError(f"{_shown(left)} {sign} {_shown(right)} compares no column; name one")
            compared.append(Comparison(left, _SIGNS[sign][0], right))
            left = right
        if not compared:
            return left if isinstance(left, Column) else self._fail("a comparison sign")
        return compared[0] if len(compared) == 1 else _Every(tuple(compared), "and")

    def _operand(self) -> Operand:
        token = self._token
        if token.kind == "quoted" or (token.kind == "name" and token.text.lower() not in _RESERVED):
            self._next += 1
            return Column(token.text.strip("`"))
        return self._literal("a column or a value")

    def _literal(self, expected: str) -> Scalar:
        token = self._token
        value: Scalar
        if token.kind == "number":
            value = _number(token.text)
        elif token.kind == "text":
            value = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        elif token.kind == "name" and token.text.lower() in ("true", "false"):
            value = token.text.lower() == "true"
        else:
            self._fail(expected)
        self._next += 1
        return value

    def _values(self) -> tuple[Scalar, ...]:
        opened = self._word("[", "(") or self._fail('"["')
        values = [self._literal("a value")]
        while self._word(","):
            values.append(self._literal("a value"))
        if not self._word("]" if opened == "[" else ")"):
            self._fail('"," or "]"')
        return tuple(values)


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while match := _TOKEN.match(text, position):
        kind = match.lastgroup or ""
        yield _Token(kind, match.group(kind), match.start(kind))
        position = match.end()
    if text[position:].strip():
        rest = text[position:].lstrip()
        raise ExpressionError(f"cannot read {brief(text)}: {brief(rest[:20])} is not part of a condition")
    yield _Token("end", "", len(text))


def _number(text: str) -> float | int:
    try:
        whole = int(text)
    except ValueError:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ExpressionError(f"{brief(text)} is too large a number") from None
        return value
    if not -(2**63) <= whole < 2**63:
        raise ExpressionError(f"{brief(text)} does not fit into 64 bits")
    return whole


def _shown(operand: Operand) -> str:
    if isinstance(operand, str):
        return '"' + operand.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(operand).lower() if isinstance(operand, bool) else str(operand)
