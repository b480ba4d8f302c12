"""The arguments and options that several commands share, and the printing of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bayesdp._support.validation import escaped
from bayesdp.cli import completion

if TYPE_CHECKING:
    from bayesdp._support.documents import Document

__all__ = [
    "Accept",
    "AsJson",
    "Authority",
    "Beta",
    "BudgetDelta",
    "Credibility",
    "Data",
    "Dataset",
    "Delta",
    "Engine",
    "FirstBudget",
    "Growing",
    "HeadsFile",
    "LedgerUrl",
    "Master",
    "Missing",
    "ModelOption",
    "ModelPath",
    "MoreLeakage",
    "Neighbours",
    "NewBudget",
    "Noise",
    "Plot",
    "Public",
    "Responsible",
    "Separate",
    "ServerUrl",
    "Share",
    "SomeData",
    "SomeDataset",
    "SomeEngine",
    "SomeModel",
    "TheoremName",
    "TokenFile",
    "text_of",
]

ModelPath = Annotated[str, typer.Argument(metavar="MODEL.json", help="The correlation model, a JSON file.")]
ModelOption = Annotated[str, typer.Option("--model", metavar="MODEL.json", help="The correlation model, a JSON file.")]
SomeModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL.json", help="The correlation model, a JSON file.")
]
_TABLE = (
    "The table: .parquet, .csv, .tsv, .csv.gz or .xlsx; a glob; a folder of Parquet files; sqlite:///FILE#TABLE. "
    "Several files, globs or folders of one kind are one table."
)
Data = Annotated[list[str], typer.Argument(metavar="DATA", help=_TABLE)]
SomeData = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=_TABLE)]
ServerUrl = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Ask this server instead of reading DATA; it has the model as well."),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file", metavar="FILE", help="The file with the token for --server; by default BAYESDP_TOKEN has it."
    ),
]
Authority = Annotated[
    str | None,
    typer.Option("--ca", metavar="FILE", help="The certificate of the authority of --server, if it is your own."),
]
HeadsFile = Annotated[
    str | None,
    typer.Option(
        "--heads",
        metavar="FILE",
        help="The file that keeps what was seen of the ledger of --server; by default in your home directory.",
    ),
]
_ENGINE = typer.Option(
    "--engine",
    metavar="ENGINE",
    help="The engine that reads the table: polars, or spark (Parquet only).",
    autocompletion=completion.engines,
)
Engine = Annotated[str, _ENGINE]
SomeEngine = Annotated[str | None, _ENGINE]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The Spark master, such as spark://host:7077, yarn or local[4]; by default, as configured."
    ),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The ledger: FILE, sqlite:///FILE or postgresql://user@host/database; by default BAYESDP_LEDGER, else a "
        "ledger in your home directory.",
    ),
]
Separate = Annotated[
    str | None,
    typer.Option(
        "--separate-because",
        metavar="REASON",
        help="The reason why this data set needs an account separate from one that looks the same.",
    ),
]
Growing = Annotated[bool, typer.Option("--growing", help="New rows will be appended to the table.")]
Dataset = Annotated[
    str,
    typer.Option(metavar="NAME", help="The name of the data set in the ledger.", autocompletion=completion.datasets),
]
SomeDataset = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="Only this data set.", autocompletion=completion.datasets),
]
Public = Annotated[
    list[str] | None,
    typer.Option(
        "--public",
        metavar="A,B",
        help="The public columns, declared by the data holder when the account is opened.",
    ),
]
FirstBudget = Annotated[
    str | None,
    typer.Option("--budget", metavar="ε", help="The budget of the data set, required when its account is opened."),
]
NewBudget = Annotated[str, typer.Option("--to", metavar="ε", help="The new budget.")]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="RULE", help="What to do with missing values: error, or drop the records; by default, as fitted."
    ),
]
Beta = Annotated[str, typer.Option(metavar="β", help="The probability that the error reaches alpha.")]
Credibility = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="The share of a fitted model's posterior for which the guarantee holds."),
]
BudgetDelta = Annotated[
    str | None,
    typer.Option(
        metavar="δ",
        help="The delta of an account that promises (epsilon, delta), fixed when it is opened, such as 1e-6.",
    ),
]
MoreLeakage = Annotated[str | None, typer.Option("--epsilon", metavar="ε", help="The additional leakage allowed.")]
Share = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="The share of the limit to take, instead of --epsilon, such as 0.01; the account must have a delta.",
    ),
]
Accept = Annotated[
    str | None,
    typer.Option(
        "--accept-violated",
        metavar="REASON",
        help="Continue, for this reason, although the diagnosis of the model is 'violated'.",
    ),
]
Responsible = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="The person responsible, recorded in the ledger.")
]
Delta = Annotated[str | None, typer.Option(metavar="δ", help="The δ of an (ε, δ) guarantee.")]
Noise = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="The noise, laplace or gaussian; by default, the one with the smaller error."),
]
Neighbours = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="The neighbouring data sets of τ, δ and ρ: replace (the default) or add-remove."),
]
TheoremName = Annotated[str | None, typer.Option("--theorem", metavar="NAME", help="Use only this theorem.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Also draw the result: .png, .svg or .pdf.")]


def text_of(document: Document, as_json: bool) -> str:
    """Return the printed form of a result: text or JSON."""
    return escaped(document.to_json(indent=2) if as_json else str(document))
