"""A chain with a bound on the odds ratio of neighbouring records and no other assumption."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike

from bayesdp._support import hooks, validation
from bayesdp._support.display import table
from bayesdp._support.lazy import warn_renamed
from bayesdp._support.messages import in_python, name_of, params
from bayesdp._support.validation import brief
from bayesdp._support.words import counted, listed
from bayesdp.errors import ModelError
from bayesdp.models.chain import CHAIN_OPTIONS, MEMORY, ORDER_BY_TEXT, Chain
from bayesdp.models.fit_option import FitOption
from bayesdp.models.layout import ChainLayout, column_name, column_names
from bayesdp.models.learnt import Learnt
from bayesdp.models.learnt_odds import LearntOdds
from bayesdp.models.odds import log_odds_ratio, odds_above
from bayesdp.models.states import check_states, check_varied
from bayesdp.models.strata import SPARSE, Stratum, credible_log_odds, largest_log_odds, merged, read_strata
from bayesdp.rounding import log_above, shown_above, shown_below

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OddsChain"]

_AGREEMENT = 0.05
"""The tolerance between an odds ratio and its counts: it may be rounded, or drawn by another version of NumPy."""

_MOST_SHOWN = 31
"""The most strata that a summary shows."""

_AT_ONCE = 64
"""The number of odds ratios in one batch of draws."""


@dataclass(frozen=True)
class OddsChain(LearntOdds[Learnt], Chain):
    """Records form a chain whose neighbours have an odds ratio of at most `odds`, without any other assumption.

    The probabilities of values may change with the hour, the weather or the place in the chain, and need not be known.
    Only the dependence of neighbours is bounded: for two values of a record, the odds between any two values of the
    next record differ by a factor of at most `odds`.

    odds:   the largest odds ratio P(x,y)·P(x′,y′) / (P(x,y′)·P(x′,y)) of neighbouring records, at least 1; 1 means that
            neighbours are independent.
    memory: the number of preceding records that a record depends on. With memory k, `odds` is the odds ratio of
            neighbouring blocks of k records.
    strata: the transition counts that the odds ratio was estimated from, if any, by the values of the columns in
            `within`; from_strata builds a chain from them. The two must agree.
    within: the public columns of the strata, or "hour", "weekday", "month" of an order of times.
    credibility: the share of the posterior in which the largest odds ratio of all strata stays below `odds`.
    learnt: the private release (`Session.fit`) that estimated the odds ratio, if any: the guarantee then covers it.

    >>> OddsChain(9).assumption
    'the records form a chain of any length in which the odds ratio of neighbouring records is at most 9'
    >>> OddsChain.of([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]]).length
    3
    """

    odds: float
    memory: int = field(default=1, kw_only=True)
    strata: Sequence[Stratum] | None = field(default=None, kw_only=True)
    within: Sequence[str] = field(default=(), kw_only=True)
    credibility: float | None = field(default=None, kw_only=True)
    learnt: Learnt | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "odds-chain"
    about_values: ClassVar[bool] = True
    fit_options: ClassVar[tuple[FitOption, ...]] = (
        *CHAIN_OPTIONS,
        ORDER_BY_TEXT,
        MEMORY,
        FitOption(
            "within",
            "Public columns, or hour, weekday or month: estimate the odds ratio for each of their values.",
            "A,B",
            reads="columns",
        ),
        FitOption(
            "credibility",
            "The probability that no odds ratio exceeds the fitted one.",
            "P",
            reads="number",
            default="0.95",
        ),
        FitOption(
            "merge", "Merge strata that have fewer transitions than this in some cell.", "N", reads="whole", default="0"
        ),
    )
    _instead_of_diagnosis: ClassVar[str] = "; fit a Markov chain to the table to see its odds ratio"

    def __post_init__(self) -> None:
        super().__post_init__()
        odds = validation.number("odds", self.odds, ModelError)
        if odds < 1:
            raise ModelError(
                name_of("odds")
                + f" must be at least 1, the odds ratio of independent records, not {odds:g}; of a ratio below 1 take "
                "the reciprocal"
            )
        object.__setattr__(self, "odds", odds)
        object.__setattr__(self, "memory", validation.natural("memory", self.memory, ModelError))
        object.__setattr__(self, "within", column_names("within", self.within))
        if self.strata is not None:
            self._check_strata()
        elif self.within or self.credibility is not None:
            raise ModelError(
                params("{within} and {credibility} describe a fit by strata; give {strata}, or leave them out")
            )
        if self.learnt is not None:
            self._check_learnt(self.learnt)

    @property
    def public_columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().public_columns, *self.within)))

    def _check_learnt(self, learnt: Learnt) -> None:
        if not isinstance(learnt, Learnt):
            raise ModelError(name_of("learnt") + f" must be the result of Session.fit, not {brief(learnt)}")
        if self.strata is not None:
            raise ModelError("give either learnt (noisy counts) or strata (exact counts), not both")
        if learnt.memory != self.memory or len(self.states) not in (0, learnt.states):
            raise ModelError("the noisy counts are of another memory, or of other states")
        if self.odds > learnt.ceiling:
            raise ModelError(f"odds = {self.odds:g} is above the ceiling of {learnt.ceiling:g} of the private fit")

    def _check_strata(self) -> None:
        if self.credibility is None:
            raise ModelError(
                params("{strata} needs {credibility}, the share of the posterior that lies below the odds ratio")
            )
        credibility = validation.probability("credibility", self.credibility, ModelError)
        strata = read_strata(self.strata, self.within, self.memory)
        if self.states and len(self.states) != len(strata[0].counts):
            raise ModelError(f"counts of {len(strata[0].counts)} states do not fit {len(self.states)} states")
        object.__setattr__(self, "credibility", credibility)
        object.__setattr__(self, "strata", strata)
        credible = _credible(strata, credibility)
        if abs(self.odds / credible - 1) > _AGREEMENT:
            raise ModelError(
                f"strata and odds disagree: with a credibility of {credibility:g} the largest odds ratio of these "
                f"counts stays below {shown_above(credible)}, not {self.odds:g}; leave the strata out, or build the "
                "chain from them" + in_python(" (from_strata)")
            )

    @classmethod
    def from_strata(
        cls,
        strata: Sequence[Stratum],
        *,
        within: str | Sequence[str] = (),
        memory: int = 1,
        credibility: float = 0.95,
        merge: int = 0,
        **described: Any,
    ) -> Self:
        """Return the chain with a bound on the largest odds ratio of all strata, with this credibility.

        The posterior is that of the rows of each stratum's table: Dirichlet, the counts plus 1/2 (docs/uncertainty.md).
        Strata with fewer transitions than `merge` in some cell are merged first.
        The rest is as in fit.

        >>> night, day = Stratum(((5,),), ((538, 37), (28, 33))), Stratum(((18,),), ((120, 98), (90, 328)))
        >>> OddsChain.from_strata([night, day], within="hour").odds < 33
        True
        """
        within, memory = column_names("within", within), validation.natural("memory", memory, ModelError)
        credibility = validation.probability("credibility", credibility, ModelError)
        threshold = validation.natural("merge", merge, ModelError, least=0)
        chosen = merged(read_strata(strata, within, memory), threshold)
        return cls(
            _credible(chosen, credibility),
            memory=memory,
            strata=chosen,
            within=within,
            credibility=credibility,
            **described,
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
        memory: int = 1,
        credibility: float = 0.95,
        merge: int = 0,
        missing: Literal["error", "drop"] = "error",
        record: str = "record",
        order_by_text: bool = False,
    ) -> Self:
        """Estimate the odds ratio from a table of any engine, or from files by their path (docs/fitting.md).

        within:      public columns, or "hour", "weekday", "month" of an order of times. Transition probabilities may
                     differ between their values, at the earlier record; `odds` is for the largest odds ratio of all.
        memory:      the number of preceding records that a record depends on.
        credibility: the share of the posterior in which no odds ratio, of whichever stratum, exceeds `odds`.
        merge:       strata with fewer transitions than this in some cell are merged into one, which assumes that they
                     are alike; 0 merges none. `summary` names those below 20.

        state, order_by, order_by_text, entity, step and missing are those of MarkovChain.fit. Raises FrameError for
        an invalid table.

        >>> import polars
        >>> frame = polars.DataFrame({"t": range(300), "s": [t // 3 % 2 for t in range(300)]})
        >>> OddsChain.fit(frame, state="s", order_by="t").strata[0].counts
        ((100, 50), (49, 100))
        """
        layout = ChainLayout(
            order_by, () if entity is None else entity, step, dropped=missing == "drop", order_by_text=order_by_text
        )
        memory = validation.natural("memory", memory, ModelError)
        credibility = validation.probability("credibility", credibility, ModelError)
        within = column_names("within", within)
        state = column_name("state", state)
        source = hooks.call("table.scan", frame)
        layout = hooks.call("table.spacing", source, state, layout)
        seen = hooks.call("table.transitions", source, state, layout, missing, memory=memory, within=within)
        check_varied(seen.states, state)
        return cls.from_strata(
            seen.strata or (Stratum(((),), seen.counts),),
            within=within if seen.strata else (),
            memory=memory,
            credibility=credibility,
            merge=merge,
            states=seen.states,
            length=seen.longest,
            gaps=seen.gaps,
            column=None if seen.condition else state,
            state=state if seen.condition else None,
            record=record,
            layout=layout,
        )

    @classmethod
    def of(cls, matrices: Iterable[ArrayLike], *, length: int | None = None, **described: Any) -> Self:
        """Return the odds chain of known transition matrices, one a step; they may differ, and so may their sizes.

        length: the number of records, if the matrices repeat; by default one more than there are matrices.

        Raises ModelError for a matrix whose rows are not probabilities, or where some values can follow one value but
        not another: then the odds ratio has no limit.
        """
        ratios = [_log_odds(index, matrix) for index, matrix in enumerate(matrices)]
        if not ratios:
            raise ModelError("give at least one transition matrix")
        return cls(odds_above(ratios), length=len(ratios) + 1 if length is None else length, **described)

    @cached_property
    def log_odds(self) -> float:
        """ln of the odds ratio, rounded up."""
        return log_above(Fraction(self.odds))

    @property
    def assumption(self) -> str:
        neighbours = "neighbouring records"
        reach = ""
        if self.memory > 1:
            neighbours = f"neighbouring blocks of {self.memory} records"
            reach = f", given {self.memory} records, the future does not depend on what was before them, and"
        return (
            f"the records form a chain {self.extent} in which{reach} the odds ratio of {neighbours} is at most "
            f"{shown_above(self.odds)}{self.entities}"
        )

    @property
    def parameters(self) -> str:
        """What the odds ratio means, in a sentence, and what it costs if the secret is one record."""
        sentences = (
            f"Odds ratio of {'neighbouring records' if self.memory == 1 else 'neighbouring blocks'}: at most "
            f"{shown_above(self.odds)}. If one of them had another value, the odds between any two values of the next "
            "would change by at most that factor."
        )
        if self.estimated:
            sentences = f"{sentences} {self._learnt}"
        if self.unit > 1:
            return sentences
        price = shown_above(self.memory * math.sqrt(self.odds), 3)
        return f"{sentences} For a small ε the noise must be {price} times as large as for independent records."

    @property
    def estimated(self) -> bool:
        return self.strata is not None

    def learning(self, learnt: Learnt) -> Self:
        """The former name of `with_learnt`; it goes with the next version."""
        warn_renamed("OddsChain.learning", "OddsChain.with_learnt", stacklevel=3)
        return self.with_learnt(learnt)

    @property
    def sparse(self) -> tuple[Stratum, ...]:
        """The strata with fewer than 20 transitions in some cell, too few to estimate their odds ratio well."""
        return tuple(stratum for stratum in self.strata or () if stratum.least < SPARSE)

    def draws(self, generator: np.random.Generator) -> Iterator[Self]:
        """Yield chains from the posterior, each with the largest odds ratio of all strata in a draw."""
        if self.strata is None:
            yield from super().draws(generator)
            return
        tables = tuple(stratum.counts for stratum in self.strata)
        while True:
            for largest, _ in largest_log_odds(tables, _AT_ONCE, generator):
                for log_odds in largest.tolist():
                    yield replace(self, odds=odds_above([log_odds]), strata=None, within=(), credibility=None)

    def summary(self) -> str:
        """Return what is assumed, and what the odds ratio was estimated from, stratum by stratum."""
        if self.learnt is not None:
            return f"{super().summary()} {self.learnt.origin}"
        if self.strata is None or self.credibility is None:
            return super().summary()
        sure = f"{shown_below(100 * self.credibility)} %"
        parts = [f"{super().summary()} {self._learnt}"]
        if len(self.strata) <= _MOST_SHOWN:
            _, alone = credible_log_odds(tuple(stratum.counts for stratum in self.strata), self.credibility)
            rows = [
                [
                    stratum.called(self.within),
                    str(stratum.transitions),
                    str(stratum.least),
                    _shown(stratum.odds),
                    _shown(above),
                ]
                for stratum, above in zip(self.strata, (odds_above([log_odds]) for log_odds in alone), strict=True)
            ]
            parts.append(table(["", "transitions", "least cell", "odds ratio", f"{sure} below"], rows))
        if self.sparse:
            parts.append(self._of_sparse)
        return "\n\n".join(parts)

    @property
    def _learnt(self) -> str:
        """The source of the odds ratio, in a sentence."""
        assert self.strata is not None
        assert self.credibility is not None
        strata = counted(len(self.strata), "stratum", "strata")
        largest = "it" if not self.within else f"the largest odds ratio of {strata} ({listed(self.within)})"
        return f"With a credibility of {shown_below(100 * self.credibility)} %, {largest} is no larger than that."

    @property
    def _of_sparse(self) -> str:
        """The sparse strata, and the odds ratio if they were merged."""
        assert self.strata is not None
        assert self.credibility is not None
        names = "; ".join(stratum.called(self.within) for stratum in self.sparse[:_MOST_SHOWN])
        more = "; …" if len(self.sparse) > _MOST_SHOWN else ""
        sparse = f"Sparse, with fewer than {SPARSE} transitions in some cell: {names}{more}."
        together = merged(self.strata)
        if together == tuple(self.strata):
            return f"{sparse} More data would narrow the odds ratio."
        into, odds = together[-1].called(self.within), shown_above(_credible(together, self.credibility))
        return (
            f"{sparse} Merged into one ({into}), the odds ratio would be {odds} "
            f"at most: if these are alike, fit with {SPARSE} as the number below which strata merge."
        )

    def _content(self) -> dict[str, Any]:
        content = {"odds": self.odds, **super()._content(), "memory": self.memory}
        if self.strata is not None:
            content["credibility"] = self.credibility
            content |= {"within": list(self.within)} if self.within else {}
            content["strata"] = [stratum.to_dict() for stratum in self.strata]
        if self.learnt is not None:
            content["learnt"] = self.learnt.to_dict()
        return content

    @classmethod
    def _read(cls, entries: Mapping[str, Any]) -> Self:
        learnt = entries.get("learnt")
        return super()._read(entries if learnt is None else {**entries, "learnt": Learnt.from_dict(learnt)})

    @classmethod
    def _required(cls) -> frozenset[str]:
        return frozenset({"odds"})


def _credible(strata: Sequence[Stratum], credibility: float) -> float:
    """Return the bound on the largest odds ratio of all strata, rounded up.

    Raises ModelError if that is more than a float can hold.
    """
    log_odds, _ = credible_log_odds(tuple(stratum.counts for stratum in strata), credibility)
    odds = odds_above([log_odds])
    if math.isinf(odds):
        raise ModelError("the counts leave the odds ratio open without limit; merge strata, or collect more data")
    return odds


def _shown(odds: float) -> str:
    return "without limit" if math.isinf(odds) else shown_above(odds, 4)


def _log_odds(index: int, matrix: ArrayLike) -> float:
    """Return the log odds ratio of one transition matrix; the error names its position."""
    check_states(**{f"matrix {index}": matrix})
    rows = validation.rows_of_probabilities(f"matrix {index}", matrix, ModelError)
    ratio = log_odds_ratio(rows)
    if math.isinf(ratio):
        raise ModelError(f"matrix {index} has odds without limit: some values can follow one value but not another")
    return ratio
