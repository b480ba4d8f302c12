"""Do records come in independent, jointly normal groups? Tests of SciPy on a sample of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.diagnostics.cases import Case, judged
from bayesdp.diagnostics.exchangeable import one_correlation, one_covariance, trend
from bayesdp.diagnostics.power import EFFECT, Power, chi_square, fisher, normal
from bayesdp.diagnostics.report import Outcome, UntestableError, by_construction, check, shown_p
from bayesdp.diagnostics.samples import CONSTANT, GroupSample
from bayesdp.models import GaussianGroups
from bayesdp.models.diagnosis import Diagnosis, Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pair = tuple[str, NDArray[np.float64], NDArray[np.float64]]

__all__ = ["diagnose_groups"]

LEAST = 8
"""Fewer values than this are not tested."""

_SHAPIRO_MOST = 5000
_SIMULATIONS = 2999
_TOGETHER = (1000, 5)
"""At most so many groups and roles enter the test of joint normality, for its simulations."""

_SKEWNESS, _EXCESS_KURTOSIS, _DEVIATIONS, _AUTOCORRELATION, _CORRELATION = 0.5, 1.0, 1.1, EFFECT, EFFECT
"""Deviations from here on are large: docs/diagnostics.md."""

_TAILS, _SKEWED = 86.0, 27.0
"""What heavy tails and skewness count for in the power of the tests of normality; fitted to simulations, see _tails."""

_LAGS = 10
_MOST_POSITIONS = 20
"""The variances of so many positions are compared, pair by pair."""


def diagnose_groups(sample: GroupSample, model: GaussianGroups) -> Diagnosis:
    """Test what the Gaussian theorems assume: normality, equal variances, independent groups, the correlations.

    Never fails on small or degenerate samples: what cannot be tested says why.

    >>> few = GroupSample(["mother", "child"], [[63.0, 64.5], [66.0, 65.0]], 2, False)
    >>> print(diagnose_groups(few, GaussianGroups(correlation=0.5, size=2)).findings[0])  # doctest: +ELLIPSIS
    – normal members: not tested. ... No role has 8 values that are not all equal.
    """
    rows, total = len(sample.values), sample.groups_total
    return Diagnosis(
        model.assumption,
        tuple(_findings(sample, model)),
        sample.records,
        f"{sample.records:,} records in " + (f"{rows:,} of {total:,} groups" if rows < total else f"{rows:,} groups"),
        tuple(_trusted(sample)),
    )


def _findings(sample: GroupSample, model: GaussianGroups) -> Iterator[Finding]:
    """Yield a finding for each assumption that this model makes about these data."""
    yield _normal_members(sample)
    yield _normal_groups(sample)
    if sample.exchangeable:
        yield trend(sample, model)
        placed = sample.by_position(_MOST_POSITIONS)
        if placed is not None:
            yield _equal_variances(placed)
    elif model.correlation is not None:
        yield _equal_variances(sample)
    if sample.groups_total > 1:
        yield _independent_groups(sample)
    yield _group_size(sample, model)
    if model.correlation is not None:
        yield one_correlation(sample, model) if sample.exchangeable else _bound(sample, model.correlation)
    else:
        yield one_covariance(sample, model) if sample.exchangeable else _covariance(sample, model)


def _trusted(sample: GroupSample) -> Iterator[str]:
    """Yield what the model assumes and no test of this table can see."""
    if sample.groups_total > 1:
        yield (
            "Groups are taken to be independent of each other; tested is whether those that follow one another in the "
            "table are."
        )
    if len(sample.values) < sample.groups_total:
        yield "The groups that were not looked at are like the others."


_NOT_NORMAL = (
    "The Gaussian theorems are proven for normal groups. For others more may leak than the ε that is stated: with "
    "heavy tails or bent relations a record says more about its relatives than its correlation does."
)
_NORMAL_ADVICE = (
    "Model and release transformed values (their logarithm, say) if these are normal, or use ArbitraryGroups, which "
    "assumes nothing about values."
)


def _tails(size: int, groups: int, unit: str) -> Callable[[float], Power]:
    """Return the power of a test of normality of groups of `size` against tails of an excess kurtosis of 1.

    By simulation, Shapiro and Wilk's test sees Student's t with 10 degrees of freedom about as often as a normal
    variable with mean √(n/86) is beyond its limit, and Mardia's kurtosis about as often as one with √(n·d(d + 2)/3/86).
    """
    per_group = size * (size + 2) / 3 / _TAILS
    return lambda level: Power(
        lambda number: normal(math.sqrt(number * per_group), level / 2), groups, unit, "an excess kurtosis of 1"
    )


@check(
    "normal members",
    "Is each role normal by itself? (scipy.stats.shapiro, beyond 5,000 values normaltest; Holm's correction. Without "
    "roles: one member of each group.)",
)
def _normal_members(sample: GroupSample) -> Outcome:
    from scipy import stats

    columns = dict(zip(sample.roles, sample.centred.T, strict=True))
    if sample.exchangeable and columns:
        columns = {"one member of each group": next(iter(columns.values()))}
    cases, left_out = [], []
    for role, column in columns.items():
        present = column[~np.isnan(column)]
        if len(present) < LEAST or not present.any():
            left_out.append(role)
            continue
        small = len(present) <= _SHAPIRO_MOST
        test = stats.shapiro(present) if small else stats.normaltest(present)
        skewness, excess = float(stats.skew(present)), float(stats.kurtosis(present))
        cases.append(
            Case(
                role,
                f"{'W' if small else 'K²'} = {test.statistic:.4g}",
                float(test.pvalue),
                f"skewness {skewness:.2f}, excess kurtosis {excess:.2f}",
                abs(skewness) >= _SKEWNESS or abs(excess) >= _EXCESS_KURTOSIS,
                {"statistic": float(test.statistic), "skewness": skewness, "excess_kurtosis": excess},
                _tails(1, len(present), "values"),
            )
        )
    if not cases:
        raise UntestableError(f"No role has {LEAST} values that are not all equal.")
    fine = "Each role looks normal by itself, as the Gaussian theorems assume."
    return judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, untested=left_out)


@check(
    "normal groups",
    "Are the members of a group normal together? (Mardia's skewness and kurtosis, p-values simulated by "
    "scipy.stats.monte_carlo_test, which is exact because neither depends on mean and covariance; Holm's correction.)",
)
def _normal_groups(sample: GroupSample) -> Outcome:
    from scipy.stats import monte_carlo_test

    whole, roles = _whole_groups(sample, 2, _TOGETHER[1])
    some = whole[np.linspace(0, len(whole) - 1, min(len(whole), _TOGETHER[0])).astype(int)]
    groups, size = some.shape
    cases = []
    for name, statistic, usual, limit, power in (
        (
            "skewness",
            _skewness,
            size * (size + 1) * (size + 2) / groups,
            size * _SKEWNESS**2,
            _skewed(size, groups),
        ),
        (
            "kurtosis",
            _kurtosis,
            size * (size + 2.0),
            size * (size + 2) * _EXCESS_KURTOSIS / 3,
            _tails(size, groups, "groups"),
        ),
    ):
        test = monte_carlo_test(
            tuple(some.T),
            (np.random.default_rng(0).standard_normal,) * size,
            lambda *columns, axis, statistic=statistic, usual=usual: np.abs(statistic(_whitened(columns)) - usual),
            n_resamples=_SIMULATIONS,
            batch=100,
            vectorized=True,
            alternative="greater",
        )
        seen = float(statistic(_whitened(tuple(some.T))))
        effect = f"normal groups have about {usual:.3g}"
        large = abs(seen - usual) >= limit
        cases.append(Case(name, f"{seen:.3g}", float(test.pvalue), effect, large, {"statistic": seen}, power))
    fine = "The members of a group look jointly normal, as the Gaussian theorems assume."
    also = f"; {groups:,} groups, {', '.join(roles)}, {_SIMULATIONS:,} simulations"
    return judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, also)


def _skewed(size: int, groups: int) -> Callable[[float], Power]:
    """Return the power of Mardia's skewness against members that are each skewed by 0.5.

    The statistic n·b/6 is then about noncentral chi-square; by simulation with n·d/27, a little less than n·d/24.
    """
    freedom, effect = size * (size + 1) * (size + 2) // 6, math.sqrt(size / _SKEWED)
    return lambda level: Power(
        lambda number: chi_square(number, freedom, effect, level), groups, "groups", "a skewness of 0.5"
    )


def _whitened(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return samples (…, groups, members) moved and turned to mean 0 and covariance 1."""
    values = np.stack(columns, axis=-1)
    values = values - values.mean(axis=-2, keepdims=True)
    root = np.linalg.cholesky(values.swapaxes(-1, -2) @ values / values.shape[-2])
    white: NDArray[np.float64] = values @ np.linalg.inv(root).swapaxes(-1, -2)
    return white


