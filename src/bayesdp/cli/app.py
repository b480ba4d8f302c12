"""The commands. Each parses its options, calls one function of the library and prints what it returns."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp import __version__
from bayesdp._support.files import refuse_overwriting, refuse_replacing
from bayesdp._support.validation import escaped
from bayesdp.cli import completion, fitting, options
from bayesdp.cli.budget import budget_app
from bayesdp.cli.parameters import (
    AsJson,
    Beta,
    BudgetDelta,
    Credibility,
    Data,
    Dataset,
    Engine,
    Growing,
    LedgerUrl,
    Master,
    Missing,
    ModelPath,
    Plot,
    Public,
    Separate,
    text_of,
)
from bayesdp.cli.query_options import QueryOptions, Question

if TYPE_CHECKING:
    from bayesdp.calibration.calibrate import Calibration
    from bayesdp.models import Model
    from bayesdp.theorems.leakage import Leakage

__all__ = ["app"]

app = typer.Typer(
    name="bayesdp",
    help="Differential privacy that holds when records are correlated.",
    suggest_commands=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(budget_app, name="budget")


@app.callback(invoke_without_command=True)
def bayesdp(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Compute what a release of correlated data leaks, and how much noise a promise needs."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
@QueryOptions
def leakage(
    model: ModelPath,
    question: Question,
    tau: Annotated[
        str, typer.Option(metavar="τ", help="The privacy parameter of the release, as ordinary DP states it.")
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="I", help="Compute only what one adversary learns about record I (counted from 0)."),
    ] = None,
    known: Annotated[str | None, typer.Option(metavar="J,K", help="The records that adversary knows exactly.")] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compute what a τ-DP release leaks."""
    from bayesdp import leakage as leak

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    one = options.adversary(target, known)
    leaked = leak(assumed, asked, tau=options.number("--tau", tau), **one)
    if plot is not None:
        leaked.plot(plot)
    _print(leaked, as_json)


