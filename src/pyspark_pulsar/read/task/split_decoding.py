"""Decoding of one split's entries and rows into the rows of a query. Executor only."""

from __future__ import annotations

from functools import partial

from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import NO_VERSION, EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.history.columnar.reading.request import RowRequest
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import PartitionAccess
from pyspark_pulsar.read.sources.chunk_search import earlier_entries
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.schema_cache import SCHEMA_VERSIONS, Incarnation
from pyspark_pulsar.read.task.transactions import TopicTransactions
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema


class SplitDecoding:
    """A factory for the decoders of one split. Used by one task."""

    def __init__(
        self, schema: ReadSchema, split: Split, access: PartitionAccess, transactions: TopicTransactions
    ) -> None:
        """Store the arguments. The caller closes the access and the transactions of the split's topic partition."""
        self._options = options = access.options
        self._client = access.client
        self._schema = schema
        self._split = split
        self._transactions = transactions
        planned = (schema.info, schema.own_schemas)
        self._incarnation = Incarnation(options.identity, split.partition.topic, split.end.ledger, planned)
        self._row_filter = RowFilter(split.window, keys=split.keys, slots=split.slots)
        self.request = RowRequest(
            schema, self._row_filter, options.mode, options.batch_rows, self._fetch_schema
        )
        """The request for rows of a table."""

    def make_decoder(self, start: Position, end: Position) -> EntryDecoder:
        """Return a decoder for the entries from `start` (inclusive) to `end` (exclusive)."""
        options, partition = self._options, self._split.partition
        return EntryDecoder(
            self._schema,
            topic=str(partition.topic),
            partition=partition.index,
            fetch_schema=self._fetch_schema,
            batch_rows=options.batch_rows,
            start=start.as_tuple(),
            end=end.as_tuple(),
            intake=_split_intake(options, self._split, self._transactions),
            mode=options.mode,
            query_identity=options.identity,
            row_filter=self._row_filter,
        )

    def _fetch_schema(self, version: bytes) -> SchemaInfo | None:
        return SCHEMA_VERSIONS.fetch(self._incarnation, version, self._request_schema)

    def _request_schema(self, name: TopicName, version: bytes) -> SchemaInfo | None:
        return self._client.schema(name, version if version != NO_VERSION else None)


def _split_intake(options: ReadOptions, split: Split, transactions: TopicTransactions) -> Intake:
    """Return the decoder's sources: this executor's key files, and brokers for earlier chunks and transactions."""
    keys = DataKeys(options.crypto_default_private_key, dict(options.crypto_private_keys))
    return Intake(
        unwrap=keys.unwrap,
        earlier=partial(earlier_entries, options, split.partition),
        aborted=transactions.aborted,
        crypto_failure_action=options.crypto_failure_action,
        max_open_chunked=options.max_pending_chunked_message,
        max_uncompressed=options.max_uncompressed_message_size,
        trimmed_is_loss=options.fail_on_data_loss
        and not (split.start.is_earliest or split.from_earliest or options.read_compacted),
    )
