"""A series whose odds ratios fall with the distance of records, given all others."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayesdp._support import hooks, validation
from bayesdp._support.arrays import Floats, readonly
from bayesdp._support.messages import name_of, param
from bayesdp._support.validation import brief
from bayesdp._support.words import listed
from bayesdp.errors import ModelError
from bayesdp.models.chain import CHAIN_OPTIONS, ORDER_BY_TEXT, Chain
from bayesdp.models.diagnosis import Diagnosis
from bayesdp.models.fit_option import FitOption
from bayesdp.models.layout import ChainLayout, column_name, column_names
from bayesdp.models.learnt_odds import LearntOdds
from bayesdp.models.learnt_series import LearntSeries
from bayesdp.models.odds import checked_odds, log_odds_above, odds_above
from bayesdp.models.pair_effects import PairEffects, credible_odds
from bayesdp.models.pair_regression import MOST_REACH, best_reach, effects_by_stratum, fitted_effects
from bayesdp.rounding import shown_above, shown_below

__all__ = ["OddsSeries"]

_AGREEMENT = 0.05
"""The tolerance between odds and the effects they follow from: they may be rounded, or drawn by another NumPy."""

_MOST_PATTERNS = 2**17
"""The most different patterns that are counted to choose a reach."""

_AT_ONCE = 64
"""The number of series in one batch of draws."""


@dataclass(frozen=True)
class OddsSeries(LearntOdds[LearntSeries], Chain):
    """Records of a series have bounded odds ratios that depend on their distance, given all other records.

    The probabilities of values may change with the hour, the weather or the place in the series, and need not be known.
    Whatever the values of all other records are: if one record had another value, the odds between any two values of a
    record ℓ places away would change by a factor of at most odds[ℓ − 1].

    odds:     the odds ratios, given all others, of records 1, 2, …, k apart, each at least 1; beyond k, records depend
              on one another only through those between.
    additive: whether what the records around one say about it adds up in the logarithm of its odds, and all push the
              same way, once the values of some records are swapped. It needs two states, or ordered values.
    ordered:  whether the values of every record have an order in which the effects of all pairs are monotone: of two
              records, a higher value of one never makes a higher value of the other less likely.
    fitted:   the effects that the odds follow from, if they were fitted (`fit`). The two must agree.
    credibility: the share of the posterior in which the series leaks no more than one with these odds.
    learnt:   the private release (`Session.fit`) that estimated the odds, if any: the guarantee then covers it.

    >>> OddsSeries([5.84, 1.25, 1.44]).reach
    3
    """

    odds: Sequence[float]
    additive: bool = field(default=False, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    fitted: PairEffects | None = field(default=None, kw_only=True)
    credibility: float | None = field(default=None, kw_only=True)
    learnt: LearntSeries | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "odds-series"
    about_values: ClassVar[bool] = True
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        *CHAIN_OPTIONS,
        ORDER_BY_TEXT,
        FitOption(
            "within",
            "Public columns, or hour, weekday or month: values may be more or less frequent at each of their values.",
            "A,B",
            reads="columns",
        ),
        FitOption(
            "effects_within",
            "Some of the same: what nearby records say about one may differ there, too, and the largest limits count.",
            "A,B",
            reads="columns",
        ),
        FitOption(
            "effects_up_to",
            "The largest distance at which effects may differ.",
            "K",
            reads="whole",
            default="1",
        ),
        FitOption(
            "reach", "The largest distance at which records depend on each other given all others.", "K", default="auto"
        ),
        FitOption(
            "additive",
            "Assume that the effects of neighbours on the log-odds of a record add up, with the same sign.",
            "",
            reads="flag",
        ),
        FitOption(
            "credibility",
            "The probability that the series leaks no more than one with the fitted odds.",
            "P",
            reads="number",
            default="0.95",
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        entries = validation.items("odds", self.odds, ModelError)
        if not entries:
            raise ModelError("odds is empty; give the odds ratio of neighbouring records, which is 1 if there is none")
        odds = tuple(checked_odds(f"odds[{index}]", value) for index, value in enumerate(entries))
        object.__setattr__(self, "odds", odds)
        for name in ("additive", "ordered"):
            if not isinstance(value := getattr(self, name), bool):
                raise ModelError(name_of(name) + f" must be true or false, not {brief(value)}")
        if self.additive and not self.ordered and len(self.states) != 2:
            raise ModelError(
                param("additive")
                + " is about records with two values: name them in "
                + param("states")
                + ", or say "
                + param("ordered", True)
                + " of more values, if the effects of all pairs are monotone in their order"
            )

        if self.fitted is not None:
            self._check_fitted(self.fitted)
        elif self.credibility is not None:
            raise ModelError("credibility says how sure fitted odds are; leave it out, or fit the series")
        if self.learnt is not None:
            self._check_learnt(self.learnt)

    def _check_learnt(self, learnt: LearntSeries) -> None:
        if not isinstance(learnt, LearntSeries):
            raise ModelError(name_of("learnt") + f" must be the result of Session.fit, not {brief(learnt)}")
        if self.fitted is not None:
            raise ModelError("give either learnt (noisy sums) or fitted (exact counts), not both")
        if self.odds != learnt.odds:
            raise ModelError(
                f"the private fit learnt the odds {brief(list(learnt.odds))}, not {brief(list(self.odds))}"
            )

    def _check_fitted(self, fitted: PairEffects) -> None:
        if not isinstance(fitted, PairEffects):
            raise ModelError(name_of("fitted") + f" must be PairEffects, as fit returns them, not {brief(fitted)}")
        if len(self.odds) != fitted.reach or len(self.states) not in (0, fitted.states):
            raise ModelError("the fitted effects are of another reach, or of other states")
        credibility = validation.probability("credibility", self.credibility, ModelError)
        credible = np.array(credible_odds(fitted, credibility, self.additive))
        if (np.abs(np.array(self.odds) / credible - 1) > _AGREEMENT).any():
            raise ModelError(
                f"the fitted effects and the odds disagree: with a credibility of {credibility:g} they give "
                f"{brief(credible.tolist())}, not {brief(list(self.odds))}; leave the effects out, or fit again"
            )

    @classmethod
    def fit(
        cls,
        frame: object,
        *,
        state: str,
        order_by: str | Sequence[str],
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        within: str | Sequence[str] | None = None,
        effects_within: str | Sequence[str] | None = None,
        effects_up_to: int = 1,
        reach: int | str = "auto",
        additive: bool = False,
        credibility: float = 0.95,
        missing: Literal["error", "drop"] = "error",
        record: str = "record",
        order_by_text: bool = False,
        diagnose: bool = True,
    ) -> Self:
        """Estimate the odds ratios by distance from a table of any engine, or from files by their path.

        within:      public columns, or "hour", "weekday", "month" of an order of times: values may be more or less
                     frequent at each of their values. Strata in which some value is rare are merged, which `summary`
                     says.
        effects_within: some of the same (they are added to `within`): what records up to `effects_up_to` places apart
                     say about one another may differ there, too; a pair belongs to the stratum of the earlier record.
                     The odds at each distance are then the largest of all strata. Effects of records farther apart are
                     the same in all. Strata with few records of some pattern are estimated together, which `summary`
                     says.
        reach:       how far apart records still depend on one another given all others; "auto" chooses by the Bayesian
                     information criterion, up to 8.
        additive:    assume that effects add up and push the same way; two states only.
        credibility: the share of the posterior in which the series leaks no more than one with the fitted odds.
        diagnose:    whether to diagnose the assumption on the table and store the diagnosis in the model.

        The fit is by pseudo-likelihood, from counts of each record with its neighbours (docs/fitting.md). Records
        without all of them are left out. state, order_by, order_by_text, entity, step and missing are those of
        MarkovChain.fit.

        Raises FrameError for an invalid table, ModelError if it leaves the odds without limit or too few records.

        >>> import polars
        >>> frame = polars.DataFrame({"t": range(300), "s": [i * i % 101 // 40 % 2 for i in range(300)]})
        >>> OddsSeries.fit(frame, state="s", order_by="t", reach=1, diagnose=False).fitted.records
        298
        """
        layout = ChainLayout(
            order_by, () if entity is None else entity, step, dropped=missing == "drop", order_by_text=order_by_text
        )
        credibility = validation.probability("credibility", credibility, ModelError)
        differing, state, chosen = (
            column_names("effects_within", effects_within),
            column_name("state", state),
            _reach(reach),
        )
        within = tuple(dict.fromkeys((*column_names("within", within), *differing)))
        apart = validation.natural("effects_up_to", effects_up_to, ModelError)
        source = hooks.call("table.scan", frame)
        layout = hooks.call("table.spacing", source, state, layout)

        def seen_at(apart: int) -> Any:
            return hooks.call("table.patterns", source, state, layout, missing, reach=apart, within=within)

        seen = seen_at(1 if chosen is None else chosen)
        if chosen is None:
            longest = max((seen.longest - 1) // 2, 1)
            enough = [k for k in range(1, MOST_REACH + 1) if float(len(seen.states)) ** (2 * k + 1) <= _MOST_PATTERNS]
            chosen = best_reach(seen_at(min([longest, *enough[-1:]])))
            seen = seen_at(chosen)
        if additive and len(seen.states) != 2:
            raise ModelError(
                f"{state!r} has {len(seen.states)} values; effects that add up and push the same way are fitted to "
                "records with two"
            )
        if differing and apart > chosen:
            raise ModelError(
                f"effects up to {apart} apart cannot differ: records up to {chosen} apart affect one another"
            )
        fitted = fitted_effects(seen, within)
        if differing:
            by_kind = hooks.call(
                "table.patterns",
                source,
                state,
                layout,
                missing,
                reach=chosen,
                within=within,
                effects_within=differing,
                earlier=apart,
            )
            fitted = replace(fitted, by_stratum=effects_by_stratum(by_kind, differing, apart))
        series = cls(
            credible_odds(fitted, credibility, additive),
            additive=additive,
            fitted=fitted,
            credibility=credibility,
            states=seen.states,
            length=seen.longest,
            gaps=seen.gaps,
            column=None if seen.condition else state,
            state=state if seen.condition else None,
            record=record,
            layout=layout,
        )
        return series.with_diagnosis(series.diagnose(source)) if diagnose else series

    def diagnose(
        self,
        frame: object,
        *,
        state: str | None = None,
        order_by: str | Sequence[str] | None = None,
        entity: str | Sequence[str] | None = None,
        step: float | str | datetime.timedelta | None = None,
        missing: Literal["error", "drop"] | None = None,
        order_by_text: bool | None = None,
    ) -> Diagnosis:
        """Diagnose whether a table looks as the model assumes: its odds, a longer reach, effects of three, clocks.

        Each finding has the ε that would leak if its deviation were as large as the data allow. A fitted model has its
        columns (state, order_by, entity), the step and the rule for missing values, which the arguments given replace;
        for any other model, name them as in fit (order_by_text, too).

        Raises ModelError if the columns are unknown, FrameError for an invalid table.
        """
        located = self.located(
            state=state, order_by=order_by, entity=entity, step=step, missing=missing, order_by_text=order_by_text
        )
        diagnosis: Diagnosis = hooks.call("diagnose.series", located, frame)
        return diagnosis

    @property
    def public_columns(self) -> tuple[str, ...]:
        within = () if self.fitted is None else self.fitted.within
        return tuple(dict.fromkeys((*super().public_columns, *within)))

    @property
    def estimated(self) -> bool:
        return self.fitted is not None

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield series from the posterior of the effects."""
        if self.fitted is None:
            yield from super().draws(generator)
            return
        while True:
            for row in self.fitted.drawn(_AT_ONCE, generator, additive=self.additive):
                odds = [odds_above([value]) for value in row.tolist()]
                yield replace(self, odds=odds, fitted=None, credibility=None)

    def summary(self) -> str:
        """Return what is assumed, and what the odds were fitted to."""
        if self.learnt is not None:
            return f"{super().summary()} {self.learnt.origin}"
        if self.fitted is None or self.credibility is None:
            return super().summary()
        estimates = ", ".join(f"{odds:.3g}" for odds in np.exp(self.fitted.log_odds).tolist())
        return (
            f"{super().summary()} {self.fitted.called()} The estimates are {estimates}; with a credibility of "
            f"{shown_below(100 * self.credibility)} %, the series leaks no more than one with the odds stated."
        )

    @cached_property
    def log_odds(self) -> Floats:
        """ln of the odds ratios of records 1, 2, … apart, rounded up, up to the last one above 1."""
        odds = np.array(self.odds)
        return readonly(log_odds_above(odds[: max(np.flatnonzero(odds > 1), default=-1) + 1]))

    @property
    def reach(self) -> int:
        """How far apart two records may be and depend on one another given all others; 0 if none do."""
        return len(self.log_odds)

    @property
    def assumption(self) -> str:
        pairs = listed(f"{shown_above(odds)} at distance {apart}" for apart, odds in enumerate(self.odds, 1))
        assumed = (
            f"given all other records, two records in a series {self.extent} have an odds ratio of at most {pairs}, "
            "and 1 beyond"
        )
        if self.additive:
            several = "the record" if len(self.odds) == 1 else f"each of the {len(self.odds)} records"
            order = " in the order of the values" if self.ordered else ""
            assumed += (
                f", and what {several} before and after says about this one adds up, and all push the same way{order}"
            )
        return assumed + self.entities

    @property
    def parameters(self) -> str:
        """What the odds ratios mean, in a sentence."""
        return (
            "Odds ratios of two records: if one of them had another value, and all other records stayed as they are, "
            "the odds between any two values of the other would change by at most that factor."
        )

    def _content(self) -> dict[str, Any]:
        content = {"odds": list(self.odds), "additive": self.additive, **super()._content()}
        content |= {"ordered": True} if self.ordered else {}
        if self.fitted is not None:
            content |= {"credibility": self.credibility, "fitted": self.fitted.to_dict()}
        if self.learnt is not None:
            content["learnt"] = self.learnt.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        readers = {"fitted": PairEffects.from_dict, "learnt": LearntSeries.from_dict}
        parts = {name: read(entries[name]) for name, read in readers.items() if entries.get(name) is not None}
        return super()._read({**entries, **parts})

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"odds"})


def _reach(value: object) -> int | None:
    """Return a reach, None for "auto"; a command passes text."""
    if value == "auto":
        return None
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    chosen = validation.natural("reach", number, ModelError)
    if chosen > MOST_REACH:
        raise ModelError(name_of("reach") + f' must be "auto" or at most {MOST_REACH}, not {chosen}')
    return chosen
