"""The tables of the report: data sets, smallest ε, errors as multiples of plain DP, the paper's numbers beside ours."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bayesdp.accuracy import least_failure
from bayesdp.calibration.calibrate import largest_taus
from bayesdp.experiments.paper import CLAIMS, DATA
from bayesdp.experiments.simulate import Result
from bayesdp.experiments.studies import IF_EQUAL, STUDIES, Study
from bayesdp.models import GaussianGroups, MarkovChain
from bayesdp.queries import Count
from bayesdp.theorems.gaussian.paper import paper_factor
from bayesdp.theorems.registry import theorem_named
from bayesdp.theorems.spend import as_spend

__all__ = [
    "SHOWN",
    "ReportTable",
    "agrees",
    "joined",
    "least_epsilon",
    "study_tables",
    "theory_table",
]

SHOWN = (1.0, 5.0, 10.0, 20.0)
"""The ε of the tables."""

_NEXT_TO_NOTHING = 1e-9
"""A τ so small that the ε of a theorem at it is the smallest that the theorem can prove."""

_MARKOV = ("markov-paper", "markov-quilt", "markov-mixing", "markov-count", "general")


@dataclass(frozen=True)
class ReportTable:
    """A table of texts. grouped: rows with the same first cell are shown together below it."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    grouped: bool = False

    def csv(self) -> str:
        """Return the table as CSV."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()


def joined(tables: Sequence[ReportTable]) -> tuple[ReportTable, ...]:
    """Merge tables of the same name: all rows in order, and each note once."""
    by_name: dict[str, ReportTable] = {}
    for part in tables:
        before = by_name.get(part.name, replace(part, rows=(), notes=()))
        notes = tuple(dict.fromkeys([*before.notes, *part.notes]))
        by_name[part.name] = replace(before, rows=before.rows + part.rows, notes=notes)
    return tuple(table for table in by_name.values() if table.rows)


def study_tables(study: Study, result: Result) -> list[ReportTable]:
    """Return the rows of all tables for one data set."""
    return [
        paper_table(study, result),
        data_table(study, result),
        diagnosis_table(study),
        least_table(study),
        multiples_table(study, result),
    ]


def least_epsilon(theorem: str, study: Study) -> float | None:
    """Return the smallest ε a theorem can prove, at a tiny τ; None if it does not apply."""
    chosen, spec = theorem_named(theorem), study.experiment
    spend = as_spend(spec.query, _NEXT_TO_NOTHING)
    return chosen.epsilon(spec.model, spend) if chosen.objection(spec.model, spend) is None else None


def data_table(study: Study, result: Result) -> ReportTable:
    """Return a data set with the paper's values beside ours."""
    printed, answers = DATA[study.name], result.answers
    symbol, value = ("ρ", _correlation(study)) if printed.matrix is None else ("γ", _chain(study).gamma)
    row = (
        study.label,
        f"{printed.records} / {study.records}" + (f", {len(answers)} days" if len(answers) > 1 else ""),
        f"{printed.size} / {study.size}",
        f"{symbol} = {printed.gamma or printed.correlation} / {value:.4f}",
        f"{printed.sensitivity} / {study.experiment.query.sensitivity:g} {study.unit}",
        f"{_answer(answers)} {study.unit}" + (" a day" if len(answers) > 1 else ""),
    )
    header = ("data set", "records n", "correlated m", "parameter", "sensitivity", "exact answer")
    notes = ("The paper's value / ours.", *(f"{study.title}: {_lower(remark)}." for remark in study.remarks))
    return ReportTable("data-sets", "Data sets, the paper's values and ours", header, (row,), notes)


def diagnosis_table(study: Study) -> ReportTable:
    """Return the diagnosis of a data set."""
    row = (study.label, study.diagnosis.verdict, study.judged)
    notes = (
        "The tests of diagnose(). The proofs hold for the model: data that do not follow it may leak more. "
        "The paper says that all its data sets meet the conditions of its theorems.",
        *(
            ["A twin was drawn from the model, so its verdict does not apply to the original; see errata, 17."]
            if study.data.source == "twin"
            else []
        ),
    )
    header = ("data set", "verdict", "what contradicts the model")
    return ReportTable("diagnosis", "Do the data look like their models?", header, (row,), notes)


