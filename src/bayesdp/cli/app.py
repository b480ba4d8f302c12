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
    Credibility,
    Data,
    Dataset,
    Delta,
    Engine,
    Growing,
    LedgerUrl,
    Master,
    Missing,
    ModelPath,
    Neighbours,
    Noise,
    Plot,
    Public,
    Separate,
    TheoremName,
    text_of,
)
from bayesdp.cli.query_options import QueryOptions, Question
from bayesdp.cli.spelling import spelled

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
    """Say what a release of correlated data leaks, and how much noise a promise needs."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
@QueryOptions
def leakage(
    model: ModelPath,
    question: Question,
    tau: Annotated[
        str | None, typer.Option(metavar="τ", help="The ordinary differential privacy of the release.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="δ", help="Beside --tau the release's own; beside --rho that of the promise.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option(metavar="ρ", help="Or its zCDP, such as 1/(2·scale²) for Gaussian noise on a count.")
    ] = None,
    neighbours: Neighbours = None,
    theorem: TheoremName = None,
    target: Annotated[
        str | None, typer.Option(metavar="I", help="Only what one adversary learns: who asks about record I, from 0.")
    ] = None,
    known: Annotated[str | None, typer.Option(metavar="J,K", help="The records that adversary knows exactly.")] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """What does a τ-DP release leak?"""
    from bayesdp import leakage as leak

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    one = options.adversary(target, known)
    losses: dict[str, Any] = options.numbers_given({"--tau": tau, "--delta": delta, "--rho": rho})
    leaked = leak(assumed, asked, **losses, **options.given(neighbours=neighbours, theorem=theorem), **one)
    if plot is not None:
        leaked.plot(plot)
    _print(leaked, as_json)


@app.command(short_help="How much noise keeps a promise of ε? What does an accuracy cost?")
@QueryOptions
def calibrate(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="The leakage promised.")] = None,
    alpha: Annotated[str | None, typer.Option(metavar="α", help="Or the largest error wanted.")] = None,
    beta: Beta = "0.05",
    delta: Delta = None,
    noise: Noise = None,
    count: Annotated[str | None, typer.Option(metavar="K", help="How many such questions share the promise.")] = None,
    neighbours: Neighbours = None,
    theorem: TheoremName = None,
    credibility: Credibility = None,
    draws: Annotated[str | None, typer.Option(metavar="N", help="How many models to draw for that.")] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """How much noise keeps a promise of ε, or what does an accuracy cost?"""
    from bayesdp.calibration.calibrate import calibrate as choose

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    target: dict[str, Any] = options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"credibility": options.credibility(credibility)}
    target |= {} if draws is None else {"draws": options.natural("--draws", draws)}
    target |= {} if count is None else {"count": options.natural("--count", count)}
    target |= options.numbers_given({"--delta": delta}) | options.given(
        noise=noise, neighbours=neighbours, theorem=theorem
    )
    chosen = choose(assumed, asked, **target, beta=options.number("--beta", beta))
    if plot is not None:
        chosen.plot(plot)
    _print(chosen, as_json)


@app.command()
@QueryOptions
def compare(
    model: ModelPath,
    question: Question,
    epsilon: Annotated[str, typer.Option(metavar="ε,ε", help="The promises to compare at; comma-separated.")],
    beta: Beta = "0.05",
    delta: Delta = None,
    noise: Noise = None,
    count: Annotated[str | None, typer.Option(metavar="K", help="How many such questions share a promise.")] = None,
    theorem: TheoremName = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Every theorem side by side."""
    from bayesdp.calibration.comparison import compare as all_theorems

    options.picture(plot, [model])
    assumed = options.model(model)
    asked = question.under(assumed)
    epsilons = options.numbers("--epsilon", epsilon)
    more: dict[str, Any] = options.numbers_given({"--delta": delta}) | options.given(noise=noise, theorem=theorem)
    more |= {} if count is None else {"count": options.natural("--count", count)}
    comparison = all_theorems(assumed, asked, epsilons=epsilons, beta=options.number("--beta", beta), **more)
    if plot is not None:
        comparison.plot(plot)
    print(text_of(comparison, True) if as_json else escaped(spelled(str(comparison))))


