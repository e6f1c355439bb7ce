"""Reads of a topic by Spark: a batch, a stream that ends, and SQL."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from soak.evolution.compare import outcome_of, sorted_by_position
from soak.evolution.play import Play
from soak.evolution.steps import BAD_ROWS, DROPMALFORMED, FAILFAST, Read
from soak.evolution.topics import Twins, rows

from pyspark_pulsar import errors
from pyspark_pulsar.schema.metadata_columns import FIELDS
from pyspark_pulsar.session.configure import EXTENSIONS_CLASS, catalog_jar, catalog_settings

Way = Callable[[], pa.Table]

_TIMES = "spark.sql.timeType.enabled"
_METADATA = ["__messageId", "__messageProperties", "__key", "__eventTime", "__schemaVersion"]


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    """A session of a soak."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.jars": str(catalog_jar()),
        "spark.sql.extensions": EXTENSIONS_CLASS,
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class SparkReads:
    """Compares what Spark reads of a topic at the end of its evolution with the broker's rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        """`folder`: for checkpoints."""
        self._spark = spark
        self._folder = folder
        self._catalogs: dict[str, str] = {}

    def __call__(self, play: Play) -> None:
        """Read by each way of Spark, up to the first difference."""
        twins, read = play.twins, Read(FAILFAST)
        plain = outcome_of(lambda: rows(twins.options(twins.kept, read, None)))
        if isinstance(plain, Exception):
            read = Read(DROPMALFORMED)
            plain = outcome_of(lambda: rows(twins.options(twins.kept, read, None)))
        if isinstance(plain, Exception):
            return  # The topic has no columns to ask for.
        values = [name for name in plain.column_names if name not in FIELDS]
        if len({name.lower() for name in values}) < len(values):
            return  # Spark takes such columns for one.
        plain = plain.select([*values, *_METADATA])
        for how, expected, read_by_spark in self._ways(twins, read, plain):
            play.compare(expected, outcome_of(read_by_spark), how)
            if play.outcome.difference is not None:
                return

    def _ways(self, twins: Twins, read: Read, plain: pa.Table) -> Iterator[tuple[str, pa.Table, Way]]:
        """Each way of reading, by its name, with the rows that it must give."""
        names = [f"`{name}`" for name in plain.column_names]
        yield "Spark batch", plain, lambda: _arrow(self._batch(twins, read).selectExpr(*names))
        yield "SQL", plain, lambda: _arrow(self._in_sql(twins, read).selectExpr(*names))
        for word, is_kept in (("is null", pc.is_null), ("is not null", pc.is_valid)):
            wanted, condition = plain.filter(is_kept(plain.column(0))), f"{names[0]} {word}"
            yield f"SQL {word}", wanted, partial(self._filtered, twins, read, condition, names)
        # Spark streams no times of day unless it is told to.
        self._spark.conf.set(_TIMES, "true")
        try:
            yield "Spark stream", plain, lambda: self._stream(twins, read, names)
        finally:
            self._spark.conf.unset(_TIMES)

    def _filtered(self, twins: Twins, read: Read, condition: str, names: list[str]) -> pa.Table:
        return _arrow(self._in_sql(twins, read).where(condition).selectExpr(*names))

    def _batch(self, twins: Twins, read: Read) -> DataFrame:
        options = twins.options(twins.topic, read, None)
        return self._spark.read.format("pulsar").options(**options).load()

    def _in_sql(self, twins: Twins, read: Read) -> DataFrame:
        name = f"{self._catalog(twins)}.`{twins.place.namespace}`.`{twins.name}`"
        return self._spark.read.options(mode=read.mode, columnNameOfCorruptRecord=BAD_ROWS).table(name)

    def _stream(self, twins: Twins, read: Read, names: list[str]) -> pa.Table:
        """The rows of all micro-batches, in order."""
        options = twins.options(twins.topic, read, None) | {"startingOffsets": "earliest"}
        frame = self._spark.readStream.format("pulsar").options(**options).load().selectExpr(*names)
        tables: list[pa.Table] = []
        writer = frame.writeStream.foreachBatch(lambda batch, _: tables.append(_arrow(batch)))
        query = (
            writer.option("checkpointLocation", str(self._folder / uuid4().hex))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except PySparkException as fault:
            raise _named(fault) from None
        return pa.concat_tables(tables) if tables else _arrow(self._spark.createDataFrame([], frame.schema))

    def _catalog(self, twins: Twins) -> str:
        """The name of a catalog whose tables are topics of the server and have tables of this format."""
        texts = {key: text for key, text in twins.texts(twins.topic).items() if key != "topic"}
        known = self._catalogs.get(texts["tierCatalog"])
        if known is None:
            known = self._catalogs[texts["tierCatalog"]] = f"evolutions_{uuid4().hex[:8]}"
            settings = catalog_settings(catalog=known, options={**texts, "python": sys.executable})
            settings["spark.sql.python.filterPushdown.enabled"] = "true"
            for key, value in settings.items():
                self._spark.conf.set(key, value)
        return known


def _arrow(frame: DataFrame) -> pa.Table:
    """The rows of a query in the order of positions, which SQL does not keep."""
    try:
        return sorted_by_position(frame.toArrow())
    except PySparkException as fault:
        raise _named(fault) from None


def _named(fault: PySparkException) -> Exception:
    """The error of this package that Spark shows, or else Spark's own."""
    kinds, text = _subclasses(errors.PulsarError), str(fault)
    found = [kind for kind in kinds if re.search(rf"\b{kind.__name__}\b", text)]
    return found[0](text) if found else fault


def _subclasses(kind: type[errors.PulsarError]) -> list[type[errors.PulsarError]]:
    return [each for child in kind.__subclasses__() for each in [*_subclasses(child), child]]
