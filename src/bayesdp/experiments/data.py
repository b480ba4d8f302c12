"""The data sets of the paper: the original file if it exists, otherwise a built-in twin."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from bayesdp._support.validation import brief
from bayesdp.errors import InvalidInputError, MissingDependencyError
from bayesdp.experiments import twins
from bayesdp.models import MarkovChain

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FAMILY_IQ_AUTOCORRELATION",
    "FOLDER_VARIABLE",
    "NAMES",
    "Dataset",
    "absent",
    "activity_chain",
    "load",
    "originals",
]

FOLDER_VARIABLE = "BAYESDP_DATA"
"""The environment variable that names the folder of the original files."""

FAMILY_IQ_AUTOCORRELATION = 0.29
"""The largest autocorrelation of the pairs' means in kidiq.csv, ten lags tried."""

Kind = Literal["text", "number", "whole number", "date"]

Result = TypeVar("Result")

_TIME, _SECONDS = "UNIX_TS", 24 * 60 * 60
"""The time column of AMPds2, and the number of seconds in a day."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of the paper and its source.

    >>> pairs = load("syntheticiq")
    >>> pairs.source, pairs.path, pairs.frame.columns
    ('synthetic', None, ['child', 'mother'])
    """

    name: str
    frame: pl.DataFrame = field(repr=False)
    source: Literal["file", "twin", "synthetic"]
    path: Path | None
    description: str
    """One sentence that names the source."""

    original_is: str = field(default="", repr=False)
    """For a twin: properties of the original that the twin lacks."""


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Return one of the data sets in `NAMES`, from its file in `folder`, or its twin if there is no such file.

    Without `folder`, the environment variable BAYESDP_DATA names it; without both, all data sets are twins. A file and
    its twin have the same columns of the same types, except for columns of kidiq.csv that no result depends on.

    >>> print(load("syntheticiq").description)
    SyntheticIQ, 10,000 pairs of a child's and a mother's IQ: drawn from the paper's normal law.

    Raises InvalidInputError for an unknown name, an unreadable folder and a file with unexpected content.
    """
    recipe = _recipe(name)
    files = _files(folder)
    _need_polars()
    original = recipe.original
    if original is None:
        return Dataset(name, recipe.twin(), "synthetic", None, f"{recipe.about}: drawn from {recipe.carries}.")
    path = original.among(files)
    if path is None:
        description = f"{recipe.about}: not the original data but a built-in twin with {recipe.carries}."
        return Dataset(name, recipe.twin(), "twin", None, description, recipe.original_is)
    description = f"{recipe.about}: the original data, read from {path.name}."
    return Dataset(name, original.read(path), "file", path, description)


def originals(folder: str | Path | None = None) -> tuple[Path, ...]:
    """Return the original files that `load` would read from `folder`, or from the folder in BAYESDP_DATA."""
    wanted = {name for recipe in _RECIPES.values() if recipe.original is not None for name in recipe.original.files}
    return tuple(path for name, path in _files(folder).items() if name in wanted)


def absent(name: str, folder: str | Path | None = None) -> tuple[str, ...]:
    """Return the file names that a data set may have and none of which is in a folder that was named; else ().

    The folder is the given one, or the one in BAYESDP_DATA. Without a folder, nothing is absent: a twin is expected.

    >>> absent("syntheticiq")
    ()
    """
    original, files = _recipe(name).original, _files(folder)
    named = folder is not None or bool(os.environ.get(FOLDER_VARIABLE))
    return original.files if original is not None and named and original.among(files) is None else ()


def activity_chain() -> MarkovChain:
    """Return the Markov chain of the Activity data: whether a person is active in a 5-minute interval.

    It covers 15,264 intervals of one person on 53 days, without transitions across missing intervals.

    >>> chain = activity_chain()
    >>> round(chain.gamma, 3), chain.length
    (7.5, 15264)
    """
    return MarkovChain.from_counts(
        twins.ACTIVITY_COUNTS,
        states=(False, True),
        length=twins.ACTIVITY_RECORDS,
        gaps=True,
        state="steps > 0",
        record="5-minute interval",
    )


def _need_polars() -> None:
    try:
        import polars  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "the data sets are Polars tables, and Polars is not installed; install it with: pip install polars"
        ) from None


def _recipe(name: str) -> _Recipe:
    if not isinstance(name, str) or name not in _RECIPES:
        raise InvalidInputError(f"there is no data set {brief(name)}; choose one of {', '.join(NAMES)}")
    return _RECIPES[name]


def _files(folder: str | Path | None) -> Mapping[str, Path]:
    """Return the files in the folder, given here or in the environment, by name; none without a folder."""
    what = "folder" if folder is not None else FOLDER_VARIABLE
    place = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if place is None:
        return {}
    if not isinstance(place, str | Path):
        raise InvalidInputError(f"{what} must be a path, not {brief(place)}")
    try:
        return {path.name: path for path in Path(place).iterdir()}
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{what} must be a folder that can be read, not {str(place)!r} ({error})") from None


def _read(path: Path, kinds: Mapping[str, Kind], gaps: frozenset[str] = frozenset()) -> pl.DataFrame:
    """Return the columns in `kinds` of a CSV file; only those in `gaps` may have missing values, NA or empty."""
    return _attempt(path, _scanned(path, kinds, gaps).collect)


def _read_electricity(path: Path, threshold: int) -> pl.DataFrame:
    """Return one row for each UTC day of AMPds2's Electricity_P.csv, as the authors' script computes it.

    It adds up all meters, those of the whole house and of its parts, with 0 for missing values. The energy of a day is
    24 hours at the mean power of its readings. The original file begins and ends at 07:00 UTC, so its first and last
    days are extrapolated from 17 and 7 hours. docs/reproduce.md explains this and the alternatives.
    """
    import polars as pl

    stamp = path.stat() if path.is_file() else None
    days = _daily_energy(path, None if stamp is None else (stamp.st_mtime_ns, stamp.st_size))
    return days.with_columns((pl.col("kwh") > threshold).alias("high"))


@lru_cache(maxsize=1)
def _daily_energy(path: Path, _stamp: tuple[int, int] | None) -> pl.DataFrame:
    """Return the energy of every day in kWh; cached, because three data sets apply thresholds to it."""
    import polars as pl

    meters = [column for column in _header(path) if column != _TIME]
    if not meters:
        raise InvalidInputError(f"{path} has no column besides {_TIME!r}; it should have one for each meter")
    kinds: dict[str, Kind] = {_TIME: "whole number", **dict.fromkeys(meters, "number")}
    readings = _scanned(path, kinds, frozenset(meters))
    day = (pl.col(_TIME) // _SECONDS).cast(pl.Int32, strict=False).cast(pl.Date)
    daily = (
        readings.group_by(day.alias("day"))
        .agg((pl.sum_horizontal(meters).mean() * 24 / 1000).alias("kwh"))
        .filter(pl.col("day").is_not_null())
        .sort("day")
    )
    days = _attempt(path, daily.collect)
    if days.is_empty():
        raise InvalidInputError(f"{path}, column {_TIME!r}: no reading has a valid date")
    return days


def _header(path: Path) -> list[str]:
    return _attempt(path, lambda: _texts(path).collect_schema().names())


def _texts(path: Path) -> pl.LazyFrame:
    """Return a CSV file, or a Stata file, as a lazy frame of texts."""
    import polars as pl

    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file")
    if path.suffix == ".dta":
        return _stata_texts(path)
    return pl.scan_csv(path, infer_schema=False, null_values="NA", glob=False)


def _stata_texts(path: Path) -> pl.LazyFrame:
    """Return a Stata file as a lazy frame of texts, its column `gender` as `sex`."""
    import polars as pl

    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError(
            f"{path} is a Stata file, and pandas, which reads it, is not installed; install it with: pip install pandas"
        ) from None
    try:
        table = pd.read_stata(path, convert_categoricals=False)
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise InvalidInputError(f"{path} cannot be read as a Stata file: {brief(str(error))}") from None
    columns = {
        name: [None if pd.isna(value) or value == "" else str(value) for value in table[name].to_numpy()]
        for name in table
    }
    return pl.LazyFrame(columns, schema=dict.fromkeys(columns, pl.String)).rename({"gender": "sex"}, strict=False)


def _scanned(path: Path, kinds: Mapping[str, Kind], gaps: frozenset[str]) -> pl.LazyFrame:
    """Return the columns of a CSV file as a lazy frame, after checking that they have these `kinds`."""
    texts, header = _texts(path), _header(path)
    for column in kinds:
        if column not in header:
            raise InvalidInputError(f"{path} has no column {column!r}; it should have {', '.join(kinds)}")
    _check(path, texts, kinds, gaps)
    return texts.select(_parsed(column, kind) for column, kind in kinds.items())


def _check(path: Path, texts: pl.LazyFrame, kinds: Mapping[str, Kind], gaps: frozenset[str]) -> None:
    """Raise InvalidInputError if a column is empty, has missing values or values of another kind."""
    import polars as pl

    seen = [pl.len().alias("rows")]
    for column, kind in kinds.items():
        text = pl.col(column)
        wrong = text.filter(text.is_not_null() & _parsed(column, kind).is_null()).first()
        seen += [wrong.alias(f"wrong {column}"), text.null_count().alias(f"missing {column}")]
    facts = _attempt(path, lambda: texts.select(seen).collect().row(0, named=True))
    rows = facts["rows"]
    if not rows:
        raise InvalidInputError(f"{path} has no rows")
    for column, kind in kinds.items():
        where, wrong_text, missing = f"{path}, column {column!r}", facts[f"wrong {column}"], facts[f"missing {column}"]
        if wrong_text is not None:
            raise InvalidInputError(f"{where}: {brief(wrong_text)} is not a {kind}")
        if missing and column not in gaps:
            raise InvalidInputError(f"{where}: {missing} of {rows} values are missing")


def _parsed(column: str, kind: Kind) -> pl.Expr:
    """Parse a column of texts; values of another kind become null."""
    import polars as pl

    text = pl.col(column)
    match kind:
        case "number":
            value = text.cast(pl.Float64, strict=False)
            return pl.when(value.is_finite()).then(value)
        case "whole number":
            return text.cast(pl.Int64, strict=False)
        case "date":
            return text.str.to_date("%Y-%m-%d", strict=False)
        case "text":
            return text


def _attempt(where: object, read: Callable[[], Result]) -> Result:
    """Return the result of `read`; turn errors of the reader into InvalidInputError with the file's name."""
    from polars.exceptions import PanicException, PolarsError

    try:
        return read()
    except (OSError, PolarsError, PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInputError(f"{where} cannot be read as comma-separated UTF-8 text: {reason}") from error


@dataclass(frozen=True)
class _Original:
    """The names that an original file may have, the authors' among them, in the order of preference."""

    files: tuple[str, ...]
    read: Callable[[Path], pl.DataFrame]

    def among(self, files: Mapping[str, Path]) -> Path | None:
        """Return the first of these files that exists."""
        return next((files[name] for name in self.files if name in files), None)


@dataclass(frozen=True)
class _Recipe:
    """A data set: its description, its original, its twin, and what the twin shares with the original or lacks."""

    about: str
    original: _Original | None
    twin: Callable[[], pl.DataFrame]
    carries: str
    original_is: str = ""


def _electricity(threshold: int) -> _Recipe:
    return _Recipe(
        f"Electricity, days on which a home used more than {threshold} kWh",
        _Original(("Electricity_P.csv",), partial(_read_electricity, threshold=threshold)),
        partial(twins.electricity, threshold),
        "the transition counts that the paper's matrix comes from",
    )


_GALTON: Mapping[str, Kind] = {
    "family": "text",
    "father": "number",
    "mother": "number",
    "sex": "text",
    "height": "number",
}
_KIDIQ: Mapping[str, Kind] = {
    "kid_score": "number",
    "mom_hs": "whole number",
    "mom_iq": "number",
    "mom_work": "whole number",
    "mom_age": "whole number",
}
_ACTIVITY: Mapping[str, Kind] = {"steps": "whole number", "date": "date", "interval": "whole number"}

_RECIPES: Mapping[str, _Recipe] = {
    "galton": _Recipe(
        "Galton, heights of 898 children and their parents",
        _Original(("galton.csv", "galton.dta"), partial(_read, kinds=_GALTON)),
        twins.galton,
        "the published means, variances and correlations",
        "The original lists families by the father's height, so that neighbouring families look alike; the twin does "
        "not.",
    ),
    "familyiq": _Recipe(
        "FamilyIQ, scores of 434 children and their mothers' IQ",
        _Original(("kidiq.csv", "kid_iq.csv"), partial(_read, kinds=_KIDIQ)),
        twins.family_iq,
        "the published means, variances and correlation",
        f"Neighbouring rows of the original resemble each other (autocorrelation up to {FAMILY_IQ_AUTOCORRELATION:g}), "
        "so that its pairs are not independent of each other, as the model assumes; the twin's are.",
    ),
    "syntheticiq": _Recipe(
        "SyntheticIQ, 10,000 pairs of a child's and a mother's IQ",
        None,
        twins.synthetic_iq,
        "the paper's normal law",
    ),
    "activity": _Recipe(
        "Activity, steps of one person in 5-minute intervals",
        _Original(("activity.csv",), partial(_read, kinds=_ACTIVITY, gaps=frozenset({"steps"}))),
        twins.activity,
        "the same transition counts and gaps",
        "The original is not a first-order chain: given now, the interval before still matters (G² = "
        f"{twins.order_statistic(twins.ACTIVITY_TRIPLES):.0f} on 2 degrees of freedom). The twin is one.",
    ),
    **{f"electricity-{threshold}": _electricity(threshold) for threshold in twins.ELECTRICITY_COUNTS},
}

NAMES = tuple(_RECIPES)
"""The names of the data sets."""