@app.command(short_help="Who learns most from a release, how often is he right, and what leaks at least?")
@QueryOptions
def audit(
    model: ModelPath,
    question: Question,
    tau: Annotated[str | None, typer.Option(metavar="τ", help="Audit a plain release with this tau.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="Or the release that keeps this promise.")] = None,
    runs: Annotated[str, typer.Option(metavar="N", help="How often the attack and the release are run.")] = "20000",
    confidence: Annotated[str, typer.Option(metavar="SHARE", help="Of intervals and of the lower bound.")] = "0.95",
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """The worst attacker in words, what he comes to believe, his success, and a lower bound beside the promise.

    No data are read: everything is drawn from the model.
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


@app.command(short_help="Estimate a model from a table; does the table look like it?")
@fitting.OfferingModelOptions
def fit(
    data: Data,
    model: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="The kind of model; options name the kinds that take them.",
            autocompletion=completion.fitted_models,
        ),
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL.json", help="Where to write the model.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file even if it is not a model.")] = False,
    private_tau: Annotated[
        str | None,
        typer.Option(metavar="τ", help="Learn the model from noisy numbers with this privacy, and charge for it."),
    ] = None,
    odds_ceiling: Annotated[
        str | None, typer.Option(metavar="θ", help="The largest odds ratio possible, assumed until one is learnt.")
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The values of the state, which are public; a condition needs none."),
    ] = None,
    correlation_ceiling: Annotated[
        str | None,
        typer.Option(
            metavar="ρ", help="The largest correlation possible, assumed until one is learnt; 1 if not given."
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="M", help="The most records a group may have.")] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", help="Values are clipped to these to learn a correlation; they are public."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The data set to charge.", autocompletion=completion.datasets),
    ] = None,
    budget: Annotated[str | None, typer.Option(metavar="ε", help="Its budget; only sets it the first time.")] = None,
    ledger: LedgerUrl = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who is responsible; kept in the ledger.")] = None,
    separate_because: Separate = None,
    public: Public = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
    **chosen: Any,
) -> None:
    """Estimate a model from a table, and say whether the table looks like it.

    With --private-tau the fit is a release: its noisy numbers are charged to the ledger, and the guarantee covers them.
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
        reported = unasked if fitted.diagnosis is None else spelled(str(fitted.diagnosis))
        text = f"{fitted.summary()}\n\n{reported}\n"
    printed = fitted.to_json(indent=2) if as_json else text
    if output is not None:
        write(output, fitted)
    print(escaped(printed))
    if not as_json:
        place = f"is in {output}" if output is not None else "was not written; -o MODEL.json does that"
        print(escaped(f"The model {place}."))


@app.command(short_help="Does a table look as a model assumes?")
@partial(fitting.OfferingModelOptions, wanted=lambda option: option.locates)
def diagnose(
    model: ModelPath,
    data: Data,
    missing: Missing = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="MODEL.json", help="Where to write the model; by default where it was."),
    ] = None,
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
    **chosen: Any,
) -> None:
    """Does a table look as a model assumes? What it says is stored in the model.

    A model that was fitted knows its columns; name them for another.
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
    print(
        text_of(diagnosis, True)
        if as_json
        else escaped(f"{spelled(str(diagnosis))}\n\nThe diagnosis was stored in {place}.")
    )


@app.command(short_help="Which models does a table not deny, and what does each cost?")
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
        list[str] | None, typer.Option(metavar="A,B", help="Public columns, or hour, weekday, month: odds may differ.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="For numbers: the columns that tell groups apart.")
    ] = None,
    role: Annotated[str | None, typer.Option(metavar="NAME", help="For numbers: the column of roles.")] = None,
    missing: Annotated[str, typer.Option(metavar="RULE", help="error or drop.")] = "error",
    record: Annotated[str, typer.Option(metavar="NAME", help="What one record is.")] = "record",
    epsilon: Annotated[str, typer.Option(metavar="ε", help="The promise that costs are stated for.")] = "1",
    beta: Beta = "0.05",
    credibility: Annotated[
        str, typer.Option(metavar="SHARE", help="Keep the promise for this share of the posterior.")
    ] = "0.95",
    plot: Plot = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Which models of correlation does a table not deny, what does each cost, and what if one is wrong?"""
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


@app.command(short_help="A local page: choose a question and an assumption, see what an attacker may learn.")
def explore(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL.json | DATA]", help="A model or a table; else assumptions alone."),
    ] = None,
    port: Annotated[str, typer.Option(metavar="N", help="The port on this machine; 0: a free one.")] = "0",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Serve a page on this machine only. It releases nothing, shows no value of a record, and sends nothing away."""
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
    epsilon: Annotated[str | None, typer.Option(metavar="ε", help="By how much the leakage may rise.")] = None,
    alpha: Annotated[str | None, typer.Option(metavar="α", help="Or the largest error wanted.")] = None,
    beta: Beta = "0.05",
    budget: Annotated[
        str | None, typer.Option(metavar="ε", help="The budget of the data set; only sets it the first time.")
    ] = None,
    missing: Missing = None,
    accept_violated: Annotated[
        str | None, typer.Option(metavar="REASON", help="Why to release although the model's diagnosis says violated.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who is responsible; kept with the answer.")] = None,
    separate_because: Separate = None,
    credibility: Credibility = None,
    growing: Growing = False,
    public: Public = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; charge nothing.")] = False,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question with noise, and charge the ledger for it."""
    from bayesdp.cli import releasing

    assumed = options.model(model)
    asked = question.under(assumed)
    target: dict[str, Any] = options.one_of("--epsilon", epsilon, "--alpha", alpha)
    target |= {"beta": options.number("--beta", beta)}
    limit = None if budget is None else options.positive("--budget", budget)
    place = options.ledger(ledger)
    reported: dict[str, Any] = {"missing": missing, "accept": accept_violated, "by": by, "growing": growing}
    reported |= {"public": options.columns("--public", public)}
    reported |= {"separate_because": separate_because, "credibility": options.credibility(credibility)}
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


