"""The commands. Each parses its options, calls one function of the library and prints what it returns."""

from __future__ import annotations

import json
import sys
import warnings
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp import __version__
from bayesdp._support.files import refuse_overwriting, refuse_replacing
from bayesdp._support.validation import escaped
from bayesdp.cli import completion, fitting, options
from bayesdp.cli.budget import budget_app
from bayesdp.cli.parameters import (
    Accept,
    AsJson,
    Beta,
    BudgetDelta,
    Credibility,
    Data,
    Dataset,
    Delta,
    Engine,
    FirstBudget,
    Growing,
    LedgerUrl,
    Master,
    Missing,
    ModelOption,
    ModelPath,
    MoreLeakage,
    Neighbours,
    Noise,
    Plot,
    Public,
    Responsible,
    Separate,
    Share,
    TheoremName,
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
    """Compute the leakage of releases of correlated data, and make releases within a budget."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
@QueryOptions
def leakage(
    model: ModelPath,
    question: Question,
    tau: Annotated[
        str | None, typer.Option(metavar="τ", help="The privacy parameter of the release under ordinary DP.")
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(metavar="δ", help="With --tau, the δ of the release; with --rho, the δ of the guarantee."),
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            metavar="ρ", help="The zCDP of the release instead of --tau: 1/(2·scale²) for Gaussian noise on a count."
        ),
    ] = None,
    neighbours: Neighbours = None,
    theorem: TheoremName = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="I", help="Compute the leakage about record I alone (counted from 0), to one adversary."),
    ] = None,
    known: Annotated[
        str | None, typer.Option(metavar="J,K", help="The records that this adversary knows exactly.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compute what a τ-DP release leaks."""
    from bayesdp import leakage as leak

    options.picture(plot, [model])
    assumed = options.model(model)
    query = question.under(assumed)
    one = options.adversary(target, known)
    losses: dict[str, Any] = options.numbers_given({"--tau": tau, "--delta": delta, "--rho": rho})
    if query.made_elsewhere and tau is not None and delta is None:
        neighbours = options.neighbours(neighbours)
    leaked = leak(assumed, query, **losses, **options.given(neighbours=neighbours, theorem=theorem), **one)
    if plot is not None:
        leaked.plot(plot)
    _print(leaked, as_json)


@app.command(short_help="Compute the noise for a leakage ε, or the leakage for an accuracy.")
@QueryOptions
def calibrate(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="The largest leakage allowed.")] = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="α", help="The largest error allowed, instead of --epsilon.")
    ] = None,
    beta: Beta = "0.05",
    delta: Delta = None,
    noise: Noise = None,
    count: Annotated[
        str | None, typer.Option(metavar="K", help="The number of queries like this one that share the budget ε.")
    ] = None,
    neighbours: Neighbours = None,
    theorem: TheoremName = None,
    credibility: Credibility = None,
    draws: Annotated[
        str | None, typer.Option(metavar="N", help="The number of models to draw for --credibility.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compute the noise for a leakage ε, or the leakage for an accuracy."""
    from bayesdp.calibration.calibrate import calibrate as choose

    options.picture(plot, [model])
    assumed = options.model(model)
    query = question.under(assumed)
    target: dict[str, Any] = options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"credibility": options.credibility(credibility)}
    target |= {} if draws is None else {"draws": options.natural("--draws", draws)}
    target |= {} if count is None else {"count": options.natural("--count", count)}
    target |= options.numbers_given({"--delta": delta}) | options.given(
        noise=noise, neighbours=neighbours, theorem=theorem
    )
    chosen = choose(assumed, query, **target, beta=options.number("--beta", beta))
    if plot is not None:
        chosen.plot(plot)
    _print(chosen, as_json)


@app.command()
@QueryOptions
def compare(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[
        str, typer.Option(metavar="ε,ε", help="The values of ε at which to compare, separated by commas.")
    ],
    beta: Beta = "0.05",
    delta: Delta = None,
    noise: Noise = None,
    count: Annotated[
        str | None, typer.Option(metavar="K", help="The number of queries like this one that share each ε.")
    ] = None,
    neighbours: Neighbours = None,
    theorem: TheoremName = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare all theorems side by side."""
    from bayesdp.calibration.comparison import compare as all_theorems

    options.picture(plot, [model])
    assumed = options.model(model)
    query = question.under(assumed)
    epsilons = options.numbers("--epsilon", epsilon)
    more: dict[str, Any] = options.numbers_given({"--delta": delta})
    more |= options.given(noise=noise, neighbours=neighbours, theorem=theorem)
    more |= {} if count is None else {"count": options.natural("--count", count)}
    comparison = all_theorems(assumed, query, epsilons=epsilons, beta=options.number("--beta", beta), **more)
    if plot is not None:
        comparison.plot(plot)
    print(text_of(comparison, as_json))


@app.command(short_help="Describe the worst attacker, and bound the leakage from below.")
@QueryOptions
def audit(
    model: ModelPath,
    question: Question,
    tau: Annotated[str | None, typer.Option(metavar="τ", help="Audit an ordinary τ-DP release.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="ε", help="Audit the release that leaks at most ε, instead of --tau.")
    ] = None,
    delta: Delta = None,
    rho: Annotated[
        str | None, typer.Option(metavar="ρ", help="Audit a release with Gaussian noise of this zCDP, with --delta.")
    ] = None,
    noise: Noise = None,
    neighbours: Neighbours = None,
    runs: Annotated[str, typer.Option(metavar="N", help="The number of simulated attacks and releases.")] = "20000",
    confidence: Annotated[
        str, typer.Option(metavar="SHARE", help="The confidence of the intervals and the lower bound.")
    ] = "0.95",
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Describe the worst attacker and his success, and bound the leakage from below.

    The audit reads no data. It draws everything from the model.
    """
    from bayesdp.audit.audits import audited

    options.picture(plot, [model])
    assumed = options.model(model)
    query = question.under(assumed)
    losses: dict[str, Any] = options.numbers_given({"--delta": delta, "--rho": rho}) | options.given(noise=noise)
    if losses:
        losses |= options.numbers_given({"--tau": tau, "--epsilon": epsilon})
    else:
        losses = options.one_of("--tau", tau, "--epsilon", epsilon)
    if query.made_elsewhere and tau is not None:
        neighbours = options.neighbours(neighbours)
    losses |= options.given(neighbours=neighbours)
    times = options.natural("--runs", runs, least=100)
    report = audited(assumed, query, **losses, runs=times, confidence=options.number("--confidence", confidence))
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
            help="The kind of model. Options that only some kinds accept list them in parentheses.",
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
        typer.Option(
            metavar="θ",
            help="An upper bound on the odds ratio, used until the fit finds a smaller one; of a series, one for each "
            "distance: 50,5,5.",
        ),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The public list of states. Not needed for a condition."),
    ] = None,
    correlation_ceiling: Annotated[
        str | None,
        typer.Option(
            metavar="ρ",
            help="An upper bound on correlations, used until the fit finds a smaller one; 1 by default.",
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
    budget: FirstBudget = None,
    ledger: LedgerUrl = None,
    by: Responsible = None,
    separate_because: Separate = None,
    public: Public = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Fit privately even if the noise would most likely hide the result.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the expected result and the cost of a private fit, and charge nothing."),
    ] = False,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
    **chosen: Any,
) -> None:
    """Estimate a model from a table, and diagnose whether the table fits the model.

    With --private-tau, the fit is a release: the ledger is charged, and the guarantee covers the fit.
    """
    from bayesdp._support.documents import write
    from bayesdp.session.private_fit_preview import FitPreview

    if output is not None:
        refuse_overwriting(output, options.files(*data))
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
        anyway or None,
        dry_run or None,
    )
    private = bool(privately)
    with options.table(data, engine, master) as table:
        learnt = privately.fitted(table, model, chosen) if private else None
        if isinstance(learnt, FitPreview):
            print(text_of(learnt, as_json))
            return
        fitted: Model = fitting.fitted(table, model, chosen) if learnt is None else learnt.model
    if learnt is not None:
        text = f"{learnt}\n"
    else:
        unasked = "There is no diagnosis for such a model. That does not mean that the model fits."
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

    A fitted model names its columns. For any other model, name them with the options.
    """
    from bayesdp._support.documents import write

    options.picture(plot, [model, *options.files(*data), *([] if output is None else [output])])
    assumed, place = options.model(model), model if output is None else output
    refuse_overwriting(place, options.files(*data))
    if output is not None:
        refuse_replacing(output, "a model", options.model)
    with options.table(data, engine, master) as table:
        diagnosis = fitting.diagnosis(assumed, table, missing, chosen)
    write(place, assumed.with_diagnosis(diagnosis))
    if plot is not None:
        diagnosis.plot(plot)
    print(text_of(diagnosis, True) if as_json else escaped(f"{diagnosis}\n\nThe diagnosis was stored in {place}."))


@app.command(short_help="State what a session would refuse about a table, to those who may see its records.")
@QueryOptions
def check(
    data: Data,
    model: ModelOption,
    question: Question | None,
    missing: Missing = None,
    public: Public = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """State, in detail, what a session would refuse about a table under a model, and about a question, if any.

    The message may contain values of records: it is for people who may see the data. Nothing is released or charged.
    """
    from bayesdp.session.prepare import check_table

    assumed = options.model(model)
    queries = () if question is None else (question.under(assumed),)
    reported: dict[str, Any] = {"missing": missing, "public": options.columns("--public", public) or None}
    with options.table(data, engine, master) as table, warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        check_table(table, assumed, queries, **reported)
    for each in noted:
        print(f"note: {each.message}", file=sys.stderr)
    print(json.dumps({"kind": "check", "schema": 1, "accepted": True}) if as_json else "A session accepts this table.")


@app.command(short_help="List the models that a table does not contradict, and the error of each.")
@QueryOptions
def advise(
    data: Data,
    question: Question | None,
    state: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="A column of states, or a condition such as 'steps > 0'.")
    ] = None,
    order_by: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="The columns that order the records.")
    ] = None,
    order_by_text: Annotated[
        bool, typer.Option("--order-by-text", help="Sort text in the order columns alphabetically.")
    ] = False,
    entity: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="The columns that identify a chain; chains are independent of one another."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="STEP", help="The spacing of the order, such as 5, 5m or 1d; estimated from the table by default."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Public columns, or hour, weekday or month: odds or means are estimated for each of their values.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="The columns that identify a group, such as a household."),
    ] = None,
    role: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a column of numbers: the column of roles in a group.")
    ] = None,
    missing: Annotated[
        str, typer.Option(metavar="RULE", help="What to do with missing values: error, or drop.")
    ] = "error",
    record: Annotated[
        str, typer.Option(metavar="NAME", help='What a record is, such as "5-minute interval".')
    ] = "record",
    epsilon: Annotated[str, typer.Option(metavar="ε", help="The leakage at which errors are compared.")] = "1",
    delta: Delta = None,
    beta: Beta = "0.05",
    credibility: Annotated[
        str, typer.Option(metavar="SHARE", help="The share of the posterior for which the guarantee holds.")
    ] = "0.95",
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """List the models that a table does not contradict, the error of each, and its leakage if it is wrong."""
    from bayesdp.cli import advising

    options.picture(plot, options.files(*data))
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
    chosen |= options.numbers_given({"--delta": delta})
    with options.table(data, engine, master) as table:
        advice = advising.advised(table, question, missing=missing, record=record, **chosen)
    if plot is not None:
        advice.plot(plot)
    print(text_of(advice, as_json))


@app.command(short_help="Open a local page to explore questions, assumptions and what an attacker may learn.")
def explore(
    source: Annotated[
        str | None,
        typer.Argument(metavar="MODEL.json | DATA", help="A model or a table; by default, neither."),
    ] = None,
    port: Annotated[str, typer.Option(metavar="N", help="The port on this machine; 0 chooses a free one.")] = "0",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Serve a local page. It releases nothing before you sign, shows no record, and connects to no other machine."""
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
    model: ModelOption,
    question: Question,
    dataset: Dataset,
    ledger: LedgerUrl = None,
    epsilon: MoreLeakage = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="α", help="The largest error allowed, instead of --epsilon.")
    ] = None,
    beta: Beta = "0.05",
    share: Share = None,
    noise: Noise = None,
    budget: FirstBudget = None,
    budget_delta: BudgetDelta = None,
    missing: Missing = None,
    accept_violated: Accept = None,
    by: Responsible = None,
    separate_because: Separate = None,
    credibility: Credibility = None,
    growing: Growing = False,
    public: Public = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cost of the release without releasing or charging anything.")
    ] = False,
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question with noise, and charge the ledger for it."""
    from bayesdp.cli import releasing

    place = options.ledger(ledger)
    options.released_picture(plot, [*options.files(*data), model, place], dry_run)
    assumed = options.model(model)
    query = question.under(assumed)
    several = any(len(query.listed.get(by, ())) != 1 for by in query.by_columns)
    if plot is not None:
        from bayesdp.plotting.answers import check_drawable

        check_drawable(query, query.by_columns if several else ())
    target: dict[str, Any] = {"share": options.positive("--share", share)} if share is not None else {}
    if share is None or epsilon is not None or alpha is not None:
        target |= options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"beta": options.number("--beta", beta)} | ({} if noise is None else {"noise": noise})
    limit = None if budget is None else options.positive("--budget", budget)
    reported: dict[str, Any] = {"missing": missing, "accept": accept_violated, "by": by, "growing": growing}
    reported |= {"public": options.columns("--public", public)}
    reported |= {"separate_because": separate_because, "credibility": options.credibility(credibility)}
    reported |= options.promised(budget_delta)
    with (
        options.table(data, engine, master) as table,
        releasing.session(table, assumed, place, dataset, limit, **reported) as opened,
    ):
        if dry_run:
            print(text_of(opened.preview(query, **target), as_json))
        elif several:
            answers = opened.release_by(query, **target)
            if plot is not None:
                answers.plot(plot)
            print(text_of(answers, as_json))
        else:
            print(text_of(opened.release(query, **target), as_json))


@app.command(short_help="Release running totals: every hour, day, week or month, charged once.")
@QueryOptions
def running(
    data: Data,
    model: ModelOption,
    question: Question,
    dataset: Dataset,
    every: Annotated[
        str,
        typer.Option(
            metavar="PERIOD", help="hour, day, week or month; or a number of units of an order of whole numbers."
        ),
    ],
    horizon: Annotated[
        str | None, typer.Option(metavar="N", help="The number of periods; unlimited by default.")
    ] = None,
    ledger: LedgerUrl = None,
    epsilon: MoreLeakage = None,
    beta: Beta = "0.05",
    share: Share = None,
    noise: Noise = None,
    budget: FirstBudget = None,
    budget_delta: BudgetDelta = None,
    missing: Missing = None,
    accept_violated: Accept = None,
    by: Responsible = None,
    separate_because: Separate = None,
    credibility: Credibility = None,
    growing: Growing = False,
    public: Public = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cost and the errors without releasing or charging anything.")
    ] = False,
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Release the totals so far, period after period, and charge the ledger once, when the stream starts.

    Run it again when the table has grown: the same query, period, horizon and ε continue the stream. A period is
    complete once the table has a record after it.
    """
    from bayesdp.cli import releasing

    place = options.ledger(ledger)
    options.released_picture(plot, [*options.files(*data), model, place], dry_run)
    assumed = options.model(model)
    query = question.under(assumed)
    stream: dict[str, Any] = {"every": options.period(every)}
    stream |= {} if horizon is None else {"horizon": options.natural("--horizon", horizon)}
    stream |= options.numbers_given({"--epsilon": epsilon, "--share": share})
    stream |= {"beta": options.number("--beta", beta)} | ({} if noise is None else {"noise": noise})
    limit = None if budget is None else options.positive("--budget", budget)
    reported: dict[str, Any] = {"missing": missing, "accept": accept_violated, "by": by, "growing": growing}
    reported |= {"public": options.columns("--public", public), "separate_because": separate_because}
    reported |= {"credibility": options.credibility(credibility)} | options.promised(budget_delta)
    with (
        options.table(data, engine, master) as table,
        releasing.session(table, assumed, place, dataset, limit, **reported) as opened,
    ):
        if dry_run:
            print(text_of(opened.preview_running(query, **stream), as_json))
            return
        totals = opened.running(query, **stream)
    if plot is not None:
        totals.plot(plot)
    print(text_of(totals, as_json))


