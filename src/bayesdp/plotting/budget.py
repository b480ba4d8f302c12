"""Pictures of accounts: the total ε after each release, below the budget, and that of parts of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._support.progress import tracked
from bayesdp._support.validation import escaped
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError
from bayesdp.plotting.charts import Chart, Line, Panel, distinguished, steps, titled
from bayesdp.plotting.drawing import check_place, save
from bayesdp.plotting.palette import PALETTE
from bayesdp.queries import query_from_dict
from bayesdp.rounding import shown_above, shown_remaining
from bayesdp.session.parts import everywhere, merged
from bayesdp.theorems.spend import Release, Spend

if TYPE_CHECKING:
    from bayesdp.session.plan import AnyAccountant

__all__ = ["budget_chart", "plot_budget"]

Account = Mapping[str, Any]
"""One data set in the output of `bayesdp budget show --json`."""

Made = Mapping[str, Any]
"""One of its releases."""

_MOST_DATASETS, _MOST_KINDS, _MOST_NAMED, _LONGEST_PART = 6, 4, 3, 20

_BUDGET = "#000000"

_END = 0.5
"""How far lines continue after the last release, so that its step is visible."""

_NOTHING: Spend = ()


def plot_budget(accounts: Sequence[Account], accountants: Mapping[str, AnyAccountant], path: str | Path) -> Path:
    """Draw accounts and return the path; raises as `budget_chart` and `plotting.drawing.save` do."""
    check_place(path)
    return save(budget_chart(accounts, accountants), path)


def budget_chart(accounts: Sequence[Account], accountants: Mapping[str, AnyAccountant]) -> Chart:
    """Return a panel for each data set, the least remaining budget first: the total ε over its releases.

    accountants: by data set, to compute the total ε of each part. Raises InvalidInputError without an account.
    """
    opened = sorted((account for account in accounts if account["budget"] is not None), key=_left)
    if not opened:
        raise InvalidInputError("the ledger has no account to draw; open one with `bayesdp budget open`")
    shown = opened[:_MOST_DATASETS]
    panels = tuple(
        _panel(account, accountants.get(account["dataset"]), titled_panel=len(opened) > 1) for account in shown
    )
    more = len(opened) - len(shown)
    return Chart(
        "budget",
        _leaked_of(opened[0]) if len(opened) == 1 else f"Leakage and budget of {counted(len(opened), 'data set')}",
        "releases, in the order of the ledger; releases charged together are one step",
        "total leakage ε",
        panels,
        source=_source(opened[0])
        if len(opened) == 1
        else "sorted by remaining budget, smallest first" + (f"; {more} more are not shown" if more else ""),
        whole=True,
    )


def _left(account: Account) -> float:
    share: float = account["epsilon_remaining"] / account["budget"]
    return share


def _leaked_of(account: Account) -> str:
    left = shown_remaining(account["epsilon_remaining"], account["budget"])
    leaked = f"ε = {shown_above(account['epsilon_total'], 4)} of {account['budget']:g} leaked, {left} remaining"
    return f"{titled(account['dataset'], account['records'], 'model ' + account['model'])}: {leaked}"


def _source(account: Account) -> str:
    taken = f"{counted(len(account['releases']), 'release')}, {counted(len(account['refusals']), 'refusal')}"
    if account["credibility"] is None:
        return taken
    return f"{taken}; for {100 * account['credibility']:g} % of the models that the data leave possible"


def _panel(account: Account, accountant: AnyAccountant | None, *, titled_panel: bool) -> Panel:
    releases = _together(account["releases"])
    totals = [(float(place), together[0]["epsilon_total"]) for place, together in enumerate(releases, start=1)]
    now = [(float(len(releases)), account["epsilon_total"])]  # a private fit recomputes the total
    label = f"total: {shown_above(account['epsilon_total'], 3)}"
    curves = [Line("in all", ((0.0, 0.0), *totals, *(now if now != totals[-1:] else ())), PALETTE[0], "-", label)]
    pure = account.get("delta") is None
    curves += _parts(releases, accountant) if accountant is not None and pure else []
    held = [replace(curve, points=(*curve.points, (len(releases) + _END, curve.points[-1][1]))) for curve in curves]
    stairs = [replace(curve, points=steps(curve.points)) for curve in distinguished(held)]
    return Panel((*stairs, _budget(account, releases)), _leaked_of(account) if titled_panel else "")


def _together(releases: Sequence[Made]) -> list[list[Made]]:
    """Group the releases that were charged together: their entries are consecutive."""
    groups: list[list[Made]] = []
    for release in releases:
        last = groups[-1][-1] if groups else None
        if last is not None and (last["entry"] + 1, last["epsilon_total"]) == (
            release["entry"],
            release["epsilon_total"],
        ):
            groups[-1].append(release)
        else:
            groups.append([release])
    return groups


def _budget(account: Account, releases: Sequence[Sequence[Made]]) -> Line:
    """Return the budget in force after each release."""
    points = [
        (float(sum(together[0]["entry"] < change["entry"] for together in releases)), change["budget"])
        for change in account["changes"]
    ]
    last = (len(releases) + _END, account["budget"])
    return Line("budget", steps((*points, last)), _BUDGET, "--", f"budget: {account['budget']:g}")


def _parts(releases: Sequence[Sequence[Made]], accountant: AnyAccountant) -> list[Line]:
    """Return the total ε of parts, including the releases about the whole table.

    Parts with equal charges share a line; if there are more lines than colours, the largest charges are drawn.
    """
    spends = [
        [Release(query_from_dict(release["query"]).ledger_key().query, release["tau"]) for release in group]
        for group in releases
    ]
    queries = [release.query for group in spends for release in group]
    every = {(query.part_column, part) for query in queries if query.part_column is not None for part in query.parts}
    alike: dict[tuple[Spend, ...], list[tuple[str, str]]] = {}
    for by, part in sorted(every, key=str):
        alike.setdefault(tuple(_about(group, by, part) for group in spends), []).append((by, part))
    most = sorted(alike, key=lambda released: -sum(release.tau for group in released for release in group))[
        :_MOST_KINDS
    ]
    lines = []
    for place, released in enumerate(tracked(most, len(most), "adding up the leakage of parts")):
        sums = accumulate(released, lambda before, new: merged((*before, *new)), initial=_NOTHING)
        points = tuple((float(number), accountant.leaked(spent)) for number, spent in enumerate(sums))
        name = _parts_named(alike[released])
        lines.append(Line(name, points, PALETTE[1 + place], "-", f"{name}: {shown_above(points[-1][1], 3)}"))
    return lines


def _about(group: Sequence[Release], by: str, part: str) -> Spend:
    """Return the releases of one charge that concern a part, as releases about the whole table."""
    return tuple(
        Release(everywhere(release.query), release.loss)
        for release in group
        if release.query.part_column is None or (release.query.part_column == by and part in release.query.parts)
    )


def _parts_named(parts: Sequence[tuple[str, str]]) -> str:
    """Return the names of parts; of many, the first few.

    >>> _parts_named([("district", "A"), ("district", "B")]), _parts_named([("a", str(part)) for part in range(9)])
    ('district A, B', 'a 0, 1, 2 and 6 more')
    """
    by, shown = parts[0][0], [escaped(part)[:_LONGEST_PART] for _, part in parts[:_MOST_NAMED]]
    more = len(parts) - len(shown)
    return f"{by} {', '.join(shown)}" + (f" and {more} more" if more else "")
