"""Do records come in independent, jointly normal groups? Tests of SciPy and statsmodels on a sample of groups."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp import validation
from bayesdp.diagnostics.report import Outcome, UntestableError, check, judge, shown_p
from bayesdp.errors import InvalidInputError
from bayesdp.models import GaussianGroups
from bayesdp.models.arrays import readonly
from bayesdp.models.diagnosis import Diagnosis, worst

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pair = tuple[str, NDArray[np.float64], NDArray[np.float64]]

__all__ = ["GroupSample", "diagnose_groups"]

LEAST = 8
"""Fewer values than this are not tested."""

_SHAPIRO_MOST = 5000
_SHOWN = 3
_CONSTANT = 1e-12
_SIMULATIONS = 2999
_TOGETHER = (1000, 5)
"""At most so many groups and roles enter the test of joint normality, for its simulations."""

_SKEWNESS, _EXCESS_KURTOSIS, _DEVIATIONS, _AUTOCORRELATION, _CORRELATION = 0.5, 1.0, 1.1, 0.1, 0.1
"""Deviations from here on are large: docs/diagnostics.md."""


@dataclass(frozen=True, eq=False)
class GroupSample:
    """A sample of groups, one to a row, in the order of the data.

    roles:        the names of the columns, in the order of the model's covariance.
    values:       (groups, members), NaN where a group lacks a member.
    groups_total: how many groups there are in all.
    exchangeable: whether members have no roles, so that columns are mere positions.

    Raises InvalidInputError for values of another shape or infinite ones.

    >>> GroupSample(["mother", "child"], [[63.0, 64.5], [66.0, float("nan")]], 2, False).records
    3
    """

    roles: Sequence[str]
    values: NDArray[np.float64] | Any
    groups_total: int
    exchangeable: bool

    def __post_init__(self) -> None:
        roles = tuple(map(str, validation.items("roles", self.roles)))
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(roles):
            raise InvalidInputError(f"values must have one column for each of {len(roles)} roles, not {values.shape}")
        if np.isinf(values).any():
            raise InvalidInputError("values must be finite, or NaN where a member is missing")
        object.__setattr__(self, "roles", roles)
        object.__setattr__(self, "values", readonly(values))
        object.__setattr__(self, "groups_total", validation.natural("groups_total", self.groups_total, least=0))

    @property
    def records(self) -> int:
        """How many values there are."""
        return int((~np.isnan(self.values)).sum())

    @cached_property
    def scale(self) -> float:
        """The largest absolute value, or 1 if that is 0."""
        return float(np.nanmax(np.abs(self.values), initial=0.0)) or 1.0

    @cached_property
    def centred(self) -> NDArray[np.float64]:
        """The values divided by the scale, minus the mean of their role; constant roles are 0 exactly."""
        scaled = self.values / self.scale
        for column in scaled.T:
            present = column[~np.isnan(column)]
            if present.size:
                column -= present.mean() if np.ptp(present) > _CONSTANT else column
        return readonly(scaled)


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
        (
            _normal_members(sample),
            _normal_groups(sample),
            _equal_variances(sample, model),
            _independent_groups(sample),
            _group_size(sample, model),
            _covariance(sample, model) if model.correlation is None else _bound(sample, model.correlation),
        ),
        sample.records,
        f"{sample.records:,} records in " + (f"{rows:,} of {total:,} groups" if rows < total else f"{rows:,} groups"),
    )


@dataclass(frozen=True)
class _Case:
    """One of several tests of a kind: of one role, or of one pair of roles."""

    name: str
    statistic: str
    p_value: float
    effect: str
    large: bool
    values: Mapping[str, float]


def _judged(cases: Sequence[_Case], fine: str, flagged: str, advice: str, also: str = "") -> Outcome:
    """Correct the p-values for the number of cases by Holm's method; the verdict is the worst, the figure names it."""
    p_values = [case.p_value for case in cases]
    if len(cases) > 1:
        p_values = _statsmodels("stats.multitest").multipletests(p_values, method="holm")[1].tolist()
    verdict = worst(*(judge(p, case.large) for case, p in zip(cases, p_values, strict=True)))
    order = sorted(range(len(cases)), key=p_values.__getitem__)
    texts = [f"{cases[i].name}: {cases[i].statistic}, {shown_p(p_values[i])}, {cases[i].effect}" for i in order]
    hidden = f"; {len(texts) - _SHOWN} more with larger p" if len(texts) > _SHOWN else ""
    values = {"p_value": min(p_values)}
    for case, p in zip(cases, p_values, strict=True):
        values |= {f"{case.name}: {key}": value for key, value in {"p_value": p, **case.values}.items()}
    if verdict == "doubtful":
        flagged += " The deviation is significant, but small or not certain."
    meaning, todo = (fine, "") if verdict == "fine" else (flagged, advice)
    return Outcome(verdict, "; ".join(texts[:_SHOWN]) + hidden + also, meaning, todo, values)