@app.command(short_help="A statement about a release, for a data-protection officer.")
def statement(
    answer: Annotated[str, typer.Argument(metavar="ANSWER.json", help="What `bayesdp release --json` printed.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it: .html (prints well) or .md."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A statement about a release that a data-protection officer can file."""
    from bayesdp.cli import releasing

    filed = releasing.filed(answer, output)
    print(text_of(filed, as_json) if output is None or as_json else escaped(f"The statement is in {output}."))


@app.command()
def proof(
    name: Annotated[
        str,
        typer.Argument(metavar="THEOREM", help="markov-mixing, for example.", autocompletion=completion.proofs),
    ],
    as_json: AsJson = False,
) -> None:
    """Print the page that proves a theorem."""
    from bayesdp.session import proofs

    print(text_of(proofs.proof(name), as_json))


@app.command(short_help="The paper's tables and figures, rerun beside our bounds.")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Figures and data sets; all by default.", autocompletion=completion.reproducible
        ),
    ] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the report, figures and numbers go.")] = "reproduction",
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="The original files; else BAYESDP_DATA, else built-in twins.")
    ] = None,
    runs: Annotated[str, typer.Option(metavar="N", help="Simulated releases for each ε and mechanism.")] = "1000",
    seed: Annotated[str, typer.Option(metavar="N", help="The same seed gives the same numbers.")] = "0",
    listed: Annotated[bool, typer.Option("--list", help="Show the names.")] = False,
    as_json: AsJson = False,
) -> None:
    """The paper's tables and figures, rerun, with our bounds beside them."""
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
    print(escaped(result.to_json(indent=2) if as_json else f"{result}\n\n{spelled(result.table())}"))
