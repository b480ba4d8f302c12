"""An overview of a ledger: the budget of each data set and its changes, its releases, and its refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from bayesdp._support import hooks
from bayesdp._support.display import Displayed, PrintedTable, Section, lines
from bayesdp._support.documents import Document
from bayesdp._support.words import counted
from bayesdp.errors import InvalidInputError, LedgerError
from bayesdp.ledger import Entry, Ledger, State
from bayesdp.losses import ConcentratedLoss, PureLoss
from bayesdp.models import Model
from bayesdp.models.learnt import Learnt
from bayesdp.queries import LedgerKey, query_from_dict
from bayesdp.queries.region import Region
from bayesdp.rounding import shown_above, shown_below, shown_remaining
from bayesdp.session.accounting import remaining, spend_of
from bayesdp.session.approximate_accounting import ApproximateAccountant, accountant_for
from bayesdp.session.delta_words import MEANING, number_left
from bayesdp.session.history import release_stored
from bayesdp.session.parts import Reading
from bayesdp.session.plan import AnyAccountant
from bayesdp.session.private_fit import first_fit
from bayesdp.session.windows import largest_of_records

__all__ = ["Overview", "overview", "overview_of"]

_CHANGES = {"open": "opened with", "lower": "lowered to", "raise": "raised to", "grow": "the table grows from"}


@dataclass(frozen=True)
class Overview(Displayed, Document):
    """What `bayesdp budget show` prints.

    datasets:    the entries of each.
    accountants: they convert the releases of each data set into leakage.
    """

    datasets: Sequence[dict[str, Any]]
    accountants: Mapping[str, AnyAccountant] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"kind": "budget-overview", "schema": 1, "datasets": list(self.datasets)}

    def _printed(self) -> Sequence[Section]:
        if not self.datasets:
            return [lines("The ledger is empty: no data set has been opened in it.")]
        return [section for account in self.datasets for section in _page(account)]

    def plot(self, path: str | Path) -> Path:
        """Draw what was leaked release after release, below the budget, and write the picture."""
        drawn: Path = hooks.call("plot.budget", self.datasets, self.accountants, path)
        return drawn


def overview(url: str | Path, dataset: str | None) -> Overview:
    """Return what every data set (or one) has leaked, with its releases, refusals and changes of its budget."""
    with Ledger(url, create=False) as ledger:
        return overview_of(ledger, dataset)


def overview_of(ledger: Ledger, dataset: str | None) -> Overview:
    """Return the same of a ledger that is open."""
    entries = ledger.entries(dataset)
    if dataset is not None and not entries:
        ledger.state(dataset)  # says that there is none
    accounts = ledger.datasets()
    by_dataset = groupby(sorted(entries, key=lambda entry: (entry.dataset, entry.number)), lambda entry: entry.dataset)
    accountants: dict[str, AnyAccountant] = {}
    summaries = [_summary(ledger, name, [*own], accountants, opened=name in accounts) for name, own in by_dataset]
    return Overview(summaries, accountants)


def _summary(
    ledger: Ledger, dataset: str, entries: Sequence[Entry], accountants: dict[str, AnyAccountant], *, opened: bool
) -> dict[str, Any]:
    refusals = [entry for entry in entries if entry.kind == "refusal"]
    refused = {
        "refusals": [
            {"entry": entry.number, "timestamp": entry.timestamp, "reason": entry.content().get("reason")}
            for entry in refusals
        ],
        "checks": sum(entry.kind == "check" for entry in entries),
        "public": list(ledger.public(dataset)),
    }
    if not opened:
        account: dict[str, Any] = {
            "budget": None,
            "epsilon_total": 0.0,
            "epsilon_remaining": None,
            "credibility": None,
            "model": None,
            "records": None,
            "growing": None,
            "releases_of_a_record": None,
        }
        return {"dataset": dataset, **account, "releases": [], "changes": [], **refused}
    state = ledger.state(dataset)
    spent = spend_of(state)
    answers = {entry.charge: entry.content() for entry in entries if entry.kind == "answer"}
    try:
        changes = [_change(entry.to_dict()) for entry in entries if entry.kind in _CHANGES]
        opening = ledger.opening(dataset)
        assert opening is not None
        model, described = Model.from_dict(opening["model"]), opening["description"]
        credibility, records = described.get("credibility"), described.get("records")
        fit = first_fit(entry.content() for entry in reversed(entries) if entry.kind == "answer")
        model = model if fit is None else fit.model
        charges = [entry for entry in entries if entry.kind == "charge"]
        releases = [_release(entry.to_dict(), answers.get(entry.number)) for entry in charges]
        met = _most_of_a_record([_reading(entry.content()) for entry in charges])
    except (InvalidInputError, LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise LedgerError(
            f"the ledger is damaged: an entry of {dataset!r} cannot be read ({error}); verify it"
        ) from None
    accountants[dataset] = accountant_for(model, state.promise, credibility)
    total = accountants[dataset].leaked(spent, state.budget)
    left = remaining(state.budget, total)
    account = {"budget": state.budget, "epsilon_total": total, "epsilon_remaining": left, "credibility": credibility}
    account |= {"model": model.kind, "records": records, "growing": bool(described.get("growing"))}
    account |= {"releases_of_a_record": met}
    if state.promise is not None:
        account |= {
            "delta": state.promise["delta"],
            "further_answers": _further_answers(accountants[dataset], state, entries),
        }
    return {"dataset": dataset, **account, "releases": releases, "changes": changes, **refused}


def _reading(charge: Mapping[str, Any]) -> Reading:
    """Return what a charge reads."""
    region = Region.from_dict(charge["region"]) if "region" in charge else None
    return Reading(LedgerKey.from_dict(charge["query"]).query, region)


def _most_of_a_record(readings: Sequence[Reading]) -> int:
    """Return how many of these releases a record is in at most."""
    divided = any(query.part_column is not None or region is not None for query, region in readings)
    if not divided:
        return len(readings)
    return max(int(number) for *_, number in largest_of_records((), readings))


def _change(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return how an entry set the budget, or let the table grow, and why."""
    body = entry["body"]
    changed: dict[str, Any] = (
        {"records": int(body["extents"][0]["records"])}
        if entry["kind"] == "grow"
        else {"budget": float(body["budget"])}
    )
    return {
        "entry": entry["number"],
        "timestamp": entry["timestamp"],
        "change": entry["kind"],
        **changed,
        "reason": body.get("separate_because" if entry["kind"] == "open" else "reason"),
    }


