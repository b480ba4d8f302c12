"""The data sets that are served: a few worker threads for each, and one session for each thread.

Whatever reads a table runs in a thread of its data set, with the session of that thread: engines need no locks, and
long questions about one data set do not delay those about others. A second thread computes while the first waits for
the disk. What only reads the ledger runs in the threads of the requests.
"""

from __future__ import annotations

import threading
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

        paths = (entry.data,) if isinstance(entry.data, str) else entry.data
        with spark_table(*paths, master=entry.master) as table:
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
    """One data set: its workers, each with a session that is opened again when the table or the account has changed.

    Raises what a session raises when it is opened, with the place in the configuration.
    """

    def __init__(self, entry: DatasetEntry, ledger: Ledger) -> None:
        self.entry = entry
        self._ledger = ledger
        self._workers = ThreadPoolExecutor(entry.workers, thread_name_prefix="bayesdp-dataset")
        self._mine = threading.local()
        self._opened: dict[int, ExitStack] = {}
        self._lock = threading.Lock()
        try:
            self.session = self._workers.submit(self._session).result()
            """The session that was opened last, for what reads the ledger only."""
        except BayesDPError as error:
            self.stop()
            raise InvalidInputError(f"{entry.place}: {error}") from None

    def submit(self, work: Callable[[Session], T]) -> Future[T]:
        """Run work that may read the table, after what was submitted before has begun.

        If the account has changed since the session was opened, nothing was charged, and the work runs once more.
        """
        return self._workers.submit(self._run, work)

    def _run(self, work: Callable[[Session], T]) -> T:
        try:
            return self._once(work)
        except AccountChangedError:
            pass
        return self._once(work)

    def _once(self, work: Callable[[Session], T]) -> T:
        session = self._session()
        try:
            return work(session)
        except (AccountChangedError, ChangedError):
            self._forget()
            raise

    def _session(self) -> Session:
        """Return the session of this thread; that of a table that grows is a new one when its files have changed."""
        known: Session | None = getattr(self._mine, "session", None)
        if known is not None and self.entry.growing:
            try:
                known.check_unchanged()
            except ChangedError:
                self._forget()
                known = None
        if known is None:
            with ExitStack() as stack:
                known = stack.enter_context(_session(self.entry, self._ledger))
                with self._lock:
                    self._opened[threading.get_ident()] = stack.pop_all()
            self._mine.session = self.session = known
        return known

    def _forget(self) -> None:
        """Close the session of this thread."""
        self._mine.session = None
        with self._lock:
            stack = self._opened.pop(threading.get_ident(), None)
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
        self._workers.shutdown(wait=True, cancel_futures=True)
        for stack in self._opened.values():
            stack.close()


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
