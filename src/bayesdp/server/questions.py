"""The bodies of requests: what is asked, and at what cost. What is unknown, given twice or not finite is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from bayesdp._support import documents
from bayesdp._support.documents import fingerprint
from bayesdp.accuracy import BETA
from bayesdp.errors import InvalidInputError
from bayesdp.queries import Query, query_from_dict

__all__ = ["Asked", "OneQuestion", "Questions", "RunningQuestion"]

Number = StrictFloat | StrictInt
Document = dict[str, Any]


class Asked(BaseModel):
    """At what cost, or how accurately, a question is to be answered: as in `Session.release`."""

    model_config = ConfigDict(extra="forbid")

    epsilon: Number | None = Field(None, description="By how much the leakage of the data set may rise.")
    alpha: Number | None = Field(None, description="Or how far off the answer may be.")
    share: Number | None = Field(None, description="Or which share of the limit of an account with a delta it takes.")
    beta: Number = Field(BETA, description="How likely the answer may be off by more.")
    noise: Literal["laplace", "gaussian"] | None = Field(None, description="Insist on a kind of noise.")

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the body of a request; InvalidInputError says what is wrong with it."""
        try:
            document = documents.parse(body.decode(), "the request")
        except UnicodeDecodeError:
            raise InvalidInputError("the request is not UTF-8 text; expected a JSON object") from None
        if "accept" in document:
            raise InvalidInputError(
                '"accept" is the word of the holder of the data, who gives it in the configuration of the server'
            )
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise InvalidInputError(f'"{place}": {first["msg"]}' if place else first["msg"]) from None

    @property
    def questions(self) -> tuple[Query, ...]:
        """The questions."""
        raise NotImplementedError

    @property
    def target(self) -> dict[str, Any]:
        """The arguments of `Session.release` besides the question."""
        return {name: getattr(self, name) for name in ("epsilon", "alpha", "share", "beta", "noise")}

    def fingerprint(self, kind: str, dataset: str) -> str:
        """Return the fingerprint of the request, which does not depend on how it is written."""
        return fingerprint({"kind": kind, "dataset": dataset, "asked": self.model_dump(exclude_none=True)})


class OneQuestion(Asked):
    """A question about a data set, in the form of `Query.to_dict()`: {"query": "count", "column": "s", "equals": 1}."""

    query: Document

    @property
    def questions(self) -> tuple[Query, ...]:
        """The question."""
        return (_query(self.query),)


class Questions(Asked):
    """A question, or several that share one ε."""

    query: Document | None = None
    queries: Annotated[list[Document], Field(min_length=1, max_length=1000)] | None = None

    @property
    def questions(self) -> tuple[Query, ...]:
        """The questions."""
        if (self.query is None) == (self.queries is None):
            raise InvalidInputError('give either "query" or "queries"')
        asked: list[Any] = [self.query] if self.queries is None else list(self.queries)
        return tuple(map(_query, asked))


class RunningQuestion(OneQuestion):
    """A question about the totals so far, period after period."""

    every: StrictStr | StrictInt = Field(description="hour, day, week or month; or units of an order of numbers.")
    horizon: StrictInt | None = Field(None, description="How many periods there will be; without end by default.")

    @property
    def target(self) -> dict[str, Any]:
        """The arguments of `Session.running` besides the question."""
        if self.alpha is not None:
            raise InvalidInputError('a stream of running totals has no "alpha": its accuracy follows from "epsilon"')
        chosen = {name: value for name, value in super().target.items() if name != "alpha"}
        return {**chosen, "every": self.every, "horizon": self.horizon}


def _query(document: object) -> Query:
    """Return a query; InvalidInputError for whatever is none."""
    try:
        return query_from_dict(document)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("a query has an entry of a type that it cannot have") from None
