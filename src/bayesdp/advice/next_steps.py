"""Next steps in code: a fit of the recommended model, and a first release under it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import singledispatch
from pathlib import Path
from typing import Any

from bayesdp.models import ArbitraryGroups, GaussianSeries, Independent, MarkovChain, Model, OddsChain, OddsSeries
from bayesdp.models.strata import SPARSE
from bayesdp.queries import Query

__all__ = ["NextSteps", "built_in_python", "built_in_shell", "query_in_python", "query_in_shell", "released_by"]

_TABLE, _FILE, _MODEL = "table", "DATA", "MODEL.json"


@dataclass(frozen=True)
class NextSteps:
    """The arguments of `advise`, from which code for the same fit is written.

    path:  the path of the table, if it is a file.
    given: the options as they were given.
    delta: the δ of the promise, if it has one.
    """

    path: str | Path | tuple[str, ...] | None
    given: Mapping[str, Any]
    credibility: float
    delta: float | None = None

    def options(self, model: Model) -> dict[str, Any]:
        """Return the arguments of the model's `fit`; none for a model that is not fitted."""
        takes = {option.name for option in model.fit_options}
        column = {"value": model.column} if "value" in takes else {}
        given = {name: value for name, value in self.given.items() if name in takes}
        credibility = {"credibility": self.credibility} if "credibility" in takes else {}
        return column | given | _chosen(model) | credibility

    def fits(self, model: Model) -> bool:
        """Return whether the model is fitted and all required arguments of its `fit` are known."""
        if _written.dispatch(type(model)) is not _written.dispatch(object):
            return False
        known = self.options(model)
        return bool(model.fit_options) and all(option.name in known for option in model.fit_options if option.required)

    def model_in_python(self, model: Model) -> str:
        """Return two lines of Python that make the model."""
        source = (
            "..." if self.path is None else repr(list(self.path) if isinstance(self.path, tuple) else str(self.path))
        )
        if not self.fits(model):
            return f"{_TABLE} = {source}\nmodel = {_written(model)}"
        arguments = [_TABLE, *(f"{name}={_literal(value)}" for name, value in self.options(model).items())]
        return f"{_TABLE} = {source}\nmodel = {_type_in_python(type(model))}.fit({', '.join(arguments)})"

    def model_in_shell(self, model: Model) -> str:
        """Return a command that writes the model to MODEL.json."""
        if not self.fits(model):
            return built_in_shell(model)
        data = _FILE if self.path is None or isinstance(self.path, tuple) else shlex.quote(str(self.path))
        flags = (_flag(name, value) for name, value in self.options(model).items())
        return f"bayesdp fit {data} --model {model.kind} {' '.join(flags)} -o {_MODEL}"

    def python(self, model: Model, query: Query, epsilon: float, *, credible: bool = False) -> str:
        """Return Python that makes the model and a release under it.

        credible: whether the price of the model includes the credibility, which the session then needs, too.
        """
        credibility = f", credibility={self.credibility:g}" if credible else ""
        credibility += "" if self.delta is None else f", delta={self.delta:g}"
        return "\n".join(
            [
                "import bayesdp as bdp",
                self.model_in_python(model),
                f'with bdp.Session({_TABLE}, model, epsilon={epsilon:g}, dataset="NAME"{credibility}) as session:',
                f"    print(session.{released_by(query)}({query_in_python(query)}, epsilon={epsilon:g}))",
            ]
        )

    def shell(self, model: Model, query: Query, epsilon: float, *, credible: bool = False) -> str:
        """Return commands that do the same."""
        credibility = f" --credibility {self.credibility:g}" if credible else ""
        credibility += "" if self.delta is None else f" --budget-delta {self.delta:g}"
        data = _FILE if self.path is None or isinstance(self.path, tuple) else shlex.quote(str(self.path))
        return "\n".join(
            [
                self.model_in_shell(model),
                f"bayesdp release {data} --model {_MODEL} {query_in_shell(query)} --epsilon {epsilon:g} --dataset NAME "
                f"--budget {epsilon:g}{credibility}",
            ]
        )


@singledispatch
def _chosen(model: Model) -> dict[str, Any]:
    """Return the arguments of `fit` that `advise` chose for a type of model; by default none."""
    return {}


@_chosen.register(MarkovChain)
def _of_chain(model: MarkovChain) -> dict[str, Any]:
    zeros = model.counts is not None and not _all_positive(model.counts)
    return _memory(model.memory) | ({"smoothing": 0.5} if zeros else {})


@_chosen.register(OddsChain)
def _of_odds(model: OddsChain) -> dict[str, Any]:
    return _memory(model.memory) | ({"within": list(model.within), "merge": SPARSE} if model.within else {})


