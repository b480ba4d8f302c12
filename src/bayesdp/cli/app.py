"""The commands. Each parses its options, calls one function of the library and prints what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp import __version__
from bayesdp.cli import options

if TYPE_CHECKING:
    from bayesdp.calibration import Calibration
    from bayesdp.documents import Document
    from bayesdp.leakage.report import Leakage

__all__ = ["app"]

app = typer.Typer(
    name="bayesdp",
    help="Differential privacy that holds when records are correlated.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ModelPath = Annotated[str, typer.Argument(metavar="MODEL.json", help="The correlation model, a JSON file.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="The table: a .parquet or .csv file, or a glob of them.")]
QueryKind = Annotated[str, typer.Option("--query", metavar="KIND", help="count, sum, mean or histogram.")]
States = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="The values to count, or the cells of a histogram; comma-separated."),
]
Bounds = Annotated[
    tuple[str, str] | None, typer.Option(metavar="LOW HIGH", help="What the values of a sum or mean are clipped to.")
]
Column = Annotated[str | None, typer.Option(metavar="NAME", help="The column asked about; by default the model's.")]
Where = Annotated[str | None, typer.Option(metavar="EXPRESSION", help="Ask only about records that pass this filter.")]
PublicFilter = Annotated[bool, typer.Option("--public-filter", help="The filter uses public attributes only.")]
Size = Annotated[str | None, typer.Option(metavar="N", help="The public number of records, for the noise on a mean.")]
Beta = Annotated[str, typer.Option(metavar="β", help="How often the error may reach alpha.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def bayesdp(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Say what a release of correlated data leaks, and how much noise a promise needs."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
def leakage(
    model: ModelPath,
    query: QueryKind,
    tau: Annotated[str, typer.Option(metavar="τ", help="The ordinary differential privacy of the release.")],
    states: States = None,
    bounds: Bounds = None,
    column: Column = None,
    where: Where = None,
    public_filter: PublicFilter = False,
    size: Size = None,
    as_json: AsJson = False,
) -> None:
    """What does a τ-DP release leak?"""
    from bayesdp import leakage as leak

    assumed = options.model(model)
    asked = options.query(query, assumed, states, bounds, column, where, public_filter, size)
    _print(leak(assumed, asked, tau=options.number("--tau", tau)), as_json)


@app.command()
def calibrate(
    model: ModelPath,
    query: QueryKind,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="The leakage promised.")] = None,
    alpha: Annotated[str | None, typer.Option(metavar="α", help="Or the largest error wanted.")] = None,
    beta: Beta = "0.05",
    states: States = None,
    bounds: Bounds = None,
    column: Column = None,
    where: Where = None,
    public_filter: PublicFilter = False,
    size: Size = None,
    credibility: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Keep the promise for this share of a fitted model's posterior.")
    ] = None,
    draws: Annotated[str | None, typer.Option(metavar="N", help="How many models to draw for that.")] = None,
    as_json: AsJson = False,
) -> None:
    """How much noise keeps a promise of ε, or what does an accuracy cost?"""
    from bayesdp.calibration import calibrate as choose

    assumed = options.model(model)
    asked = options.query(query, assumed, states, bounds, column, where, public_filter, size)
    target: dict[str, Any] = options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {} if credibility is None else {"credibility": options.number("--credibility", credibility)}
    target |= {} if draws is None else {"draws": options.whole("--draws", draws)}
    _print(choose(assumed, asked, **target, beta=options.number("--beta", beta)), as_json)


@app.command()
def compare(
    model: ModelPath,
    query: QueryKind,
    epsilon: Annotated[str, typer.Option(metavar="ε,ε", help="The promises to compare at; comma-separated.")],
    beta: Beta = "0.05",
    states: States = None,
    bounds: Bounds = None,
    column: Column = None,
    where: Where = None,
    public_filter: PublicFilter = False,
    size: Size = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Also draw it: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Every theorem side by side."""
    from bayesdp.comparison import compare as all_theorems

    assumed = options.model(model)
    asked = options.query(query, assumed, states, bounds, column, where, public_filter, size)
    epsilons = options.numbers("--epsilon", epsilon)
    found = all_theorems(assumed, asked, epsilons=epsilons, beta=options.number("--beta", beta))
    if plot is not None:
        found.plot(plot)
    print(found.to_json(indent=2) if as_json else found.table())


@app.command()
def fit(
    data: Data,
    model: Annotated[str, typer.Option(metavar="KIND", help="markov or gaussian.")],
    state: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="markov: a column, or a condition such as 'steps > 0'.")
    ] = None,
    order_by: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="markov: the columns that put records in order.")
    ] = None,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="markov: the columns that tell independent chains apart.")
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="STEP", help="markov: the spacing of the order column: 5, 5m, 1d.")
    ] = None,
    smoothing: Annotated[str, typer.Option(metavar="X", help="markov: added to every count.")] = "0",
    value: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="gaussian: the column; several: one row a group.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="gaussian: the columns that tell groups apart.")
    ] = None,
    role: Annotated[str | None, typer.Option(metavar="NAME", help="gaussian: the column of roles.")] = None,
    missing: Annotated[
        str, typer.Option(metavar="RULE", help="error, or drop: leave records with missing values out.")
    ] = "error",
    record: Annotated[
        str, typer.Option(metavar="NAME", help='What one record is, as in "5-minute interval".')
    ] = "record",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL.json", help="Where to write the model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a model from a table, and say whether the table looks like it."""
    from bayesdp.cli import fitting
    from bayesdp.documents import write

    chosen = fitting.Choice(
        state=state,
        order_by=options.columns("--order-by", order_by),
        entity=options.columns("--entity", entity),
        step=step,
        smoothing=options.number("--smoothing", smoothing),
        value=options.columns("--value", value),
        group=options.columns("--group", group),
        role=role,
        missing=missing,
        record=record,
    )
    fitted = fitting.fitted(data, model, chosen)
    if output is not None:
        write(output, fitted)
    if as_json:
        print(fitted.to_json(indent=2))
        return
    print(f"{fitted.summary()}\n\n{fitted.diagnose(data)}")
    print(
        f"\nThe model is in {output}."
        if output is not None
        else "\nThe model was not written; -o MODEL.json does that."
    )


@app.command()
def diagnose(
    model: Annotated[str, typer.Argument(metavar="MODEL.json", help="A model that was fitted.")],
    data: Data,
    as_json: AsJson = False,
) -> None:
    """Does a table look as a fitted model assumes?"""
    from bayesdp.cli import fitting

    print(_text(fitting.diagnosis(options.model(model), data), as_json))


def _text(found: Document, as_json: bool) -> str:
    return found.to_json(indent=2) if as_json else str(found)


def _print(found: Leakage | Calibration, as_json: bool) -> None:
    print(found.to_json(indent=2) if as_json else f"{found}\n\n{found.table()}")