@app.command(short_help="Compute the noise that keeps a promise of ε, or the cost of an accuracy.")
@QueryOptions
def calibrate(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="The promise: how much may leak.")] = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="α", help="The largest error wanted, instead of --epsilon.")
    ] = None,
    beta: Beta = "0.05",
    credibility: Credibility = None,
    draws: Annotated[
        str | None, typer.Option(metavar="N", help="The number of models to draw for --credibility.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compute the noise that keeps a promise of ε, or what an accuracy costs."""
    from bayesdp.calibration.calibrate import calibrate as choose

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    target: dict[str, Any] = options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"credibility": options.credibility(credibility)}
    target |= {} if draws is None else {"draws": options.natural("--draws", draws)}
    chosen = choose(assumed, asked, **target, beta=options.number("--beta", beta))
    if plot is not None:
        chosen.plot(plot)
    _print(chosen, as_json)


@app.command()
@QueryOptions
def compare(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[str, typer.Option(metavar="ε,ε", help="The promises at which to compare, separated by commas.")],
    beta: Beta = "0.05",
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare all theorems side by side."""
    from bayesdp.calibration.comparison import compare as all_theorems

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    epsilons = options.numbers("--epsilon", epsilon)
    comparison = all_theorems(assumed, asked, epsilons=epsilons, beta=options.number("--beta", beta))
    if plot is not None:
        comparison.plot(plot)
    print(text_of(comparison, as_json))


@app.command(short_help="Describe the worst attacker, his success, and what leaks at least.")
@QueryOptions
def audit(
    model: ModelPath,
    question: Question,
    tau: Annotated[str | None, typer.Option(metavar="τ", help="Audit an ordinary τ-DP release.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="ε", help="Audit the release that keeps this promise, instead of --tau.")
    ] = None,
    runs: Annotated[str, typer.Option(metavar="N", help="The number of simulated attacks and releases.")] = "20000",
    confidence: Annotated[
        str, typer.Option(metavar="SHARE", help="The confidence of the intervals and the lower bound.")
    ] = "0.95",
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Describe the worst attacker: what he comes to believe, his success, and a lower bound on the leakage.

    The audit reads no data. It draws everything from the model.
    """
    from bayesdp.audit.audits import audited

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    promise: dict[str, Any] = options.one_of("--tau", tau, "--epsilon", epsilon)
    times = options.natural("--runs", runs, least=100)
    report = audited(assumed, asked, **promise, runs=times, confidence=options.number("--confidence", confidence))
    if plot is not None:
        report.plot(plot)
    print(text_of(report, as_json))


@app.command(short_help="Estimate a model from a table, and diagnose it.")
@fitting.OfferingModelOptions
def fit(
    data: Data,
    model: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="The kind of model. Each option below lists the kinds that accept it.",
            autocompletion=completion.fitted_models,
        ),
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL.json", help="Write the model to this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file even if it holds no model.")] = False,
    private_tau: Annotated[
        str | None,
        typer.Option(metavar="τ", help="Fit from noisy counts or sums that are τ-DP, and charge the ledger for them."),
    ] = None,
    odds_ceiling: Annotated[
        str | None,
        typer.Option(metavar="θ", help="The largest possible odds ratio, assumed until the fit finds a smaller one."),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The public list of states. A condition needs none."),
    ] = None,
    correlation_ceiling: Annotated[
        str | None,
        typer.Option(
            metavar="ρ",
            help="The largest possible correlation, assumed until the fit finds a smaller one; by default 1.",
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="M", help="The largest number of records in a group.")] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", help="Public bounds to which values are clipped."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The data set to charge.", autocompletion=completion.datasets),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="ε", help="The budget of the data set. Needed only the first time.")
    ] = None,
    ledger: LedgerUrl = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who is responsible. The ledger keeps it.")] = None,
    separate_because: Separate = None,
    public: Public = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
    **chosen: Any,
) -> None:
    """Estimate a model from a table, and diagnose whether the table fits the model.

    With --private-tau, the fit is a release: the ledger is charged, and the guarantee covers the fit.
    """
    from bayesdp._support.documents import write

    if output is not None:
        refuse_overwriting(output, options.files(data))
        if not force:
            refuse_replacing(output, "a model", options.model)
    privately = fitting.Privately(
        private_tau,
        odds_ceiling,
        states,
        correlation_ceiling,
        size,
        bounds,
        dataset,
        budget,
        ledger,
        by,
        separate_because,
        public,
    )
    private = bool(privately)
    with options.table(data, engine, master) as table:
        learnt = privately.fitted(table, model, chosen) if private else None
        fitted: Model = fitting.fitted(table, model, chosen) if learnt is None else learnt.model
    if learnt is not None:
        text = f"{learnt}\n"
    else:
        unasked = "There is no diagnosis for such a model, which is no sign that it holds."
        reported = unasked if fitted.diagnosis is None else str(fitted.diagnosis)
        text = f"{fitted.summary()}\n\n{reported}\n"
    printed = fitted.to_json(indent=2) if as_json else text
    if output is not None:
        write(output, fitted)
    print(escaped(printed))
    if not as_json:
        place = f"is in {output}" if output is not None else "was not written; -o MODEL.json does that"
        print(escaped(f"The model {place}."))


@app.command(short_help="Test whether a table fits a model.")
@partial(fitting.OfferingModelOptions, wanted=lambda option: option.locates)
def diagnose(
    model: ModelPath,
    data: Data,
    missing: Missing = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL.json",
            help="Write the diagnosed model to this file; by default to MODEL.json.",
        ),
    ] = None,
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
    **chosen: Any,
) -> None:
    """Test whether a table fits a model, and store the diagnosis in the model file.

    A fitted model has the names of its columns. For any other model, name them by the options.
    """
    from bayesdp._support.documents import write

    options.picture(plot, [model, *options.files(data), *([] if output is None else [output])])
    assumed, place = options.model(model), model if output is None else output
    refuse_overwriting(place, options.files(data))
    if output is not None:
        refuse_replacing(output, "a model", options.model)
    with options.table(data, engine, master) as table:
        diagnosis = fitting.diagnosis(assumed, table, missing, chosen)
    write(place, assumed.with_diagnosis(diagnosis))
    if plot is not None:
        diagnosis.plot(plot)
    print(text_of(diagnosis, True) if as_json else escaped(f"{diagnosis}\n\nThe diagnosis was stored in {place}."))