def _answer(answers: Sequence[float]) -> str:
    mean = sum(answers) / len(answers)
    return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"


def least_table(study: Study) -> ReportTable:
    """Return the smallest ε of a Markov data set under every theorem; no row for another data set."""
    rows = []
    if DATA[study.name].matrix is not None:
        cells = []
        for theorem in _MARKOV:
            least = least_epsilon(theorem, study)
            none = least is not None and least < 1e-3
            cells.append("does not apply" if least is None else "any ε > 0" if none else f"{least:.3f}")
        rows.append((study.label, " / ".join(dict.fromkeys(DATA[study.name].least)), *cells))
    header = ("data set", "printed in the paper", *_MARKOV)
    note = "The ε that a theorem proves for a tiny τ. No amount of noise guarantees a smaller ε."
    return ReportTable("least-epsilon", "The smallest ε that can be guaranteed", header, tuple(rows), (note,))


def multiples_table(study: Study, result: Result) -> ReportTable:
    """Return the error under every theorem as a multiple of plain DP's, at a few ε."""
    rows = []
    for name in result.mechanisms[1:]:
        at_shown = [row for epsilon in SHOWN for row in result.at(name, epsilon)]
        rows.append((study.label, name, *(_multiple(row.factor) for row in at_shown)))
    for name, reason in result.reasons:
        if "it is about" not in reason and name != "independent":
            rows.append((study.label, name, *("does not apply" for _ in SHOWN)))
    header = ("data set", "theorem", *(f"ε = {epsilon:g}" for epsilon in SHOWN))
    equal = (
        f"“{IF_EQUAL}”: from the paper's printed ρ, and no guarantee for these data, whose variances differ. "
        "gaussian-paper is then what the paper published; gaussian-tight is ours."
    )
    supposed = any(IF_EQUAL in name for name in result.mechanisms)
    notes = (*([equal] if supposed else []), *_refusals(study, result))
    return ReportTable("multiples", "Error as a multiple of plain DP's", header, tuple(rows), notes, grouped=True)


def paper_table(study: Study, result: Result) -> ReportTable:
    """Return every recomputable number of the paper about a data set, beside ours, with a verdict."""
    about = _gaussian if DATA[study.name].matrix is None else _markov
    rows = (*_records(study.name, study), *about(study.name, study, result))
    return _beside(study.label, rows)


def theory_table(charts: Sequence[str]) -> ReportTable:
    """Return every number of the paper about the theory in these figures, beside ours, with a verdict."""
    return _beside("Theory, no data", [row for chart in charts for row in _theory(chart)])


def _beside(about: str, rows: Sequence[Cells]) -> ReportTable:
    header = ("about", "what", "printed", "from the paper's own numbers", "from the data", "verdict")
    cells = tuple((about, *row) for row in rows)
    return ReportTable("paper-vs-ours", "The paper's numbers and ours", header, cells, grouped=True)


def agrees(printed: str, value: float) -> str | None:
    """Return "match" if the value rounds to the printed one, "match, cut off …" if it truncates to it, else None.

    >>> agrees("0.882", 0.88236), agrees("0.117", 0.11764), agrees("4.7", 6.95)
    ('match', 'match, cut off instead of rounded', None)
    """
    decimals = len(printed.partition(".")[2])
    step, off = 10.0**-decimals, value - float(printed)
    if abs(off) <= step / 2 * (1 + 1e-9):
        return "match"
    return "match, cut off instead of rounded" if 0 <= off < step else None


Cells = tuple[str, str, str, str, str]


def _row(what: str, printed: str, own: float | None, data: float | None, otherwise: str, digits: int = 4) -> Cells:
    """Return one row: match if the recomputed value, from either source, rounds to the printed one."""
    verdicts = [None if value is None else agrees(printed, value) for value in (own, data)]
    agreeing = [verdict for verdict in verdicts if verdict]
    shown = ["–" if value is None else f"{value:.{digits}f}" for value in (own, data)]
    return what, printed, shown[0], shown[1], min(agreeing, key=len) if agreeing else otherwise


def _records(name: str, study: Study) -> Iterator[Cells]:
    frame = study.data.frame
    missing = sum(frame.null_count().row(0))
    reason = (
        f"differs: {frame.height:,} counts the {missing:,} missing values"
        if missing
        else f"differs: one child of each family and its parents are {study.records // study.size} trios; the file has "
        f"{frame.height} rows, one a child; the paper's number must rest on another edition of it"
    )
    yield _row("records n", DATA[name].records, None, study.records, reason, digits=0)


