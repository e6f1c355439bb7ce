"""The data source `pulsar`: the connection between Spark's calls and the packages that implement them.

Without the jar, Spark creates a `PulsarDataSource` in several short-lived driver processes for each query. Imports are
inside functions, so that these processes start fast. With the jar, one process creates all of these objects
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
    """Spark's data source for topics. docs/options.md describes the options of the data source.

    All methods run on the driver and raise `PulsarError`. Spark also pickles the object together with the reader, and
    uses only its name on executors. So the class inherits from `Shipped`, the base class of pickled objects.
    """

    _resolved: ReadSchema | None = None

    @classmethod
    def name(cls) -> str:
        return "pulsar"

    def schema(self) -> StructType:
        """Return the columns that the option `columns` names.

        Without this option, return the value columns of the topics' schema, followed by the metadata columns.
        """
        from pyspark_pulsar.read.bounds.schema import resolve_source_schema
        from pyspark_pulsar.schema.types.spark import spark_schema

        # Spark passes this object on to `reader`. So the query decodes with exactly the schema of its analysis, and
        # sends one request to the registry.
        self._resolved = resolve_source_schema(self._read_options())
        return spark_schema(self._resolved.output_schema)

    def reader(self, schema: StructType) -> PulsarBatchReader:
        from pyspark_pulsar.codec.data_keys import check_key_options
        from pyspark_pulsar.read.batch.batch_reader import batch_reader_class
        from pyspark_pulsar.read.planning.tables.known_tables import for_schema

        options = self._read_options()
        check_key_options(options)
        # Without the jar, Spark stores the plan of a reader with the filters of one query. If the next query on the
        # same DataFrame has no filter to push down, Spark uses the stored plan again. Then rows are missing without an
        # error. So pushdown without the jar is opt-in. With the jar, each query is planned again.
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
                'a topic cannot be overwritten, because its messages stay: expected mode("append"), or INSERT INTO in '
                'SQL, got overwrite; use mode("append") to add the rows, drop the topic first to replace its messages, '
                "or choose a new topic"
            )
        options = parse_options(WriteOptions, self.options)
        delivery = delivery_of_job(options)
        delivery.prepare()
        return PulsarBatchWriter(delivery, settle_target(options, arrow_schema(schema)))

    def streamWriter(  # noqa: N802
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002 -- Spark passes True for complete mode, whose rows are also appended
    ) -> PulsarStreamWriter:
        from pyspark_pulsar.schema.types.spark import arrow_schema
        from pyspark_pulsar.write.guarantee import delivery_of_query
        from pyspark_pulsar.write.stream import PulsarStreamWriter
        from pyspark_pulsar.write.target import settle_target

        options = parse_options(WriteOptions, self.options)
        delivery = delivery_of_query(options, self.options.get("checkpointLocation"))
        if runs_in(_COMMITTING_WORKER):
            # An earlier process of this epoch has already created the topic and registered the schema. Every epoch
            # waits for this process, so do not repeat these requests.
            return PulsarStreamWriter(delivery, None)
        # Spark requests a writer in each epoch, and a broker can restart between epochs. So these requests have the
        # time limits of a running query.
        delivery.prepare(runs=True)
        return PulsarStreamWriter(delivery, settle_target(options, arrow_schema(schema), runs=True))

    def _read_options(self) -> ReadOptions:
        return parse_options(ReadOptions, self.options)

    def _read_rows(self, options: ReadOptions, schema: StructType) -> tuple[ReadSchema, Changes | None]:
        """Return the schema for decoding, and the conversion of rows to changes.

        The conversion is None unless the option `changes` is set.
        """
        from pyspark_pulsar.codec.changes import Changes
        from pyspark_pulsar.schema.types.spark import arrow_schema

        columns = arrow_schema(schema)
        if options.changes is None:
            return self._read_schema(options, columns), None
        changes = Changes.parse(options.changes, columns)
        return self._read_schema(options, changes.source_columns), changes

    def _read_schema(self, options: ReadOptions, user_schema: pa.Schema) -> ReadSchema:
        from pyspark_pulsar.read.bounds.schema import resolve_source_schema

        if self._resolved is not None and set(user_schema) <= set(self._resolved.output_schema):
            return replace(self._resolved, output_schema=user_schema)
        return resolve_source_schema(options, user_schema)


def register(spark: SparkSession) -> None:
    """Check that workers have this package, register the data source, and enable filter pushdown.

    Call this function if queries filter by metadata columns, or if Spark does not find the data source by itself. In
    the second case, the error of this function states the reason. If the session does not set
    `spark.sql.python.filterPushdown.enabled`, this function sets this configuration to `true`.

    Args:
        spark: The session, of Spark Classic or Spark Connect.

    Raises:
        InterpreterError: The Python of a worker lacks this package, or has another version of this package.

    """
    from pyspark_pulsar.spark.shipped_objects import check_workers

    check_workers(spark)
    spark.dataSource.register(PulsarDataSource)
    _push_filters(spark)


def _push_filters(spark: SparkSession) -> None:
    """Enable filter pushdown unless the session has set the configuration. Spark disables pushdown by default."""
    if spark.conf.get(_FILTER_PUSHDOWN, None) is None:
        spark.conf.set(_FILTER_PUSHDOWN, "true")