def _skewness(white: NDArray[np.float64]) -> Any:
    squares = (white[..., :, None] * white[..., None, :]).reshape(*white.shape[:-1], -1)
    return ((squares.swapaxes(-1, -2) @ white / white.shape[-2]) ** 2).sum(axis=(-1, -2))


def _kurtosis(white: NDArray[np.float64]) -> Any:
    return ((white**2).sum(axis=-1) ** 2).mean(axis=-1)


@check(
    "equal variances",
    "Do all roles, or all positions in the table, have the same variance? (Pitman and Morgan's test for members of one "
    "group, the correlation of sums and differences by scipy.stats.pearsonr; Holm's correction; scipy.stats.levene and "
    "bartlett for comparison.)",
)
def _equal_variances(sample: GroupSample) -> Outcome:
    from scipy import stats

    cases = []
    pairs, left_out = _pairs(sample)
    for name, left, right in pairs:
        test = stats.pearsonr(left + right, left - right)
        ratio = float(np.sqrt(max(left.var() / right.var(), right.var() / left.var())))
        p_value = float(test.pvalue) if ratio > 1 else 1.0
        effect = f"one standard deviation is {ratio:.3g} times the other"
        values = {"statistic": float(test.statistic) if ratio > 1 else 0.0, "deviation_ratio": ratio}
        power = _unequal(len(left), float(stats.pearsonr(left, right).statistic))
        cases.append(Case(name, f"r = {values['statistic']:.3g}", p_value, effect, ratio >= _DEVIATIONS, values, power))
    columns = [present for column in sample.centred.T if (present := column[~np.isnan(column)]).any()]
    levene, bartlett = stats.levene(*columns, center="median"), stats.bartlett(*columns)
    also = (
        f"; for independent samples: Brown–Forsythe {levene.statistic:.4g}, {shown_p(levene.pvalue)}, "
        f"Bartlett {bartlett.statistic:.4g}, {shown_p(bartlett.pvalue)}"
    )
    return judged(
        cases,
        "All members have about the same variance, as the model assumes.",
        "gaussian-paper and gaussian-tight assume equal variances when the model is given by correlation= and size=, "
        "and members without roles all have the same. The member with the smaller variance moves the others by more "
        "than its correlation says, so more leaks.",
        "Give covariance= instead of correlation=, or roles; gaussian-covariance needs no equal variances.",
        also,
        left_out,
    )