def _gaussian(name: str, study: Study, result: Result) -> Iterator[Cells]:
    printed, model = DATA[name], _groups(study)
    assert printed.correlation is not None
    assert printed.factor is not None
    rho = _correlation(study)
    yield _row("largest correlation ρ", printed.correlation, None, rho, "differs")
    own, data = (float(paper_factor(study.size, Fraction(value))) for value in (printed.correlation, rho))
    row = _row("factor ε/τ of the Gaussian bound", printed.factor, own, data, "differs")
    paper, exact, general = (
        next(
            rows[0]
            for mechanism in result.mechanisms
            if mechanism.startswith(start) and (rows := result.at(mechanism, 1.0))
        )
        for start in ("gaussian-paper", "gaussian-covariance", "general")
    )
    if not paper.proven:
        deviations = ", ".join(f"{value**0.5:.2f}" for value in sorted(model.matrices[0].diagonal(), reverse=True))
        below = "above: ε is understated" if (exact.factor or 0) > own else "still below it"
        row = (
            *row[:4],
            f"{row[4]}, but variances differ (sd {deviations}); the lemma gives {exact.factor:.3f}, {below}",
        )
    yield row
    claim = CLAIMS.galton_saving if name == "galton" else CLAIMS.iq_saving
    saved = (general.alpha or 0) - (paper.alpha or 0)
    three = (general.alpha or 0) / study.size * 3 - (paper.alpha or 0)
    verdict = (
        "holds"
        if saved > float(claim)
        else (
            f"less: general has τ = ε/{study.size} here; the text takes τ = ε/3 for all three data sets, which is "
            f"right for Galton only and would save {three:.0f}"
        )
    )
    yield f"error saved at ε = 1, {study.unit}", f"more than {claim}", "–", f"{saved:.0f}", verdict


def _markov(name: str, study: Study, result: Result) -> Iterator[Cells]:
    printed, model = DATA[name], _chain(study)
    assert printed.matrix is not None
    assert printed.gamma is not None
    entries = [entry for row in model.transition for entry in row]
    verdicts = [agrees(text, entry) for text, entry in zip(printed.matrix, entries, strict=True)]
    verdict = "differs" if None in verdicts else max(map(str, verdicts), key=len)
    ours = " ".join(f"{entry:.4f}" for entry in entries)
    yield "transition matrix, row by row", " ".join(printed.matrix), "–", ours, verdict
    numbers = [float(text) for text in printed.matrix]
    gamma = max(numbers) / min(numbers)
    contradiction = (
        f"contradicts the printed matrix: {max(printed.matrix)}/{min(printed.matrix)} = {gamma:.2f}, 4 ln γ = "
        f"{4 * math.log(gamma):.2f}"
    )
    yield _row("γ, from the printed matrix", printed.gamma, gamma, model.gamma, contradiction)
    wrong = agrees(printed.gamma, gamma) is None
    for place, least in zip(("equation", "text", "results"), printed.least, strict=False):
        own, data = 4 * math.log(gamma), 4 * math.log(model.gamma)
        from_gamma = 4 * math.log(float(printed.gamma))
        fits = agrees(least, from_gamma) is not None
        from_printed = f"the printed γ = {printed.gamma} gives {from_gamma:.4f}"
        known = f"wrong, because its γ is wrong: {from_printed}; it {contradiction}"
        reason = known if fits and wrong else f"differs: {from_printed}, {_unexplained(name, least, data)}"
        row = _row(f"smallest ε, 4 ln γ ({place})", least, own, data, reason)
        yield row if fits or not row[4].startswith("match") else (*row[:4], f"{row[4]}, but {from_printed}")
    if len(result.answers) > 1:
        for days in CLAIMS.days:
            every = study.data.frame["date"].n_unique()
            held = f"differs: {every} days, {len(result.answers)} of them with values"
            unseen = "" if days == str(every) else f"; the source of {days} is unknown"
            yield _row("number of days", days, None, len(result.answers), held + unseen, digits=0)
    yield from _claims(name, study, result)


