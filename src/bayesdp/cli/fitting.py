"""`bayesdp fit` and `bayesdp diagnose`, with the options that models declare for their `fit`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bayesdp._support.validation import brief
from bayesdp._support.words import listed
from bayesdp.cli import options
from bayesdp.errors import InvalidInputError, ModelError

if TYPE_CHECKING:
    from bayesdp.diagnostics import Diagnosis
    from bayesdp.frames.source import Missing
    from bayesdp.models import FitOption, Model
    from bayesdp.session.private_fit import Fit
    from bayesdp.session.private_fit_preview import FitPreview

__all__ = ["OfferingModelOptions", "Privately", "diagnosis", "fitted", "naming"]


_first_word: ContextVar[str | None] = ContextVar("_first_word", default=None)


@contextmanager
def naming(arguments: Sequence[str]) -> Iterator[None]:
    """Make the named command known while commands are built; during shell completion there is none."""
    token = _first_word.set(arguments[0] if arguments else None)
    try:
        yield
    finally:
        _first_word.reset(token)


class OfferingModelOptions:
    """A command whose `**chosen` is replaced by the options of every model with a `fit`, including extensions.

    wanted: which of the options the command has.

    Models take a while to load, so they are not loaded for another command.
    """

    def __init__(self, command: Callable[..., None], wanted: Callable[[FitOption], bool] = lambda option: True) -> None:
        update_wrapper(self, command)
        self.command, self.wanted = command, wanted

    def __call__(self, **given: Any) -> None:
        """Run the command."""
        self.command(**given)

    @property
    def __signature__(self) -> Signature:
        """The parameters of the command, with those of the registered models in place of `**chosen`."""
        own = signature(self.command, eval_str=True)
        *fixed, _ = own.parameters.values()
        places = [place for place, parameter in enumerate(fixed) if parameter.default is Parameter.empty]
        after = places[-1] + 1
        takers = _by_name(self.wanted) if _first_word.get() in (None, self.command.__name__) else {}
        offered = [_parameter(name, options) for name, options in takers.items()]
        return own.replace(parameters=[*fixed[:after], *offered, *fixed[after:]])


def _fittable() -> dict[str, type[Model]]:
    """Return the models that can be fitted, by kind."""
    from bayesdp.models import Model

    return {kind: model for kind, model in Model.types().items() if model.fit_options}


def _by_name(wanted: Callable[[FitOption], bool]) -> dict[str, dict[str, FitOption]]:
    """Return the options by name, each with its declaration by kind; options of all kinds come last."""
    options: dict[str, dict[str, FitOption]] = {}
    for kind, model in _fittable().items():
        for option in filter(wanted, model.fit_options):
            options.setdefault(option.name, {})[kind] = option
    return dict(sorted(options.items(), key=lambda item: len(item[1]) == len(_fittable())))


def _parameter(name: str, takers: Mapping[str, FitOption]) -> Parameter:
    """Return an option for Typer; its help names the models that accept it, unless all do."""
    meanings: dict[str, list[str]] = {}
    for kind, option in takers.items():
        meanings.setdefault(option.help, []).append(kind)
    shared = len(meanings) == 1 and len(takers) == len(_fittable())
    lines = meanings if shared else [f"{text.removesuffix('.')} ({', '.join(of)})." for text, of in meanings.items()]
    first = next(iter(takers.values()))
    if first.reads == "flag":
        flag = Annotated[bool, typer.Option(first.flag, help=" ".join(lines))]
        return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation=flag)
    read: Any = list[str] | None if first.reads == "columns" else str | None
    typed = Annotated[read, typer.Option(first.flag, metavar=first.metavar, help=" ".join(lines))]
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=first.default, annotation=typed)


def _given(option: FitOption, value: Any) -> bool:
    return value not in (None, [], False, option.default)


def _read(option: FitOption, value: Any) -> Any:
    """Parse the value of an option for `fit`."""
    if option.reads == "columns":
        return options.columns(option.flag, value)
    if option.reads == "whole":
        return options.whole(option.flag, value)
    return options.number(option.flag, value) if option.reads == "number" else value


def fitted(data: options.Source, kind: str, chosen: Mapping[str, Any]) -> Model:
    """Fit a model of a kind with the given options; options of other kinds are an error."""
    given = _options_given(kind, chosen)
    return _fittable()[kind].fit(data, **given)


@dataclass(frozen=True)
class Privately:
    """The options of `bayesdp fit --private-tau` besides those of the model; None for one that is not given."""

    tau: str | None
    odds_ceiling: str | None
    states: str | None
    correlation_ceiling: str | None
    size: str | None
    bounds: tuple[str, str] | None
    dataset: str | None
    budget: str | None
    ledger: str | None
    by: str | None
    separate_because: str | None
    public: list[str] | None
    anyway: bool | None
    dry_run: bool | None

    def __bool__(self) -> bool:
        """Whether --private-tau is given; without it, the other options are an error."""
        named = [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value is not None]
        if named and self.tau is None:
            raise InvalidInputError(f"{named[0]} goes with --private-tau, a fit that is a release")
        return self.tau is not None

    def fitted(self, data: options.Source, kind: str, chosen: Mapping[str, Any]) -> Fit | FitPreview:
        """Fit the model by a release that is charged to the ledger, or preview its result and cost."""
        from bayesdp.cli import releasing

        given = _options_given(kind, {**chosen, "credibility": None})
        if kind not in _LEARNERS:
            raise InvalidInputError(f"--private-tau goes with --model {listed(_LEARNERS, 'or')}, not with {kind}")
        if "merge" in given:
            raise InvalidInputError("--merge depends on the counts, which --private-tau keeps private; leave it out")
        needed, refused, opened = _LEARNERS[kind]
        if self.tau is None or self.dataset is None or any(getattr(self, name) is None for name in needed):
            flags = listed([*(f"--{name.replace('_', '-')}" for name in needed), "--dataset"])
            raise InvalidInputError(f"a private fit of --model {kind} needs {flags}")
        for name in refused:
            if getattr(self, name) is not None:
                raise InvalidInputError(f"--{name.replace('_', '-')} does not go with --model {kind}")
        specified = {
            "tau": options.number("--private-tau", self.tau),
            "credibility": options.number("--credibility", chosen["credibility"]),
            "within": given.pop("within", None),
            "bounds": None if self.bounds is None else options.bounds("--bounds", self.bounds),
        }
        budget = None if self.budget is None else options.positive("--budget", self.budget)
        reported: dict[str, Any] = {"by": self.by, "separate_because": self.separate_because}
        reported |= {"public": options.columns("--public", self.public)}
        place, model = options.ledger(self.ledger), opened(self, given)
        with releasing.session(data, model, place, self.dataset, budget, **reported) as session:
            if self.dry_run:
                return session.preview_fit(**specified)
            return session.fit(**specified, anyway=bool(self.anyway))


def _odds_chain(reported: Privately, given: dict[str, Any]) -> Model:
    """Return the chain from which a private fit starts: with the ceiling, its states and its columns."""
    from bayesdp.cli.query_options import values_named
    from bayesdp.models import OddsChain

    chain = OddsChain(
        options.number("--odds-ceiling", reported.odds_ceiling or ""),
        memory=given.pop("memory", 1),
        record=given.pop("record", "record"),
    )
    chain = replace(chain, states=() if reported.states is None else values_named(reported.states, chain.states))
    return chain.located(**given)


def _odds_series(reported: Privately, given: dict[str, Any]) -> Model:
    """Return the series from which a private fit starts: with its ceilings, its states and its columns."""
    from bayesdp.cli.query_options import values_named
    from bayesdp.models import OddsSeries

    ceiling = [options.number("--odds-ceiling", text) for text in (reported.odds_ceiling or "").split(",")]
    if given.pop("reach", str(len(ceiling))) != str(len(ceiling)):
        raise InvalidInputError(
            "--odds-ceiling gives the largest odds ratio for each distance, and so the reach; leave --reach out"
        )
    unordered = OddsSeries(ceiling, record=given.pop("record", "record"))
    states = (False, True) if reported.states is None else values_named(reported.states, unordered.states)
    return replace(unordered, states=states, additive=bool(given.pop("additive", False))).located(**given)


def _normal_groups(reported: Privately, given: dict[str, Any]) -> Model:
    """Return the groups from which a private fit starts: with the ceiling, the largest size and their columns."""
    from bayesdp.models import GaussianGroups

    groups = GaussianGroups(
        correlation=options.number("--correlation-ceiling", reported.correlation_ceiling or "1"),
        size=options.whole("--size", reported.size or ""),
        record=given.pop("record", "record"),
    )
    return groups.located(**given)


_LEARNERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Privately, dict[str, Any]], Model]]] = {
    "odds-chain": (("odds_ceiling",), ("correlation_ceiling", "size", "bounds"), _odds_chain),
    "odds-series": (("odds_ceiling",), ("correlation_ceiling", "size", "bounds"), _odds_series),
    "gaussian": (("size", "bounds"), ("odds_ceiling", "states"), _normal_groups),
}
"""The models with a private fit: the options each requires, those it refuses, and the model it starts from."""


def _options_given(kind: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options for `fit`; raise an error for those of other kinds and for missing ones."""
    known = _fittable()
    if kind not in known:
        raise InvalidInputError(
            f"--model must be {listed(known, 'or')}, not {brief(kind)}; other models are written by hand"
        )
    declared = {option.name: option for option in known[kind].fit_options}
    for name, takers in _by_name(lambda option: True).items():
        option = declared.get(name) or next(iter(takers.values()))
        if name not in declared and _given(option, chosen[name]):
            raise InvalidInputError(f"{option.flag} does not go with --model {kind}")
    if any(option.required and not _given(option, chosen[name]) for name, option in declared.items()):
        needed = listed(option.flag for option in declared.values() if option.required)
        examples = ((option.flag, option.example) for option in declared.values() if option.example is not None)
        such = " ".join(f"{flag} {shlex.quote(example)}" for flag, example in examples)
        article = "an" if kind[0] in "aeio" else "a"
        raise InvalidInputError(f"{article} {kind} model needs {needed}" + (f", such as {such}" if such else ""))
    return {name: _read(option, chosen[name]) for name, option in declared.items() if _given(option, chosen[name])}


def diagnosis(model: Model, data: options.Source, missing: str | None, chosen: Mapping[str, Any]) -> Diagnosis:
    """Diagnose a model on a table, on the columns it was fitted on or those that the options name.

    If there is no diagnosis, check whether a session would accept the table.
    """
    offered = _by_name(lambda option: option.locates)
    named = {name: value for name, value in chosen.items() if value}
    for name in named:
        if model.fit_options and model.kind not in offered[name]:
            raise InvalidInputError(f"--{name.replace('_', '-')} does not go with a {model.kind} model")
    options_of = {name: next(iter(takers.values())) for name, takers in offered.items()}
    if model.no_diagnosis is not None:
        from bayesdp.session.prepare import check_table

        check_table(data, model, missing=cast("Missing | None", missing))
        raise ModelError(f"a session would open on this table, but {model.no_diagnosis}")
    return model.diagnose(data, missing=missing, **{name: _read(options_of[name], named[name]) for name in named})
