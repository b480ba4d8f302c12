"""The commands of `bayesdp budget`: open, show, change and verify accounts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayesdp._support.validation import escaped
from bayesdp.cli import options
from bayesdp.cli.parameters import (
    Accept,
    AsJson,
    BudgetDelta,
    Credibility,
    Data,
    Dataset,
    Engine,
    FirstBudget,
    Growing,
    LedgerUrl,
    Master,
    Missing,
    ModelOption,
    NewBudget,
    Plot,
    Public,
    Responsible,
    Separate,
    SomeDataset,
    text_of,
)

__all__ = ["budget_app"]

budget_app = typer.Typer(
    help="Open, show, change and verify the budgets of data sets.", rich_markup_mode=None, suggest_commands=False
)


@budget_app.command("open")
def open_account(
    data: Data,
    model: ModelOption,
    dataset: Dataset,
    budget: Annotated[str, typer.Option(metavar="ε", help="The budget: the largest total leakage allowed.")],
    budget_delta: BudgetDelta = None,
    ledger: LedgerUrl = None,
    missing: Missing = None,
    separate_because: Separate = None,
    credibility: Credibility = None,
    growing: Growing = False,
    public: Public = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Open the account of a data set, without a release."""
    from bayesdp.cli import releasing

    assumed, limit = options.model(model), options.positive("--budget", budget)
    place = options.ledger(ledger)
    reported: dict[str, Any] = {"missing": missing, "separate_because": separate_because, "growing": growing}
    reported |= {"credibility": options.credibility(credibility), "public": options.columns("--public", public)}
    reported |= options.promised(budget_delta)
    with options.table(data, engine, master) as table:
        opened = releasing.opened(table, assumed, place, dataset, limit, **reported)
    print(text_of(opened, as_json))


@budget_app.command("record", short_help="Charge a release that is made elsewhere.")
def record_release(
    data: Data,
    model: ModelOption,
    dataset: Dataset,
    what: Annotated[str, typer.Option(metavar="TEXT", help="A description of the release, recorded in the ledger.")],
    tau: Annotated[
        str | None, typer.Option(metavar="τ", help="The ordinary differential privacy of the release.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="δ", help="Its delta, with --tau; the account must have a delta, too.")
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            metavar="ρ",
            help="Its zCDP, instead of --tau, such as that of Gaussian noise; the account must have a delta.",
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="The neighbouring data sets of τ, δ and ρ: replace, or add-remove, which is charged more.",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="Charge a release that is already public, even if it exceeds the budget."),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The release reads no record before this value of the first order column."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="The release reads only records before this value of the first order column."
        ),
    ] = None,
    ledger: LedgerUrl = None,
    budget: FirstBudget = None,
    budget_delta: BudgetDelta = None,
    missing: Missing = None,
    accept_violated: Accept = None,
    by: Responsible = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Charge a release that is made elsewhere, with OpenDP, Tumult or your own code."""
    from bayesdp.cli import releasing

    assumed = options.model(model)
    limit = None if budget is None else options.positive("--budget", budget)
    release = releasing.made_elsewhere(tau, delta, rho, neighbours) | {"what": what, "published": published}
    ends = {name: end for name, end in (("since", since), ("until", until)) if end is not None}
    release |= {"window": ends or None}
    reported: dict[str, Any] = {"missing": missing, "accept": accept_violated, "by": by}
    reported |= options.promised(budget_delta)
    with (
        options.table(data, engine, master) as table,
        releasing.session(table, assumed, options.ledger(ledger), dataset, limit, **reported) as opened,
    ):
        print(text_of(opened.record(**release), as_json))


@budget_app.command(short_help="Show the releases and the remaining budget.")
def show(ledger: LedgerUrl = None, dataset: SomeDataset = None, plot: Plot = None, as_json: AsJson = False) -> None:
    """Show the releases, the leakage, the remaining budget and its changes."""
    from bayesdp.session.overview import overview

    place = options.ledger(ledger)
    options.picture(plot, [str(place).removeprefix("sqlite:///")])
    shown = overview(place, dataset)
    if plot is not None:
        shown.plot(plot)
    print(text_of(shown, as_json))


@budget_app.command()
def lower(
    dataset: Dataset,
    to: NewBudget,
    ledger: LedgerUrl = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="The reason, recorded in the ledger.")] = None,
    as_json: AsJson = False,
) -> None:
    """Lower a budget."""
    from bayesdp.cli import releasing

    print(text_of(releasing.lowered(options.ledger(ledger), dataset, options.positive("--to", to), reason), as_json))


@budget_app.command("raise", short_help="Raise a budget, for a recorded reason.")
def raise_budget(
    dataset: Dataset,
    to: NewBudget,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, recorded in the ledger.")],
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Raise a budget. This weakens the guarantee; the ledger records the reason."""
    from bayesdp.cli import releasing

    print(text_of(releasing.raised(options.ledger(ledger), dataset, options.positive("--to", to), reason), as_json))


@budget_app.command("public", short_help="Declare columns public, for a recorded reason.")
def name_public(
    dataset: Dataset,
    columns: Annotated[list[str], typer.Option(metavar="A,B", help="The columns to declare public.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, recorded in the ledger.")],
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Declare columns public, so that questions can filter by them and split by them without noise.

    Only the data holder can decide this. A column that a query was about, or that the model describes, cannot be
    declared public. A public column stays public.
    """
    from bayesdp.cli import releasing

    named = options.columns("--columns", columns)
    print(text_of(releasing.named_public(options.ledger(ledger), dataset, named, reason), as_json))


@budget_app.command(short_help="Let the table of an account grow, for a recorded reason.")
def grow(
    data: Data,
    model: ModelOption,
    dataset: Dataset,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, recorded in the ledger.")],
    ledger: LedgerUrl = None,
    engine: Engine = "polars",
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Let the table of an account grow that was opened without --growing.

    DATA is the table as it was, or with new rows after the old ones. The command compares what the account knows of the
    old rows, converts what was released under the model of any length, and cannot be undone. Only the data holder can
    decide this.
    """
    from bayesdp.cli import releasing

    assumed = options.model(model)
    with options.table(data, engine, master) as table:
        print(text_of(releasing.grown(table, assumed, options.ledger(ledger), dataset, reason), as_json))


@budget_app.command("allow-checks", short_help="Allow more checks of a table, for a recorded reason.")
def allow_checks(
    dataset: Dataset,
    number: Annotated[str, typer.Option("--to", metavar="N", help="The total number of different checks allowed.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, recorded in the ledger.")],
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Allow more checks of a table.

    Each session under another model, or about other columns, reveals whether the records fit the model. Only this
    limit bounds what is revealed.
    """
    from bayesdp.cli import releasing

    place, checks = options.ledger(ledger), options.natural("--to", number)
    print(text_of(releasing.allowed_checks(place, dataset, checks, reason), as_json))


@budget_app.command(short_help="Verify the hashes and totals of the ledger.")
def verify(
    ledger: LedgerUrl = None,
    answer: Annotated[
        list[str] | None, typer.Option(metavar="ANSWER.json", help="Also verify that the ledger holds these answers.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the ledger: that the chain of hashes is unbroken, and that the totals add up."""
    from bayesdp.cli import releasing

    print(text_of(releasing.verified(options.ledger(ledger), answer or ()), as_json))


@budget_app.command()
def export(
    ledger: LedgerUrl = None,
    dataset: SomeDataset = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; this is the default.")] = True,
) -> None:
    """Print every entry as JSON."""
    from bayesdp.cli import releasing

    print(escaped(releasing.exported(options.ledger(ledger), dataset)))
