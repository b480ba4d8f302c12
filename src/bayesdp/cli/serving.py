"""The commands of `bayesdp serve`: check a configuration, serve it, keep its tokens, fit a model of its data."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bayesdp._support.validation import escaped
from bayesdp._support.words import counted
from bayesdp.cli import options
from bayesdp.cli.parameters import AsJson, text_of

__all__ = ["serve_app"]

_ARGUMENT = "config.toml"


class _Serving(TyperGroup):
    """A group whose first word is a file if it is no command: `bayesdp serve config.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


serve_app = typer.Typer(
    cls=_Serving,
    help="Serve data sets to analysts: bayesdp serve config.toml.",
    rich_markup_mode=None,
    suggest_commands=False,
)
token_app = typer.Typer(help="Issue, list and revoke the tokens of analysts.", rich_markup_mode=None)
serve_app.add_typer(token_app, name="token")

Configured = Annotated[str, typer.Argument(metavar="CONFIG.toml", help="The configuration of the server.")]
Config = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="CONFIG.toml",
        envvar="BAYESDP_SERVER_CONFIG",
        show_envvar=False,
        help="The configuration of the server; by default BAYESDP_SERVER_CONFIG, else config.toml.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of an analyst in the configuration.")]


@serve_app.command(short_help="Serve a configuration until the process is stopped.")
def run(
    config: Configured,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Only check the configuration, its models and its tables; charge and serve nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve a configuration: bayesdp serve config.toml.

    It opens all data sets before it serves any, and names the line of what is wrong. SIGTERM and Ctrl+C stop it: it
    finishes what it has begun. With --check, messages state what is wrong with a table: they are for its holder only.
    """
    from bayesdp.server.configuration import read_configuration
    from bayesdp.server.running import serve

    configuration = read_configuration(config)
    if check:
        from bayesdp.server.datasets import check_datasets

        check_datasets(configuration)
        document = {
            "kind": "check",
            "schema": 1,
            "accepted": True,
            "datasets": sorted(configuration.datasets),
            "analysts": sorted(configuration.analysts),
        }
        several = (counted(len(configuration.datasets), "data set"), counted(len(configuration.analysts), "analyst"))
        said = f"{config} can be served: {', '.join(several)}."
        print(escaped(json.dumps(document, ensure_ascii=False) if as_json else said))
        return

    def announce(address: str) -> None:
        said = json.dumps({"kind": "serving", "address": address}) if as_json else f"bayesdp serves at {address}"
        print(said, flush=True)

    serve(configuration, announce=announce)


@serve_app.command(short_help="Fit the model of a data set privately, as the holder of the data.")
def fit(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A data set in the configuration.")],
    private_tau: Annotated[str, typer.Option(metavar="τ", help="The loss of the fit; the ledger is charged for it.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="The person responsible, recorded in the ledger.")],
    config: Config = _ARGUMENT,
    credibility: Annotated[
        str, typer.Option(metavar="SHARE", help="How sure the fit is that what it learns is no larger.")
    ] = "0.95",
    within: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Public columns, or hour, weekday or month, by which frequencies may differ."),
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LOW HIGH", help="Of groups: public bounds of the values.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Fit even if the noise would most likely hide the result.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the expected result and the cost, and charge nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn the odds ratio or correlation of a data set's model by a release, which is charged.

    No analyst can do this: it is not reachable over HTTP. Servers that are running continue with the learnt model once
    they are restarted; until then, they take what the model assumed before, which costs more and is as safe.
    """
    from bayesdp.server.configuration import read_configuration
    from bayesdp.server.datasets import opened_session

    chosen: dict[str, Any] = {
        "tau": options.number("--private-tau", private_tau),
        "credibility": options.number("--credibility", credibility),
        "within": options.columns("--within", within) or None,
        "bounds": None if bounds is None else options.bounds("--bounds", bounds),
    }
    with opened_session(read_configuration(config), dataset, by) as session:
        learnt = session.preview_fit(**chosen) if dry_run else session.fit(**chosen, anyway=anyway)
        print(text_of(learnt, as_json))


@token_app.command("add", short_help="Issue a token for an analyst, and show it once.")
def add_token(
    name: Name,
    config: Config = _ARGUMENT,
    days: Annotated[str | None, typer.Option(metavar="N", help="Days until it expires; never by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Issue a token for an analyst of the configuration. It is shown once; the file of tokens keeps its hash."""
    from bayesdp.errors import InvalidInputError
    from bayesdp.server.configuration import read_configuration
    from bayesdp.server.tokens import TokenFile

    configuration = read_configuration(config)
    if name not in configuration.analysts:
        raise InvalidInputError(f"{config} has no analyst {name!r}; add a table [analysts.{name}] first")
    valid = None if days is None else options.positive("--days", days)
    print(text_of(TokenFile(configuration.tokens).add(name, days=valid), as_json))


@token_app.command("list", short_help="List the tokens, without their secrets.")
def list_tokens(config: Config = _ARGUMENT, as_json: AsJson = False) -> None:
    """List whose tokens there are, when they were issued and until when they are valid."""
    from bayesdp.server.configuration import read_configuration
    from bayesdp.server.tokens import TokenFile

    print(text_of(TokenFile(read_configuration(config).tokens).listed(), as_json))


@token_app.command("revoke", short_help="Revoke the tokens of an analyst, at once.")
def revoke_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of an analyst.")],
    config: Config = _ARGUMENT,
    number: Annotated[str | None, typer.Option(metavar="N", help="Only this token of the name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Revoke all tokens of an analyst, or one of them. Servers that are running refuse it from the next request on."""
    from bayesdp.server.configuration import read_configuration
    from bayesdp.server.tokens import TokenFile

    only = None if number is None else options.natural("--number", number)
    revoked = TokenFile(read_configuration(config).tokens).revoke(name, number=only)
    document = {"kind": "revoked", "schema": 1, "name": name, "tokens": revoked}
    said = f"{counted(revoked, 'token')} of {name} revoked."
    print(escaped(json.dumps(document, ensure_ascii=False) if as_json else said))