@_chosen.register(OddsSeries)
def _of_odds_by_distance(model: OddsSeries) -> dict[str, Any]:
    within = () if model.fitted is None else model.fitted.within
    chosen: dict[str, Any] = {"reach": len(model.odds)} | ({"within": list(within)} if within else {})
    return chosen | ({"additive": True} if model.additive else {})


@_chosen.register(GaussianSeries)
def _of_series(model: GaussianSeries) -> dict[str, Any]:
    return {"order": len(model.coefficients)}


def _memory(records: int) -> dict[str, Any]:
    return {"memory": records} if records > 1 else {}


@singledispatch
def _written(model: Model) -> str:
    """Return Python that creates a model without a fit; by default from its JSON object."""
    return f"bdp.Model.from_dict({_plain(model)!r})"


@_written.register(Independent)
@_written.register(ArbitraryGroups)
def _by_hand(model: Independent | ArbitraryGroups) -> str:
    return built_in_python(type(model), {name: value for name, value in _plain(model).items() if name != "type"})


def _type_in_python(model: type[Model]) -> str:
    """Return Python for the type of a model; types from outside bayesdp are looked up by their kind."""
    ours = model.__module__.startswith("bayesdp.")
    return f"bdp.{model.__name__}" if ours else f"bdp.Model.types()[{model.kind!r}]"


def built_in_python(model: type[Model], arguments: Mapping[str, Any]) -> str:
    """Return Python that creates a model without a fit.

    >>> built_in_python(ArbitraryGroups, {"size": 3})
    'bdp.ArbitraryGroups(size=3)'
    """
    return f"bdp.{model.__name__}({', '.join(f'{name}={_literal(value)}' for name, value in arguments.items())})"


def built_in_shell(model: Model) -> str:
    """Return a command that writes a model to MODEL.json."""
    return f"echo {shlex.quote(json.dumps(_plain(model)))} > {_MODEL}"


def _plain(model: Model) -> dict[str, Any]:
    return {name: value for name, value in model.identity.items() if name != "schema"}


def _all_positive(counts: Any) -> bool:
    return all(_all_positive(part) for part in counts) if isinstance(counts, Sequence) else counts > 0


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def query_in_python(query: Query) -> str:
    """Return Python for a question.

    >>> from bayesdp import Sum
    >>> query_in_python(Sum("height", bounds=(0, 100)))
    'bdp.Sum("height", bounds=[0.0, 100.0])'
    """
    given = [(item.name, getattr(query, item.name), item.default) for item in fields(query)]
    if query.part_column is None and query.listed:
        given = [(name, dict(query.listed) if name == "by_cells" else value, usual) for name, value, usual in given]
    named = [f"{name}={_literal(value)}" for name, value, usual in given if name != "column" and value != usual]
    column = [] if query.column is None else [_literal(query.column)]
    return f"bdp.{type(query).__name__}({', '.join([*column, *named])})"


def released_by(query: Query) -> str:
    """Return the name of the method of a session that answers a question: `release`, or `release_by` for several parts.

    >>> from bayesdp import Count
    >>> released_by(Count("on", equals=True)), released_by(Count("on", equals=True, by="hour"))
    ('release', 'release_by')
    """
    return "release_by" if any(len(query.listed.get(name, ())) != 1 for name in query.by_columns) else "release"


def _flag(name: str, value: Any) -> str:
    if value is True:
        return f"--{name.replace('_', '-')}"
    several = isinstance(value, Sequence) and not isinstance(value, str)
    text = ",".join(map(str, value)) if several else str(value)
    return f"--{name.replace('_', '-')} {shlex.quote(text)}"


def query_in_shell(query: Query) -> str:
    """Return the options of a question on the command line.

    >>> from bayesdp import Count
    >>> query_in_shell(Count("on", equals=True))
    '--query count --column on --states true'
    """
    words = [f"--query {query.kind}"]
    if query.column is not None:
        words.append(_flag("column", query.column))
    if query.counts_values:
        listed = ",".join(json.dumps(value, ensure_ascii=False) for value in query.values)
        words.append(f"--states {shlex.quote(listed)}")
    if query.by_columns:
        words.append(_flag("by-column", query.by_columns))
    if query.part_column is not None and not any("," in part for part in query.parts):
        words.append(_flag("by-cells", query.parts))
    elif query.listed:
        words.append(_flag("by-cells", json.dumps(query.listed, ensure_ascii=False)))
    taken = {"column", "equals", "isin", "cells", "by", "by_cells"}
    for item in fields(query):
        value = getattr(query, item.name)
        if item.name in taken or value is None or value == item.default:
            continue
        if isinstance(value, bool):
            words.append(f"--{item.name.replace('_', '-')}")
        elif item.name == "bounds":
            words.append(f"--bounds {value[0]:.17g} {value[1]:.17g}")
        else:
            words.append(_flag(item.name, value))
    return " ".join(words)