def _release(entry: Mapping[str, Any], answer: Mapping[str, Any] | None) -> dict[str, Any]:
    details, loss = entry["body"]["details"], entry["body"].get("loss")
    tau = entry["body"]["tau"] if loss is None else loss.get("tau")
    return {
        "entry": entry["number"],
        "timestamp": entry["timestamp"],
        "tau": None if tau is None else float(tau),
        **({} if loss is None else {"rho": float(loss["rho"]), "loss": loss}),
        "epsilon": float(details["epsilon"]),
        "epsilon_total": float(details["epsilon_total"]),
        "theorem": details["theorem"],
        "query": details["query"],
        "description": _description(details),
        "value": None if answer is None else answer.get("value"),
        "answer": _answered(answer),
        "diagnosis": details.get("diagnosis", {}).get("verdict"),
        "accepted": details.get("accepted"),
        "fit": details.get("fit"),
        "by": details.get("by"),
    }


def _description(details: Mapping[str, Any]) -> str:
    randomized = details.get("randomized")
    if details.get("fit") is not None:
        return str(
            details.get("learning") or Learnt.about(details["fit"])
        )  # older ledgers have learnt odds ratios only
    return query_from_dict(details["query"]).description if randomized is None else f"{randomized}, record by record"


def _answered(answer: Mapping[str, Any] | None) -> str:
    """Return a release's answer in words."""
    return "none stored" if answer is None else release_stored(answer).outcome