@app.command(short_help="List the models that a table does not contradict, and what each costs.")
@QueryOptions
def advise(
    data: Data,
    question: Question | None,
    state: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="A column of states, or a condition such as 'steps > 0'.")
    ] = None,
    order_by: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="The columns that put records in order.")
    ] = None,
    order_by_text: Annotated[bool, typer.Option("--order-by-text", help="Sort order columns of text as text.")] = False,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="The columns that tell independent chains apart.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(metavar="STEP", help="The spacing of the order: 5, 5m, 1d; by default what the table shows."),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help="Public columns, or hour, weekday, month, between whose values the odds may differ."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="For a column of numbers: the columns that tell groups apart."),
    ] = None,
    role: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a column of numbers: the column of roles.")
    ] = None,
    missing: Annotated[
        str, typer.Option(metavar="RULE", help="What to do with missing values: error, or drop.")
    ] = "error",
    record: Annotated[str, typer.Option(metavar="NAME", help="What one record is.")] = "record",
    epsilon: Annotated[str, typer.Option(metavar="ε", help="The promise at which to state the costs.")] = "1",
    beta: Beta = "0.05",
    credibility: Annotated[
        str, typer.Option(metavar="SHARE", help="Keep the promise for this share of the posterior.")
    ] = "0.95",
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """List the models of correlation that a table does not contradict, what each costs, and what if it is wrong."""
    from bayesdp.cli import advising

    options.picture(plot, options.files(data))
    columns = {
        "order_by": options.columns("--order-by", order_by),
        "entity": options.columns("--entity", entity),
        "within": options.columns("--within", within),
        "group": options.columns("--group", group),
    }
    chosen: dict[str, Any] = {name: value for name, value in columns.items() if value}
    chosen |= {"state": state, "step": step, "role": role, "order_by_text": order_by_text}
    numbers = {"epsilon": epsilon, "beta": beta, "credibility": credibility}
    chosen |= {name: options.number(f"--{name}", text) for name, text in numbers.items()}
    with options.table(data, engine, master) as table:
        advice = advising.advised(table, question, missing=missing, record=record, **chosen)
    if plot is not None:
        advice.plot(plot)
    print(text_of(advice, as_json))