def _unexplained(name: str, least: str, recomputed: float) -> str:
    """Explain a printed smallest ε that does not follow from the printed γ, as far as the paper's numbers allow."""
    printed = DATA[name]
    assert printed.matrix is not None
    low, high = _printed_range(printed.matrix)
    bracket = f"matrices that print like this one give {low:.4f} to {high:.4f}"
    place = len(least.partition(".")[2])
    others = [other for other, data in DATA.items() if other != name and data.least[:1] == (least,)]
    if others:
        return f"{bracket}; the equation has {least} for “{STUDIES[others[0]].title}”"
    if least != printed.least[0] and sorted(least) == sorted(printed.least[0]):
        return f"{bracket}; it may be the equation's {printed.least[0]} with two digits swapped"
    if math.ceil(recomputed * 10**place) == round(float(least) * 10**place):
        return f"{bracket}; rounded up, {recomputed:.4f} would be {least}"
    return f"{bracket}; γ would have to be {math.exp(float(least) / 4):.2f}, which does not occur in the paper"


def _printed_range(matrix: Sequence[str]) -> tuple[float, float]:
    """Return the range of 4 ln γ over two-state matrices whose entries round or truncate to these.

    >>> low, high = _printed_range(("0.818", "0.182", "0.371", "0.629"))
    >>> round(low, 3), round(high, 3)
    (5.998, 6.025)
    """
    rows = []
    for stay, leave in (matrix[:2], matrix[2:]):
        (least, most), (other_least, other_most) = map(_before_rounding, (stay, leave))
        rows.append((max(least, 1 - other_most), min(most, 1 - other_least)))
    entries = [(first, 1 - first, second, 1 - second) for first in rows[0] for second in rows[1]]
    gammas = [max(row) / min(row) for row in entries]
    return 4 * math.log(min(gammas)), 4 * math.log(max(gammas))


def _before_rounding(printed: str) -> tuple[float, float]:
    step = 10.0 ** -len(printed.partition(".")[2])
    return float(printed) - step / 2, float(printed) + step


def _claims(name: str, study: Study, result: Result) -> Iterator[Cells]:
    rows = [row for row in result.at("markov-paper") if row.factor is not None]
    if name == "activity":
        ratios = [(result.at("general", row.epsilon)[0].factor or 0) / (row.factor or 1) for row in rows]
        ratio = f"impossible: n(ε − 4 ln γ)/ε is below n = {study.records:,}"
        yield "error of general over that of markov-paper", CLAIMS.activity_ratio, "–", f"{max(ratios):,.0f}", ratio
    claim = CLAIMS.day_mape if len(result.answers) > 1 else CLAIMS.mape
    above = [row for row in rows if (result.expected(row) or 0) >= float(claim)]
    largest = max(result.expected(row) or 0 for row in rows)
    verdict = "holds for every ε tried"
    if above:
        last = max(row.epsilon for row in above)
        verdict = f"holds for ε above {last:g} only: just above the smallest ε, the error is unbounded"
    yield "MAPE of markov-paper, %", f"below {claim}", "–", f"up to {largest:.2g}", verdict
    yield _general_mape(result)


def _general_mape(result: Result) -> Cells:
    """Return the claim that the general bound is off by more than the answer itself, over the paper's ε."""
    claim = float(CLAIMS.general_mape)
    shares = {row.epsilon: result.expected(row) or 0 for row in result.at("general") if row.epsilon >= 1}
    above = [epsilon for epsilon, share in shares.items() if share > claim]
    verdict = "does not hold: it is below that for every ε from 1 on"
    if above:
        up_to = f"holds, for ε up to {max(above):g}: the mean error is n/ε records"
        verdict = up_to if len(above) < len(shares) else "holds for every ε tried"
    return "MAPE of general, %", f"above {claim:g}", "–", f"up to {max(shares.values()):.3g}", verdict