def _page(account: Mapping[str, Any]) -> list[Section]:
    """Return one data set in words."""
    name, refusals = account["dataset"], account["refusals"]
    name = name if name.isprintable() else ascii(name)
    refused = f"{counted(account['checks'], 'check')} of the table, {counted(len(refusals), 'refusal')}"
    if refusals:
        refused += f", the last on {_moment(refusals[-1])}: {refusals[-1]['reason']}"
    if account["budget"] is None:
        return [lines(f"{name}: no account; {refused}")]
    delta = "" if account.get("delta") is None else f" at δ = {shown_above(account['delta'])}"
    head = (
        f"{name}: ε = {shown_above(account['epsilon_total'])} of {account['budget']:g} leaked{delta}, "
        f"{shown_remaining(account['epsilon_remaining'], account['budget'])} remaining; "
        f"{counted(len(account['releases']), 'release')}, {refused}"
    )
    if account["credibility"] is not None:
        head += f"; for {shown_below(100 * account['credibility'])} % of the models that the data leave possible"
    public = f"Public columns: {', '.join(account['public'])}" if account["public"] else "No column is named as public."
    if account.get("delta") is not None:
        public = f"{_further(account)}{MEANING} {public}"
    changes = lines(
        *_why(account),
        public,
        "The budget:",
        *(_changed(change, account.get("delta")) for change in account["changes"]),
    )
    if not account["releases"]:
        return [lines(head), changes]
    rows = [
        [
            *(str(release["entry"]), _moment(release), shown_above(release["epsilon"]), _cost(release)),
            *(release["answer"], release["description"]),
        ]
        for release in account["releases"]
    ]
    releases = PrintedTable(["entry", "time", "ε", "τ", "answer", "question"], rows)
    notes = lines(*filter(None, map(_note, account["releases"])))
    return [lines(head), [releases, *notes], changes]


def _why(account: Mapping[str, Any]) -> list[str]:
    """Return why the account costs less than all of its releases together, in sentences."""
    number, most = len(account["releases"]), account["releases_of_a_record"]
    if number > 1 and most == 1:
        met = f"No record is in more than one of these {number} releases: together they cost no more than the dearest."
    elif most < number:
        met = f"A record is in at most {most} of these {number} releases, and pays only for those."
    else:
        met = ""
    grows = (
        "The table grows: a row that is added later pays only for releases that read it." if account["growing"] else ""
    )
    return [sentence for sentence in (met, grows) if sentence]


def _cost(release: Mapping[str, Any]) -> str:
    """Return the τ of a release, or its ρ if it has no τ."""
    return f"ρ = {shown_above(release['rho'])}" if release["tau"] is None else shown_below(release["tau"])


def _further_answers(accountant: AnyAccountant, state: State, entries: Sequence[Entry]) -> int | None:
    """Return how many more releases fit that are as large as the last one; None without one."""
    last = next((entry.content() for entry in reversed(entries) if entry.kind == "charge"), None)
    if last is None or not isinstance(accountant, ApproximateAccountant):
        return None
    loss = last["loss"]
    size = PureLoss(loss["tau"]) if "tau" in loss else ConcentratedLoss(loss["rho"], loss.get("delta", 0.0))
    return accountant.further(spend_of(state), (_reading(last),), size, state.budget)


def _further(account: Mapping[str, Any]) -> str:
    """Return how many more answers fit that are as large as the last one; empty if that is not known."""
    return number_left(account["further_answers"]) if account.get("further_answers") is not None else ""


def _changed(change: Mapping[str, Any], delta: float | None) -> str:
    value = f"{change['records']:,} rows on" if change["change"] == "grow" else f"{change['budget']:g}"
    line = f"  entry {change['entry']}, {_moment(change)}: {_CHANGES[change['change']]} {value}"
    if delta is not None and change["change"] == "open":
        line += f" at δ = {shown_above(delta)}"
    if change["reason"] is None:
        return line if change["change"] == "open" else f"{line}, no reason given"
    why = "apart from others because" if change["change"] == "open" else "because"
    return f"{line}, {why}: {change['reason']}"


def _note(release: Mapping[str, Any]) -> str:
    """Return the diagnosis of a release's model, why it was accepted, and who is responsible."""
    known = {
        "diagnosis of the model": release["diagnosis"],
        "accepted because": release["accepted"],
        "by": release["by"],
    }
    notes = "; ".join(f"{name}: {value}" for name, value in known.items() if value is not None)
    if release["fit"] is not None:
        notes += f"{'; ' if notes else ''}its ε is what it was charged, under the ceiling that was assumed before"
    return f"entry {release['entry']}: {notes}" if notes else ""


def _moment(line: Mapping[str, Any]) -> str:
    """Return a time as people write it, to the second and in UTC."""
    return str(line["timestamp"])[:19].replace("T", " ")
