"""The `pulsar` data source: wiring between Spark's calls and the folders that do the work.

Without the jar Spark builds this object in short-lived driver processes, several for each query, so importing and
making it is cheap; modules are imported when they are needed. With the jar all of it is in one process
(`spark.driver_process`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource

from pyspark_pulsar.options import ReadOptions, WriteOptions, parse_options
from pyspark_pulsar.spark.shipped_objects import Shipped, runs_in
from pyspark_pulsar.spark.tracebacks import hides_tracebacks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from pyspark_pulsar.codec.changes import Changes
    from pyspark_pulsar.read.batch.batch_reader import PulsarBatchReader
    from pyspark_pulsar.read.microbatch.refused_stream import RefusedStream
    from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
    from pyspark_pulsar.schema.read_schema import ReadSchema
    from pyspark_pulsar.write.batch import PulsarBatchWriter
    from pyspark_pulsar.write.stream import PulsarStreamWriter

_CONVERSATION: Final = "pyspark.sql.streaming.python_streaming_source_runner"
_COMMITTING_WORKER: Final = "pyspark.sql.worker.python_streaming_sink_runner"
_DRIVER_PROCESS: Final = "pyspark_pulsar.spark.driver_process"
_FILTER_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


@hides_tracebacks
class PulsarDataSource(Shipped, DataSource):
    """Options: docs/options.md. All methods run on the driver and raise `PulsarError`.

    Shipped, as Spark sends it to executors beside the reader, only for its name.
    """

    _resolved: ReadSchema | None = None

    @classmethod
    def name(cls) -> str:
        return "pulsar"

    def schema(self) -> StructType:
        """What option `columns` names; else the value columns of the topics' schema, then metadata columns."""
        from pyspark_pulsar.read.bounds.schema import resolve_source_schema
        from pyspark_pulsar.schema.types.spark import spark_schema

        # Kept with the object, which Spark carries on to `reader`: the query then decodes to exactly the
        # schema that it was analysed with, and the registry is asked once.
        self._resolved = resolve_source_schema(self._read_options())
        return spark_schema(self._resolved.output_schema)

    def reader(self, schema: StructType) -> PulsarBatchReader:
        from pyspark_pulsar.codec.data_keys import check_key_options
        from pyspark_pulsar.read.batch.batch_reader import batch_reader_class
        from pyspark_pulsar.read.planning.tables.known_tables import for_schema

        options = self._read_options()
        check_key_options(options)
        # Without the jar Spark keeps what a reader has planned with the filters of one query, and gives it to the next
        # query on the same DataFrame if that has no filter to push: rows would be missing in silence. So there it must
        # be asked for. The jar has each query planned anew.
        pushes = runs_in(_DRIVER_PROCESS) if options.push_filters is None else options.push_filters
        reader = batch_reader_class(pushes=pushes)
        rows, changes = self._read_rows(options, schema)
        return reader(for_schema(options, rows), rows, changes)

    def streamReader(self, schema: StructType) -> PulsarStreamReader | RefusedStream:  # noqa: N802
        from pyspark_pulsar.errors import PulsarError
        from pyspark_pulsar.read.microbatch.refused_stream import RefusedStream

        try:
            return self._stream_reader(schema)
        except PulsarError as fault:
            if runs_in(_CONVERSATION):
                return RefusedStream(fault)
            raise

    def _stream_reader(self, schema: StructType) -> PulsarStreamReader:
        from pyspark_pulsar.codec.data_keys import check_key_options
        from pyspark_pulsar.read.microbatch.whole_backlog import stream_reader_class
        from pyspark_pulsar.read.planning.tables.known_tables import for_schema

        options = self._read_options()
        check_key_options(options)
        options.check_read_from()
        options.check_stream()
        options.check_no_limit()
        reader = stream_reader_class(is_conversation=runs_in(_CONVERSATION))
        rows, changes = self._read_rows(options, schema)
        return reader(for_schema(options, rows), rows, changes)

    def writer(self, schema: StructType, overwrite: bool) -> PulsarBatchWriter:
        from pyspark_pulsar.errors import OptionError
        from pyspark_pulsar.schema.types.spark import arrow_schema
        from pyspark_pulsar.write.batch import PulsarBatchWriter
        from pyspark_pulsar.write.guarantee import delivery_of_job
        from pyspark_pulsar.write.target import settle_target

        if overwrite:
            raise OptionError(
                'a topic cannot be overwritten, as its messages stay: expected mode("append"), in SQL INSERT INTO, got '
                "overwrite; say so, and the rows are added; where the topic is to hold nothing else, drop it first, or "
                "name a new one"
            )
        options = parse_options(WriteOptions, self.options)
        delivery = delivery_of_job(options)
        delivery.prepare()
        return PulsarBatchWriter(delivery, settle_target(options, arrow_schema(schema)))

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002 -- Spark passes True for complete mode, whose rows are appended too
    ) -> PulsarStreamWriter:
        from pyspark_pulsar.schema.types.spark import arrow_schema
        from pyspark_pulsar.write.guarantee import delivery_of_query
        from pyspark_pulsar.write.stream import PulsarStreamWriter
        from pyspark_pulsar.write.target import settle_target

        options = parse_options(WriteOptions, self.options)
        delivery = delivery_of_query(options, self.options.get("checkpointLocation"))
        if runs_in(_COMMITTING_WORKER):
            # All was settled when the epoch was planned; this process is waited for in every epoch.
            return PulsarStreamWriter(delivery, None)
        # Spark asks for a writer in each epoch: a broker may be started again meanwhile.
        delivery.prepare(runs=True)
        return PulsarStreamWriter(delivery, settle_target(options, arrow_schema(schema), runs=True))

    def _read_options(self) -> ReadOptions:
        return parse_options(ReadOptions, self.options)

    def _read_rows(self, options: ReadOptions, schema: StructType) -> tuple[ReadSchema, Changes | None]:
        """What is decoded, and how it becomes changes where these are asked for."""
        from pyspark_pulsar.codec.changes import Changes
        from pyspark_pulsar.schema.types.spark import arrow_schema

        columns = arrow_schema(schema)
        if options.changes is None:
            return self._read_schema(options, columns), None
        changes = Changes.of(options.changes, columns)
        return self._read_schema(options, changes.source_columns), changes

    def _read_schema(self, options: ReadOptions, user_schema: pa.Schema) -> ReadSchema:
        from pyspark_pulsar.read.bounds.schema import resolve_source_schema

        if self._resolved is not None and set(user_schema) <= set(self._resolved.output_schema):
            return replace(self._resolved, output_schema=user_schema)
        return resolve_source_schema(options, user_schema)


def register(spark: SparkSession) -> None:
    """Check that workers have this package, register the source explicitly, and let Spark push filters down to it.

    Not needed where discovery works; use it to be told why it does not, and for queries that filter by metadata
    columns: `spark.sql.python.filterPushdown.enabled` is turned on in this session, unless it was set before. Raises
    `InterpreterError`.
    """
    from pyspark_pulsar.spark.shipped_objects import check_workers

    check_workers(spark)
    spark.dataSource.register(PulsarDataSource)
    _push_filters(spark)


def _push_filters(spark: SparkSession) -> None:
    """Spark's default is off, where it has not been set; an answer of None."""
    if spark.conf.get(_FILTER_PUSHDOWN, None) is None:
        spark.conf.set(_FILTER_PUSHDOWN, "true")