_NOT_NORMAL = (
    "The Gaussian theorems are proven for normal groups. For others more may leak than the ε that is stated: with "
    "heavy tails or bent relations a record says more about its relatives than its correlation does."
)
_NORMAL_ADVICE = (
    "Model and release transformed values (their logarithm, say) if these are normal, or use ArbitraryGroups, which "
    "assumes nothing about values."
)


@check(
    "normal members",
    "Is each role normal by itself? (scipy.stats.shapiro, beyond 5,000 values normaltest; Holm's correction.)",
)
def _normal_members(sample: GroupSample) -> Outcome:
    from scipy import stats

    cases, left_out = [], []
    for role, column in zip(sample.roles, sample.centred.T, strict=True):
        present = column[~np.isnan(column)]
        if len(present) < LEAST or not present.any():
            left_out.append(role)
            continue
        small = len(present) <= _SHAPIRO_MOST
        test = stats.shapiro(present) if small else stats.normaltest(present)
        skewness, excess = float(stats.skew(present)), float(stats.kurtosis(present))
        cases.append(
            _Case(
                role,
                f"{'W' if small else 'K²'} = {test.statistic:.4g}",
                float(test.pvalue),
                f"skewness {skewness:.2f}, excess kurtosis {excess:.2f}",
                abs(skewness) >= _SKEWNESS or abs(excess) >= _EXCESS_KURTOSIS,
                {"statistic": float(test.statistic), "skewness": skewness, "excess_kurtosis": excess},
            )
        )
    if not cases:
        raise UntestableError(f"No role has {LEAST} values that are not all equal.")
    fine = "Each role looks normal by itself, as the Gaussian theorems assume."
    also = f"; too few or constant: {', '.join(left_out)}" if left_out else ""
    return _judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, also)


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
    for name, statistic, usual, limit in (
        ("skewness", _skewness, size * (size + 1) * (size + 2) / groups, size * _SKEWNESS**2),
        ("kurtosis", _kurtosis, size * (size + 2.0), size * (size + 2) * _EXCESS_KURTOSIS / 3),
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
        found = float(statistic(_whitened(tuple(some.T))))
        effect = f"normal groups have about {usual:.3g}"
        large = abs(found - usual) >= limit
        cases.append(_Case(name, f"{found:.3g}", float(test.pvalue), effect, large, {"statistic": found}))
    fine = "The members of a group look jointly normal, as the Gaussian theorems assume."
    also = f"; {groups:,} groups, roles {', '.join(roles)}, {_SIMULATIONS:,} simulations"
    return _judged(cases, fine, _NOT_NORMAL, _NORMAL_ADVICE, also)


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
    "Do all roles have the same variance? (Pitman and Morgan's test for members of one group, the correlation of sums "
    "and differences by scipy.stats.pearsonr; Holm's correction; scipy.stats.levene and bartlett for comparison.)",
)
def _equal_variances(sample: GroupSample, model: GaussianGroups) -> Outcome:
    from scipy import stats

    if sample.exchangeable:
        raise UntestableError(
            "Members have no roles, so whether means, variances and correlations are the same for all cannot be seen.",
            "Give a role column if members differ in kind.",
        )
    cases = []
    for name, left, right in _pairs(sample):
        test = stats.pearsonr(left + right, left - right)
        ratio = float(np.sqrt(max(left.var() / right.var(), right.var() / left.var())))
        p_value = float(test.pvalue) if ratio > 1 else 1.0
        effect = f"one standard deviation is {ratio:.3g} times the other"
        values = {"statistic": float(test.statistic) if ratio > 1 else 0.0, "deviation_ratio": ratio}
        cases.append(_Case(name, f"r = {values['statistic']:.3g}", p_value, effect, ratio >= _DEVIATIONS, values))
    columns = [present for column in sample.centred.T if (present := column[~np.isnan(column)]).any()]
    levene, bartlett = stats.levene(*columns, center="median"), stats.bartlett(*columns)
    also = (
        f"; for independent samples: Brown–Forsythe {levene.statistic:.4g}, {shown_p(levene.pvalue)}, "
        f"Bartlett {bartlett.statistic:.4g}, {shown_p(bartlett.pvalue)}"
    )
    found = _judged(
        cases,
        "All roles have about the same variance.",
        "gaussian-paper and gaussian-tight assume equal variances when the model is given by correlation= and size=. "
        "The member with the smaller variance moves the others by more than its correlation says, so more leaks.",
        "Give covariance= instead of correlation=; gaussian-covariance needs no equal variances.",
        also,
    )
    if model.correlation is None and found.verdict != "fine":
        meaning = (
            "Equal variances are rejected. The covariance of the model covers that; the theorems that need equal "
            "variances (gaussian-paper, gaussian-tight) do not apply to it."
        )
        return Outcome("fine", found.figure, meaning, values=found.values)
    return found