@app.command(short_help="Print a statement about a release for a data-protection officer.")
def statement(
    answer: Annotated[str, typer.Argument(metavar="ANSWER.json", help="The output of `bayesdp release --json`.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the statement to this file, .html or .md."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a statement about a release, for the files of a data-protection officer."""
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
            metavar="NAME",
            help="Figures and data sets to reproduce; all by default.",
            autocompletion=completion.reproducible,
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Write the report, figures and numbers to this folder.")
    ] = "reproduction",
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the original data; by default BAYESDP_DATA, else built-in twins of the data are used.",
        ),
    ] = None,
    runs: Annotated[
        str, typer.Option(metavar="N", help="The number of simulated releases for each ε and mechanism.")
    ] = "1000",
    seed: Annotated[str, typer.Option(metavar="N", help="The seed of the random numbers.")] = "0",
    extra: Annotated[
        bool, typer.Option("--extra", help="Also draw variants that the authors' scripts contain and the paper omits.")
    ] = False,
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
    reproduction = experiments.reproduce(names or (), out=out, data=place, extra=extra, runs=number, seed=start)
    print(text_of(reproduction, as_json))
    if reproduction.absent:
        print(f"note: {escaped(reproduction.twins_used)}", file=sys.stderr)
    if reproduction.failures:
        reasons = "; ".join(f"{name}: {why}" for name, why in reproduction.failures.items())
        from bayesdp.errors import InvalidInputError

        raise InvalidInputError(f"{len(reproduction.failures)} failed, the rest is in {out}: {reasons}")


def _print(result: Leakage | Calibration, as_json: bool) -> None:
    print(escaped(result.to_json(indent=2) if as_json else f"{result}\n\n{result.table()}"))
