"""The data sets that are served: one session and one worker thread for each.

Whatever reads a table of a data set runs in its thread, one after the other: engines need no locks, and a long question
about one data set does not delay those about others. What only reads the ledger runs in the threads of the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from bayesdp.errors import AccountChangedError, BayesDPError, ChangedError, InvalidInputError, QueryError
from bayesdp.ledger import Ledger
from bayesdp.queries import Query
from bayesdp.server.configuration import Configuration, DatasetEntry
from bayesdp.session.prepare import check_table
from bayesdp.session.session import Session

__all__ = ["Dataset", "check_datasets", "opened_datasets", "opened_session", "table_of"]

T = TypeVar("T")


@contextmanager
def table_of(entry: DatasetEntry) -> Iterator[object]:
    """Yield the table of a data set, as a session takes it; Spark runs only within this context."""
    if entry.engine == "spark":
        from bayesdp.frames.spark import spark_table

        assert isinstance(entry.data, str)
        with spark_table(entry.data, entry.master) as table:
            yield table
    else:
        yield entry.data if isinstance(entry.data, str) else list(entry.data)


@contextmanager
def _session(entry: DatasetEntry, ledger: Ledger, by: str | None = None) -> Iterator[Session]:
    with (
        table_of(entry) as table,
        Session(
            table,
            entry.model,
            dataset=entry.name,
            epsilon=entry.epsilon,
            delta=entry.delta,
            ledger=ledger,
            missing=entry.missing,
            accept=entry.accept,
            by=by,
            separate_because=entry.separate_because,
            credibility=entry.credibility,
            growing=entry.growing,
            public=tuple(entry.public),
        ) as session,
    ):
        yield session


@contextmanager
def opened_session(configuration: Configuration, name: str, by: str) -> Iterator[Session]:
    """Open the session of one data set for its holder; InvalidInputError if the configuration has no such data set."""
    if name not in configuration.datasets:
        raise InvalidInputError(f"{configuration.file} has no data set {name!r}")
    with Ledger(configuration.ledger) as ledger, _session(configuration.datasets[name], ledger, by) as session:
        yield session


class Dataset:
    """One data set: its session, which is opened again when its table or its account has changed.

    Raises what a session raises when it is opened, with the place in the configuration.
    """

    def __init__(self, entry: DatasetEntry, ledger: Ledger) -> None:
        self.entry = entry
        self._ledger = ledger
        self._open: ExitStack | None = None
        self._session: Session | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="bayesdp-dataset")
        try:
            self._worker.submit(self._opened).result()
        except BayesDPError as error:
            self.stop()
            raise InvalidInputError(f"{entry.place}: {error}") from None

    @property
    def session(self) -> Session:
        """The session, for what reads the ledger only."""
        session = self._session
        if session is None:
            return self._worker.submit(self._opened).result()
        return session

    def submit(self, work: Callable[[Session], T]) -> Future[T]:
        """Run work that may read the table, after all that was submitted before.

        If the account has changed since the session was opened, nothing was charged, and the work runs once more.
        """
        return self._worker.submit(self._run, work)

    def _run(self, work: Callable[[Session], T]) -> T:
        try:
            return self._once(work)
        except AccountChangedError:
            pass
        return self._once(work)

    def _once(self, work: Callable[[Session], T]) -> T:
        session = self._opened()
        try:
            return work(session)
        except (AccountChangedError, ChangedError):
            self._forget()
            raise

    def _opened(self) -> Session:
        """Return the session; a table that grows is opened again when its files have changed."""
        if self._session is not None and self.entry.growing:
            try:
                self._session.check_unchanged()
            except ChangedError:
                self._forget()
        if self._session is None:
            entry = self.entry
            with ExitStack() as stack:
                session = stack.enter_context(_session(entry, self._ledger))
                self._open, self._session = stack.pop_all(), session
        return self._session

    def _forget(self) -> None:
        stack, self._open, self._session = self._open, None, None
        if stack is not None:
            stack.close()

    def check_question(self, query: Query) -> None:
        """Refuse a question about a value of a public column that the holder of the data does not list."""
        for column, cells in query.listed.items():
            allowed = self.entry.public.get(column)
            if allowed is not None and not {str(cell) for cell in cells} <= {str(value) for value in allowed}:
                raise QueryError(f"the values of {column!r} that questions may name are {', '.join(map(str, allowed))}")

    def stop(self) -> None:
        """Give up what has not begun, finish what is running, and close the table."""
        self._worker.shutdown(wait=True, cancel_futures=True)
        self._forget()


@contextmanager
def opened_datasets(configuration: Configuration, ledger: Ledger) -> Iterator[Mapping[str, Dataset]]:
    """Open all data sets, and finish what is running in them when the block is left."""
    opened: dict[str, Dataset] = {}
    try:
        for name, entry in configuration.datasets.items():
            opened[name] = Dataset(entry, ledger)
        yield opened
    finally:
        for dataset in opened.values():
            dataset.stop()


def check_datasets(configuration: Configuration) -> None:
    """Raise, in detail and by file and line, what is wrong with any table; the ledger is left alone."""
    for entry in configuration.datasets.values():
        try:
            with table_of(entry) as table:
                model = entry.model.at_any_length() if entry.growing else entry.model
                check_table(table, model, missing=entry.missing, public=tuple(entry.public) or None)
        except BayesDPError as error:
            raise InvalidInputError(f"{entry.place}: {error}") from None