@check(
    "independent groups",
    "Are groups independent of the groups before them? (Ljung–Box, statsmodels.stats.diagnostic.acorr_ljungbox, on "
    "the means of the groups; it sees only dependence in the order of the data.)",
)
def _independent_groups(sample: GroupSample) -> Outcome:
    values = sample.centred[~np.isnan(sample.centred).all(axis=1)]
    if len(values) < LEAST:
        raise UntestableError(f"There are fewer than {LEAST} groups.")
    means = np.nanmean(values, axis=1)
    if np.ptp(means) <= _CONSTANT:
        raise UntestableError("The means of the groups are all equal.")
    lags = min(10, len(means) // 5)
    row = _statsmodels("stats.diagnostic").acorr_ljungbox(means, lags=[lags]).iloc[0]
    correlations = np.abs(_statsmodels("tsa.stattools").acf(means, nlags=lags, fft=False)[1:])
    largest = float(correlations.max())
    statistic = float(row["lb_stat"])
    values_of = {"statistic": statistic, "lags": lags, "largest_autocorrelation": largest}
    effect = f"the largest autocorrelation is {largest:.2g}"
    large = largest >= _AUTOCORRELATION
    return _judged(
        [_Case("means", f"Q = {statistic:.4g} at {lags} lags", float(row["lb_pvalue"]), effect, large, values_of)],
        "Groups that follow one another look independent, as the Gaussian theorems assume.",
        "Neighbouring groups resemble each other. The theorems take groups for independent: records of other groups "
        "then tell about a record, too, and the ε that is stated does not count this.",
        "If the data were sorted by their values, give them in another order, for that alone shows here. Otherwise "
        "join groups that belong together into larger ones.",
    )


@check("group size", "Has no group more members than the model says? (A count.)")
def _group_size(sample: GroupSample, model: GaussianGroups) -> Outcome:
    largest = int((~np.isnan(sample.values)).sum(axis=1).max(initial=0))
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

    cases = []
    for name, left, right in _pairs(sample):
        found = float(stats.pearsonr(left, right).statistic)
        spread = np.sqrt(len(left) - 3)
        seen, allowed = np.arctanh(np.minimum([abs(found), bound], 1 - 1e-15))
        p_value = stats.norm.sf((seen - allowed) * spread) + stats.norm.sf((seen + allowed) * spread)
        effect = f"at most {bound:g} is allowed"
        values = {"correlation": found, "bound": bound}
        cases.append(_Case(name, f"correlation {found:.3f}", min(float(p_value), 1.0), effect, True, values))
    return _judged(
        cases,
        "No correlation is significantly larger than the bound.",
        "Members are more strongly correlated than the model allows, so more leaks than the ε that is stated.",
        "Raise correlation=, or give the covariance.",
    )


@check(
    "covariance",
    "Do the data have the model's covariance? (statsmodels.stats.multivariate.test_cov on the complete groups.)",
)
def _covariance(sample: GroupSample, model: GaussianGroups) -> Outcome:
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
        raise UntestableError("The covariance was estimated from these very groups, so it agrees.")
    test = _statsmodels("stats.multivariate").test_cov(seen, len(whole), assumed)
    deviations = np.sqrt(np.diag(seen)), np.sqrt(np.diag(assumed))
    correlations = [
        cov / np.outer(deviation, deviation) for cov, deviation in zip((seen, assumed), deviations, strict=True)
    ]
    change = float(np.abs(correlations[0] - correlations[1]).max())
    ratio = float(np.exp(np.abs(np.log(deviations[0] / deviations[1])).max()))
    statistic, freedom = float(test.statistic), int(test.df)
    figure = f"χ² = {statistic:.4g} on {freedom} degree{'s' if freedom > 1 else ''} of freedom"
    effect = f"correlations differ by at most {change:.2g}, standard deviations by a factor of {ratio:.3g}"
    values = {"statistic": statistic, "degrees_of_freedom": freedom, "largest_change": change, "deviation_ratio": ratio}
    large = change >= _CORRELATION or ratio >= _DEVIATIONS
    return _judged(
        [_Case(f"{len(whole):,} groups", figure, float(test.pvalue), effect, large, values)],
        "The data agree with the model's covariance.",
        "The data have another covariance than the model, so the ε that is stated is that of other groups.",
        "Fit the model to these data, or combine both with AnyOf.",
    )


def _pairs(sample: GroupSample) -> Iterator[Pair]:
    """Yield the values of every two roles in the groups that have both, where these can be compared."""
    some = False
    for i, j in combinations(range(len(sample.roles)), 2):
        both = sample.centred[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both) >= LEAST and (np.ptp(both, axis=0) > _CONSTANT).all():
            some = True
            yield f"{sample.roles[i]} and {sample.roles[j]}", both[:, 0], both[:, 1]
    if not some:
        raise UntestableError(f"No two roles have {LEAST} groups in common with values that are not all equal.")


def _whole_groups(sample: GroupSample, least: int, most: int) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return complete groups, dropping the roles with the most gaps until there are enough; from `least` to `most`."""
    missing = np.isnan(sample.centred).sum(axis=0)
    kept = [i for i in np.argsort(missing, kind="stable") if np.nanmax(np.abs(sample.centred[:, i]), initial=0) > 0]
    for size in range(min(len(kept), most), max(least, 1) - 1, -1):
        roles = sorted(kept[:size])
        whole = sample.centred[:, roles]
        whole = whole[~np.isnan(whole).any(axis=1)]
        if len(whole) < max(LEAST, 3 * size) or (np.ptp(whole, axis=0) <= _CONSTANT).any():
            continue
        if size > 1 and np.linalg.eigvalsh(np.corrcoef(whole, rowvar=False))[0] < _CONSTANT * size:
            raise UntestableError("Some members of a group determine others exactly.", "Use ArbitraryGroups.")
        return whole, tuple(sample.roles[i] for i in roles)
    raise UntestableError(f"Too few groups have values, not all equal, for {max(least, 1)} roles at once.")


def _statsmodels(module: str) -> Any:
    try:
        return importlib.import_module(f"statsmodels.{module}")
    except ImportError:
        raise UntestableError("statsmodels is not installed; pip install 'bayesdp[diagnostics]'.") from None