@app.command(short_help="Open a local page to explore questions, assumptions and what an attacker may learn.")
def explore(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL.json | DATA]", help="A model or a table; by default, assumptions alone."),
    ] = None,
    port: Annotated[str, typer.Option(metavar="N", help="The port on this machine; 0 chooses a free one.")] = "0",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Serve a page on this machine only. The page releases nothing, shows no record and sends nothing away."""
    import webbrowser

    from bayesdp.explorer.serve import explore as serve

    def announce(address: str) -> None:
        print(f"The explorer is at {address}\nPress Ctrl+C to stop it.", flush=True)
        if browser:
            webbrowser.open(address)

    serve(source, port=options.natural("--port", port, least=0), announce=announce)


@app.command()
@QueryOptions
def release(
    data: Data,
    model: Annotated[str, typer.Option(metavar="MODEL.json", help="The correlation model, a JSON file.")],
    question: Question,
    dataset: Dataset,
    ledger: LedgerUrl = None,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="How much more may leak.")] = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="α", help="The largest error wanted, instead of --epsilon.")
    ] = None,
    beta: Beta = "0.05",
    share: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Or which share of the limit it takes, if the account has a delta: 0.01."),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="KIND", help="laplace or gaussian; by default whichever errs less.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="ε", help="The budget of the data set. Needed only the first time.")
    ] = None,
    budget_delta: BudgetDelta = None,
    missing: Missing = None,
    accept_violated: Annotated[
        str | None,
        typer.Option(
            metavar="REASON", help="Release although the diagnosis of the model is 'violated', for this reason."
        ),
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who is responsible. The answer keeps it.")] = None,
    separate_because: Separate = None,
    credibility: Credibility = None,
    growing: Growing = False,
    public: Public = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the release would cost, and charge nothing.")
    ] = False,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question with noise, and charge the ledger for it."""
    from bayesdp.cli import releasing

    assumed = options.model(model)
    asked = question.under(assumed)
    target: dict[str, Any] = {"share": options.positive("--share", share)} if share is not None else {}
    if share is None or epsilon is not None or alpha is not None:
        target |= options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"beta": options.number("--beta", beta)} | ({} if noise is None else {"noise": noise})
    limit = None if budget is None else options.positive("--budget", budget)
    place = options.ledger(ledger)
    reported: dict[str, Any] = {"missing": missing, "accept": accept_violated, "by": by, "growing": growing}
    reported |= {"public": options.columns("--public", public)}
    reported |= {"separate_because": separate_because, "credibility": options.credibility(credibility)}
    reported |= options.promised(budget_delta)
    with (
        options.table(data, engine, master) as table,
        releasing.session(table, assumed, place, dataset, limit, **reported) as opened,
    ):
        if dry_run:
            print(text_of(opened.preview(asked, **target), as_json))
        elif len(asked.parts) > 1:
            print(text_of(opened.release_by(asked, **target), as_json))
        else:
            print(text_of(opened.release(asked, **target), as_json))


@app.command(short_help="Print a statement about a release for a data-protection officer.")
def statement(
    answer: Annotated[str, typer.Argument(metavar="ANSWER.json", help="What `bayesdp release --json` printed.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the statement to this file: .html (prints well) or .md."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a statement about a release that a data-protection officer can file."""
    from bayesdp.cli import releasing

    filed = releasing.filed(answer, output)
    print(text_of(filed, as_json) if output is None or as_json else escaped(f"The statement is in {output}."))


@app.command()
def proof(
    name: Annotated[
        str,
        typer.Argument(
            metavar="THEOREM", help="The name of a theorem, such as markov-mixing.", autocompletion=completion.proofs
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Print the page that proves a theorem."""
    from bayesdp.session import proofs

    print(text_of(proofs.proof(name), as_json))


@app.command(short_help="Reproduce the paper's tables and figures beside our bounds.")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Figures and data sets; by default, all.", autocompletion=completion.reproducible
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Write the report, figures and numbers to this folder.")
    ] = "reproduction",
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="The original files; by default BAYESDP_DATA, or else built-in twins."),
    ] = None,
    runs: Annotated[
        str, typer.Option(metavar="N", help="The number of simulated releases for each ε and mechanism.")
    ] = "1000",
    seed: Annotated[str, typer.Option(metavar="N", help="The same seed gives the same numbers.")] = "0",
    listed: Annotated[bool, typer.Option("--list", help="List the names.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures, with our bounds beside them."""
    from bayesdp import experiments

    if listed:
        known = experiments.catalogue()
        lines = (f"{name:22} {line}" for name, line in known.items())
        print(json.dumps({"names": known}, indent=2, ensure_ascii=False) if as_json else "\n".join(lines))
        return
    number, start = options.natural("--runs", runs), options.natural("--seed", seed, least=0)
    place = None if data is None else options.folder("--data", data)
    reproduction = experiments.reproduce(names or (), out=out, data=place, runs=number, seed=start)
    print(text_of(reproduction, as_json))
    if reproduction.failures:
        reasons = "; ".join(f"{name}: {why}" for name, why in reproduction.failures.items())
        from bayesdp.errors import InvalidInputError

        raise InvalidInputError(f"{len(reproduction.failures)} failed, the rest is in {out}: {reasons}")


def _print(result: Leakage | Calibration, as_json: bool) -> None:
    print(escaped(result.to_json(indent=2) if as_json else f"{result}\n\n{result.table()}"))
