"""The options that describe a query on the command line, and the query they describe under a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, update_wrapper
from inspect import Parameter, Signature, signature
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bayesdp._support.validation import Scalar, brief, is_scalar
from bayesdp._support.words import listed
from bayesdp.cli import completion, options
from bayesdp.cli.wording import nearest
from bayesdp.errors import InvalidInputError, QueryError
from bayesdp.queries import Count, Query, query_from_dict
from bayesdp.queries.windows import CLOCKS

if TYPE_CHECKING:
    from bayesdp.models import Model

__all__ = ["QueryOptions", "Question", "end_named", "values_named"]

_RESERVED = {"help", "json"}
"""Options that some commands have under other names."""

_USUAL = "count"
"""The default kind of a query, where a command does not require one."""


@dataclass(frozen=True)
class Question:
    """The options of a query. The values to count are parsed under a model, which has the states.

    own: the options of its kind alone, by field; None for one that is not given.
    """

    kind: str
    states: str | None
    bounds: tuple[float, float] | None
    column: str | None
    where: str | None
    public_filter: bool
    size: int | None
    own: Mapping[str, Scalar | None]
    by_column: list[str] | None = None
    by_cells: list[str] | dict[str, Any] | None = None
    since: Scalar | None = None
    until: Scalar | None = None

    def under(self, model: Model) -> Query:
        """Return the query; QueryError for options that its kind does not use."""
        kinds = Query.kinds()
        if self.kind not in kinds:
            raise QueryError(f"--query must be one of {', '.join(kinds)}, not {brief(self.kind)}")
        query_type = kinds[self.kind]
        given = {"bounds": self.bounds, "states": self.states, "size": self.size, **self.own}
        for name, value in given.items():
            if value is not None and name not in _options(query_type):
                takers = [kind for kind, other in kinds.items() if name in _options(other)]
                raise QueryError(f"{_flag(name)} goes with {listed(takers)}, not with {self.kind}")
        if "bounds" in _options(query_type) and self.bounds is None:
            raise QueryError(f"a {self.kind} needs --bounds LOW HIGH to clip values to, such as --bounds 0 100")
        entries: dict[str, Any] = {"column": self.column, "where": self.where, "public_filter": self.public_filter}
        clocks = self.by_column is not None and set(self.by_column) <= {*CLOCKS, *self._cells_by_name}
        if (self.by_column is None) != (self.by_cells is None) and not clocks:
            raise QueryError(_without_cells(self.by_column))
        divided = {"by": self.by_column, "by_cells": self.by_cells, "since": self.since, "until": self.until}
        entries |= {name: value for name, value in divided.items() if value is not None}
        entries |= {name: value for name, value in given.items() if value is not None and name != "states"}
        if "states" in _options(query_type) and not self._condition_alone(query_type, model):
            entries |= query_type.entries_for(
                _implied(query_type, model) if self.states is None else values_named(self.states, model)
            )
        return query_from_dict({"query": self.kind, **entries})

    @property
    def _cells_by_name(self) -> dict[str, Any]:
        return self.by_cells if isinstance(self.by_cells, dict) else {}

    def _condition_alone(self, query_type: type[Query], model: Model) -> bool:
        """Whether --where alone determines what is counted: no value is given, and the model has no states."""
        named = self.column is not None or self.states is not None or bool(model.states)
        return issubclass(query_type, Count) and self.where is not None and not named


def _without_cells(columns: list[str] | None) -> str:
    """Return what is missing: the column of the values, or the values of the columns that are no clocks."""
    if columns is None:
        return "--by-cells lists the values of --by-column, which is missing; name a public column"
    column = next(name for name in columns if name not in CLOCKS)
    meant = nearest(column, CLOCKS)
    clocks = f"; did you mean the clock {meant}?" if meant else f"; only {listed(CLOCKS)} need no values"
    return f"--by-column {brief(column)} needs --by-cells A,B, the values of this column from a public list{clocks}"


class QueryOptions:
    """A command whose parameter `question` is replaced by the options of a query.

    Typer reads the parameters when the command runs, so that the kinds and options of extensions are included.
    """

    def __init__(self, command: Callable[..., None]) -> None:
        update_wrapper(self, command)
        self._command = command

    def __call__(self, **given: Any) -> None:
        """Run the command."""
        common = {option.name: given.pop(option.name) for option in _common()}
        own = {option.name: given.pop(option.name) for option in self._own()}
        nothing = self._optional and not any((*common.values(), *own.values()))
        kind = common.pop("query") or _USUAL
        self._command(**given, question=None if nothing else Question(kind, **common, own=own))

    @property
    def __signature__(self) -> Signature:
        """The parameters of the command, with the options of a query in place of `question`."""
        every: list[Parameter] = []
        for parameter in self._parameters.values():
            every += [*_common(self._optional), *self._own()] if parameter.name == "question" else [parameter]
        return Signature([parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in every])

    @cached_property
    def _parameters(self) -> Mapping[str, Parameter]:
        return signature(self._command, eval_str=True).parameters

    @property
    def _optional(self) -> bool:
        """Whether the query is optional: the parameter may be None."""
        return NoneType in get_args(self._parameters["question"].annotation)

    def _own(self) -> list[Parameter]:
        """Return the options of kinds of queries, without those that the command has itself."""
        taken = {*_RESERVED, *self._parameters, *(option.name for option in _common())}
        return [_own_option(name, meaning) for name, meaning in _declared().items() if name not in taken]


def _read(reader: Callable[[str, Any], Any]) -> Callable[..., Any]:
    """Return a callback that parses an option, except during shell completion."""

    def read(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
        return value if value is None or context.resilient_parsing else reader(max(option.opts, key=len), value)

    return read


_TEXT: Any = str | None
_PAIR: Any = tuple[str, str] | None


def _common(optional: bool = False) -> tuple[Parameter, ...]:
    """Return the options of every query for Typer. optional: whether --query may be omitted."""
    kinds = f"{listed(Query.kinds(), 'or')}."
    read, default = (_TEXT, None) if optional else (str, Parameter.empty)
    return (
        _option("query", read, default, metavar="KIND", help=kinds, autocompletion=completion.query_kinds),
        _option(
            "states",
            _TEXT,
            metavar="A,B",
            help="The values to count, or the cells of a histogram; the states of a chain by default.",
        ),
        _option(
            "bounds",
            _PAIR,
            metavar="LOW HIGH",
            help="The bounds to which the values of a sum or mean are clipped.",
            callback=_read(options.bounds),
        ),
        _option("column", _TEXT, metavar="NAME", help="The column of the query; by default, the column of the model."),
        _option("where", _TEXT, metavar="EXPRESSION", help="Include only the records that meet this condition."),
        _option("public_filter", bool, False, help="Declare that --where uses public columns only."),
        _option(
            "size",
            _TEXT,
            metavar="N",
            help="The public number of records, required for the noise on a mean.",
            callback=_read(options.whole),
        ),
        _option(
            "by_column",
            _TEXT,
            metavar="NAME,…",
            help="Public columns or clocks of the order (hour, weekday, date, week, month): one answer for each value.",
            callback=_read(options.split),
        ),
        _option(
            "by_cells",
            _TEXT,
            metavar="A,B",
            help="The values of --by-column, from a public list; of several columns as JSON: "
            '{"zone": [1, 2]}. Clocks need none.',
            callback=_read(_cells),
        ),
        _option(
            "since",
            _TEXT,
            metavar="FIRST",
            help="Only records from this value of the first order column on, such as 2012-10-01.",
            callback=_read(_end),
        ),
        _option(
            "until",
            _TEXT,
            metavar="END",
            help="Only records before this value of the first order column.",
            callback=_read(_end),
        ),
    )


def _declared() -> dict[str, str]:
    """Return the options that kinds of queries declare, with their help. Kinds may share an option."""
    declared: dict[str, dict[str, list[str]]] = {}
    for kind, query in Query.kinds().items():
        for name, meaning in query.options.items():
            declared.setdefault(name, {}).setdefault(meaning, []).append(kind)
    return {
        name: " ".join(f"{meaning.removesuffix('.')} ({', '.join(kinds)})." for meaning, kinds in meanings.items())
        for name, meanings in declared.items()
    }


def _own_option(name: str, meaning: str) -> Parameter:
    return _option(name, _TEXT, metavar="VALUE", help=meaning, callback=_read(_scalar))


def _option(name: str, read: Any, default: Any = None, **described: Any) -> Parameter:
    annotation = Annotated[read, typer.Option(_flag(name), **described)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _options(kind: type[Query]) -> set[str]:
    """Return the options of a kind of query, besides the common ones: --column, --where and --public-filter."""
    taken = {item.name for item in fields(kind)} & {"bounds", "size"} | ({"states"} if kind.counts_values else set())
    return taken | set(kind.options)


def _implied(kind: type[Query], assumed: Model) -> list[Scalar]:
    """Return the default values to count: all states for a query by cells, true for a chain of true and false."""
    states = list(assumed.states)
    if states and kind.by_cell:
        return states
    if len(states) == 2 and all(isinstance(state, bool) for state in states):
        return [True]
    some = (
        f": some of {', '.join(json.dumps(state) for state in states[:8])}" if states else ", such as --states active"
    )
    raise QueryError(f"a {kind.kind} needs --states, the values to count{some}")


def values_named(text: str, assumed: Model) -> list[Scalar]:
    """Return the states that `text` names: a JSON list without its brackets, or plain comma-separated texts."""
    written = _json(f"[{text}]")
    if isinstance(written, list) and written and all(map(is_scalar, written)):
        return [_state(value, json.dumps(value), assumed) for value in written]
    return [_state(part, part, assumed) for part in options.split("--states", text)]


def _state(value: Scalar, text: str, assumed: Model) -> Scalar:
    """Return the model's state that equals `value`, else the state with the same text, else the value itself."""
    states = list(assumed.states)
    if any(type(state) is type(value) and state == value for state in states):
        return value
    reads = text if isinstance(value, str) else json.dumps(value)
    alike: dict[str, Scalar] = {
        json.dumps(state): state for state in states if reads in (str(state), json.dumps(state))
    }
    if len(alike) > 1:
        raise QueryError(f"--states {reads} could be any of {', '.join(alike)}; write the one you mean as JSON")
    if alike:
        return next(iter(alike.values()))
    plain = _json(text)
    return plain if not states and is_scalar(plain) else value


def _cells(option: str, text: str) -> list[str] | dict[str, Any]:
    """Parse the values of a column, or a JSON object of those of several."""
    named = _json(text)
    if isinstance(named, dict):
        return named
    if text.lstrip().startswith("{"):
        raise InvalidInputError(f'{option} is not valid JSON: {brief(text)}; write it as {{"zone": ["A", "B"]}}')
    return options.split(option, text)


def _end(option: str, text: str) -> Scalar:
    """Parse an end of the order."""
    return end_named(text)


def end_named(text: str) -> Scalar:
    """Return an end of the order that was typed: a number, or a text such as a date.

    >>> end_named("5"), end_named("2012-10-01")
    (5, '2012-10-01')
    """
    plain = _json(text)
    return plain if isinstance(plain, int | float) and not isinstance(plain, bool) else text


def _scalar(option: str, text: str) -> Scalar:
    """Parse a JSON scalar; return any other text unchanged."""
    plain = _json(text)
    return plain if is_scalar(plain) else text


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
