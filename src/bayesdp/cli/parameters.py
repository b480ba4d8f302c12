"""The arguments and options that several commands share, and how their results are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bayesdp._support.validation import escaped
from bayesdp.cli import completion

if TYPE_CHECKING:
    from bayesdp._support.documents import Document

__all__ = [
    "AsJson",
    "Beta",
    "BudgetDelta",
    "Credibility",
    "Data",
    "Dataset",
    "Engine",
    "Growing",
    "LedgerUrl",
    "Master",
    "Missing",
    "ModelPath",
    "NewBudget",
    "Plot",
    "Public",
    "Separate",
    "SomeDataset",
    "text_of",
]

ModelPath = Annotated[str, typer.Argument(metavar="MODEL.json", help="The correlation model, a JSON file.")]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The table: .parquet, .csv, .tsv, .csv.gz or .xlsx; a glob; a folder of Parquet files; sqlite:///FILE#TABLE.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="ENGINE",
        help="The engine that reads the table: polars, or spark (Parquet only).",
        autocompletion=completion.engines,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where Spark runs: spark://host:7077, yarn, local[4]; by default, as configured."),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A file, sqlite:///budget.db or postgresql://user@host/database; by default BAYESDP_LEDGER, or your own.",
    ),
]
Separate = Annotated[
    str | None,
    typer.Option(
        "--separate-because", metavar="REASON", help="Why this data set differs from one that looks the same."
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
        help="The columns that anyone may know, as the holder of the data declares the first time.",
    ),
]
NewBudget = Annotated[str, typer.Option("--to", metavar="ε", help="The new budget.")]
Missing = Annotated[
    str | None,
    typer.Option(metavar="RULE", help="What to do with missing values: error, or drop; by default, as fitted."),
]
Beta = Annotated[str, typer.Option(metavar="β", help="How likely the error may be to reach alpha.")]
Credibility = Annotated[
    str | None, typer.Option(metavar="SHARE", help="Keep the promise for this share of a fitted model's posterior.")
]
BudgetDelta = Annotated[
    str | None,
    typer.Option(
        metavar="δ", help="The delta of an account that promises (epsilon, delta), fixed when it is opened: 1e-6."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Also draw the result: .png, .svg or .pdf.")]


def text_of(document: Document, as_json: bool) -> str:
    """Return a result as it is printed: in words, or as JSON."""
    return escaped(document.to_json(indent=2) if as_json else str(document))