def _unequal(groups: int, correlation: float) -> Callable[[float], Power]:
    """Return the power of Pitman and Morgan's test against one standard deviation 1.1 times the other."""
    square = _DEVIATIONS**2
    of_sums = (square - 1) / math.sqrt((square + 1) ** 2 - 4 * min(abs(correlation), 0.99) ** 2 * square)
    effect = f"one standard deviation {_DEVIATIONS:g} times the other"
    return lambda level: Power(lambda number: fisher(number, 0.0, of_sums, level / 2), groups, "groups", effect)


@check(
    "independent groups",
    "Are groups independent of the groups before them? (Ljung and Box's test on the means of the groups; it sees only "
    "dependence in the order of the data.)",
)
def _independent_groups(sample: GroupSample) -> Outcome:
    from scipy.stats import chi2

    values = sample.centred[~np.isnan(sample.centred).all(axis=1)]
    if len(values) < LEAST:
        raise UntestableError(f"There are fewer than {LEAST} groups.")
    means = np.nanmean(values, axis=1)
    if np.ptp(means) <= CONSTANT:
        raise UntestableError("The means of the groups are all equal.")
    lags = min(_LAGS, len(means) // 5)
    correlations = _autocorrelations(means, lags)
    weights = len(means) * (len(means) + 2) / (len(means) - np.arange(1, lags + 1))
    statistic, largest = float(weights @ correlations**2), float(np.abs(correlations).max())
    values_of = {"statistic": statistic, "lags": lags, "largest_autocorrelation": largest}
    effect = f"the largest autocorrelation is {largest:.2g}"
    decaying = math.sqrt(sum(_AUTOCORRELATION ** (2 * lag) for lag in range(1, lags + 1)))

    def power(level: float) -> Power:
        return Power(
            lambda groups: chi_square(groups, lags, decaying, level),
            len(means),
            "groups",
            f"a correlation of {_AUTOCORRELATION:g} between neighbours",
        )

    case = Case(
        "means",
        f"Q = {statistic:.4g} at {lags} lags",
        float(chi2.sf(statistic, lags)),
        effect,
        largest >= _AUTOCORRELATION,
        values_of,
        power,
    )
    return judged(
        [case],
        "Groups that follow one another look independent, as the Gaussian theorems assume.",
        "Neighbouring groups resemble each other. The theorems take groups for independent: records of other groups "
        "then tell about a record, too, and the ε that is stated does not count this.",
        "If the data were sorted by their values, give them in another order, for that alone shows here. Otherwise "
        "join groups that belong together into larger ones.",
    )


def _autocorrelations(values: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Return the autocorrelations at 1, …, `lags`."""
    centred = values - values.mean()
    products = np.array([centred[lag:] @ centred[:-lag] for lag in range(1, lags + 1)])
    correlations: NDArray[np.float64] = products / (centred @ centred)
    return correlations


@check("group size", "Has no group more members than the model says? (A count.)")
def _group_size(sample: GroupSample, model: GaussianGroups) -> Outcome:
    largest = sample.largest or 0
    figure = f"the largest group has {largest} records, at most {model.group_size} allowed"
    values = {"largest_group": largest, "allowed": model.group_size}
    if largest <= model.group_size:
        return Outcome("fine", figure, "The groups are as small as the model says.", values=values)
    meaning = "Some group is larger than the model allows, so the ε that is stated does not cover it."
    return Outcome("violated", figure, meaning, "Raise size=, or give a covariance for the largest group.", values)


@check(
    "correlations",
    "Is any correlation larger than the model's bound? (Fisher's z of scipy.stats.pearsonr, Holm's correction.)",
)
def _bound(sample: GroupSample, bound: float) -> Outcome:
    from scipy import stats

    if bound >= 1:
        return by_construction("The bound allows every correlation.")
    cases = []
    pairs, left_out = _pairs(sample)
    for name, left, right in pairs:
        found = float(stats.pearsonr(left, right).statistic)
        spread = np.sqrt(len(left) - 3)
        seen, allowed = np.arctanh(np.minimum([abs(found), bound], 1 - 1e-15))
        p_value = stats.norm.sf((seen - allowed) * spread) + stats.norm.sf((seen + allowed) * spread)
        effect = f"at most {bound:g} is allowed"
        values = {"correlation": found, "bound": bound}
        power = _larger(len(left), bound)
        cases.append(Case(name, f"correlation {found:.3f}", min(float(p_value), 1.0), effect, True, values, power))
    return judged(
        cases,
        "No correlation is significantly larger than the bound.",
        "Members are more strongly correlated than the model allows, so more leaks than the ε that is stated.",
        "Raise correlation=, or give the covariance.",
        untested=left_out,
    )


def _larger(groups: int, bound: float) -> Callable[[float], Power]:
    """Return the power of Fisher's z against a correlation that is 0.1 larger, or half as far from 1."""
    actual = min(bound + _CORRELATION, (1 + bound) / 2)
    effect = f"a correlation of {actual:.3g}"
    return lambda level: Power(lambda number: fisher(number, bound, actual, level / 2), groups, "groups", effect)


@check(
    "covariance",
    "Do the data have the model's covariance? (Likelihood ratio with Bartlett's correction, on the complete groups.)",
)
def _covariance(sample: GroupSample, model: GaussianGroups) -> Outcome:
    from scipy.stats import chi2

    if sample.moments is not None and sample.moments == model.moments:
        return by_construction(_ESTIMATED)
    if len(model.matrices) > 1:
        raise UntestableError("The model has several kinds of group, and which group is of which kind is not known.")
    assumed = model.matrices[0] / sample.scale / sample.scale
    if len(assumed) != len(sample.roles):
        raise UntestableError(
            f"The model is about groups of {len(assumed)}, the sample has {len(sample.roles)} columns."
        )
    whole, _ = _whole_groups(sample, len(assumed), len(assumed))
    seen = np.atleast_2d(np.cov(whole, rowvar=False))
    if np.allclose(seen, assumed, rtol=1e-6, atol=0):
        return by_construction(_ESTIMATED)
    statistic, freedom = _covariance_ratio(seen, len(whole), assumed)
    deviations = np.sqrt(np.diag(seen)), np.sqrt(np.diag(assumed))
    correlations = [
        cov / np.outer(deviation, deviation) for cov, deviation in zip((seen, assumed), deviations, strict=True)
    ]
    change = float(np.abs(correlations[0] - correlations[1]).max())
    ratio = float(np.exp(np.abs(np.log(deviations[0] / deviations[1])).max()))
    figure = f"χ² = {statistic:.4g} on {freedom} degree{'s' if freedom > 1 else ''} of freedom"
    effect = f"correlations differ by at most {change:.2g}, standard deviations by a factor of {ratio:.3g}"
    values = {"statistic": statistic, "degrees_of_freedom": freedom, "largest_change": change, "deviation_ratio": ratio}
    divergence = math.sqrt(_least_divergence(correlations[1]))

    def power(level: float) -> Power:
        deviation = f"a correlation off by {_CORRELATION:g} or a standard deviation by a factor of {_DEVIATIONS:g}"
        return Power(
            lambda groups: chi_square(groups, freedom, divergence, level), len(whole), "complete groups", deviation
        )

    large = change >= _CORRELATION or ratio >= _DEVIATIONS
    p_value = float(chi2.sf(statistic, freedom))
    return judged(
        [Case(f"{len(whole):,} groups", figure, p_value, effect, large, values, power)],
        "The data agree with the model's covariance.",
        "The data have another covariance than the model, so the ε that is stated is that of other groups.",
        "Fit the model to these data, or combine both with AnyOf.",
    )


_ESTIMATED = "The covariance was estimated from these very groups, so it agrees."


def _covariance_ratio(seen: NDArray[np.float64], groups: int, assumed: NDArray[np.float64]) -> tuple[float, int]:
    """Return the likelihood ratio of "this covariance" against any, with Bartlett's correction, and its degrees."""
    size = len(seen)
    correction = 1 - (2 * size + 1 - 2 / (size + 1)) / (6 * (groups - 1) - 1)
    logarithms = np.linalg.slogdet(assumed)[1] - np.linalg.slogdet(seen)[1]
    distance = logarithms + np.trace(np.linalg.solve(assumed, seen)) - size
    return float((groups - 1) * correction * distance), size * (size + 1) // 2


def _least_divergence(correlations: NDArray[np.float64]) -> float:
    """Return twice the least divergence, per group, of normal groups in which one thing is off as much as matters.

    That is a correlation off by 0.1, up or down, or a standard deviation off by the factor 1.1. The noncentrality of
    the likelihood ratio is about this times the number of groups.
    """
    precision = np.linalg.inv(correlations)
    single = np.diag(precision)
    factor = _DEVIATIONS
    scaled = (factor**2 - 1) * single + 2 * (factor - 1) * (1 - single) - 2 * math.log(factor)
    least = float(scaled.min())
    rows, columns = np.triu_indices(len(correlations), 1)
    for change in (_CORRELATION, -_CORRELATION):
        pair = precision[rows, columns]
        determinant = (1 + change * pair) ** 2 - change**2 * single[rows] * single[columns]
        possible = determinant > 0
        if possible.any():
            moved = 2 * change * pair[possible] - np.log(determinant[possible])
            least = min(least, float(moved.min()))
    return max(least, 0.0)


def _pairs(sample: GroupSample) -> tuple[list[Pair], list[str]]:
    """Return the values of every two roles in the groups that have both, and the pairs that cannot be compared."""
    pairs: list[Pair] = []
    left_out = []
    for i, j in combinations(range(len(sample.roles)), 2):
        both = sample.centred[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        name = f"{sample.roles[i]} and {sample.roles[j]}"
        if len(both) >= LEAST and (np.ptp(both, axis=0) > CONSTANT).all():
            pairs.append((name, both[:, 0], both[:, 1]))
        else:
            left_out.append(name)
    if not pairs:
        raise UntestableError(f"No two roles have {LEAST} groups in common with values that are not all equal.")
    return pairs, left_out


def _whole_groups(sample: GroupSample, least: int, most: int) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return complete groups, dropping the roles with the most gaps until there are enough; from `least` to `most`."""
    missing = np.isnan(sample.centred).sum(axis=0)
    kept = [i for i in np.argsort(missing, kind="stable") if np.nanmax(np.abs(sample.centred[:, i]), initial=0) > 0]
    for size in range(min(len(kept), most), max(least, 1) - 1, -1):
        roles = sorted(kept[:size])
        whole = sample.centred[:, roles]
        whole = whole[~np.isnan(whole).any(axis=1)]
        if len(whole) < max(LEAST, 3 * size) or (np.ptp(whole, axis=0) <= CONSTANT).any():
            continue
        if size > 1 and np.linalg.eigvalsh(np.corrcoef(whole, rowvar=False))[0] < CONSTANT * size:
            raise UntestableError("Some members of a group determine others exactly.", "Use ArbitraryGroups.")
        return whole, tuple(sample.roles[i] for i in roles)
    raise UntestableError(f"Too few groups have values, not all equal, for {max(least, 1)} roles at once.")