def _theory(chart: str) -> Iterator[Cells]:
    if chart == "gaussian-bound":
        yield _gaussian_wins()
    if chart == "markov-error":
        yield _similar()
    if chart == "markov-region":
        for claim, wins in ((CLAIMS.markov_wins, True), (CLAIMS.markov_loses, False)):
            tau, n, gamma = map(float, claim)
            limit = math.exp((n - 1) * tau / 4)
            verdict = "holds" if wins and gamma < limit else f"wrong: it loses from γ = {limit:.2f} on"
            what = f"γ {'at which markov-paper still wins' if wins else 'from which it loses'}, τ = {tau:g}, n = {n:g}"
            yield what, claim[2], f"up to {limit:,.2f}" if wins else f"from {limit:,.2f}", "–", verdict
    if chart == "impossibility":
        limits = [math.log(share / (1 - share)) for share in (0.9, 0.95, 0.99)]
        sure = 100 * (1 - least_failure(float(CLAIMS.impossible_below)))
        shown = ", ".join(f"{limit:.3f}" for limit in limits)
        verdict = (
            f"too large: at ε = {CLAIMS.impossible_below}, answers that are up to {sure:.1f} % certain are not excluded"
        )
        yield "ε below which 90, 95, 99 % certainty is impossible", CLAIMS.impossible_below, shown, "–", verdict


def _gaussian_wins() -> Cells:
    """Return the claim that the Gaussian bound wins for ρ ≈ 1/m, checked at ρ = 1/m."""
    loses = next(m for m in range(3, 1000) if paper_factor(m, Fraction(1, m)) > m)
    limits = ", ".join(f"{float(_limit(m) * m):.2f}/m for m = {m}" for m in (3, 5, 24))
    verdict = (
        f"holds only for m below {loses}: at ρ = 1/m it loses from m = {loses} on, and its limit falls to 0.8/m; "
        "gaussian-tight wins at ρ = 1/m for every m"
    )
    return "ρ up to which gaussian-paper beats general", CLAIMS.gaussian_wins, limits, "–", verdict


def _limit(size: int) -> Fraction:
    """Return the largest ρ at which the paper's Gaussian bound is at most the general one."""
    return (size - 1) / (Fraction(5, 4) * size**2 - 3 * size + 2)


def _similar() -> Cells:
    """Return the claim that an error like plain DP's needs ε above 5 or γ below 3, and whether these are enough."""
    epsilon, gamma = map(float, CLAIMS.similar)

    def factor(e: float, g: float) -> float:
        return e / (e - 4 * math.log(g))

    chain = MarkovChain([[gamma / (1 + gamma), 1 / (1 + gamma)], [1 / (1 + gamma), gamma / (1 + gamma)]])
    (ours,) = largest_taus(theorem_named("markov-mixing"), chain, Count(equals=1), [1.0])
    assert ours is not None
    verdict = (
        f"holds as a necessary condition, but is not sufficient: at ε = {epsilon + 1:g}, γ = {gamma + 1:g} the error "
        f"is {factor(epsilon + 1, gamma + 1):.1f} times plain DP's, and at γ = {gamma - 0.1:g} nothing is proven for ε "
        f"up to {4 * math.log(gamma - 0.1):.2f}; markov-mixing has {1 / ours:.2f} at ε = 1, γ = {gamma:g} (symmetric)"
    )
    least = f"{factor(epsilon, gamma):.2f} or more otherwise"
    return "h close to 1 for markov-paper", f"ε > {epsilon:g} or γ < {gamma:g}", least, "–", verdict


def _multiple(factor: float | None) -> str:
    if factor is None:
        return "not reached"
    return f"{factor:.3f}" if factor < 10 else f"{factor:,.2f}" if factor < 100 else f"{factor:,.0f}"


def _refusals(study: Study, result: Result) -> list[str]:
    """Return the reasons why theorems do not apply, one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in result.reasons:
        if "it is about" not in reason and name != "independent":
            reasons.setdefault(reason, []).append(name)
    sentences = []
    for reason, names in reasons.items():
        apply = "does not apply" if len(names) == 1 else "do not apply"
        why = reason if len(names) == 1 else reason.replace("it needs", "they need", 1)
        sentences.append(f"{study.title}: {' and '.join(names)} {apply}: {why}.")
    return sentences


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _correlation(study: Study) -> float:
    return _groups(study).largest_correlation


def _groups(study: Study) -> GaussianGroups:
    """Return the model of a data set for which the paper prints a correlation."""
    assert isinstance(study.experiment.model, GaussianGroups)
    return study.experiment.model


def _chain(study: Study) -> MarkovChain:
    """Return the model of a data set for which the paper prints a transition matrix."""
    assert isinstance(study.experiment.model, MarkovChain)
    return study.experiment.model
