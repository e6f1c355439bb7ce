"""A decoder for the payloads that a table keeps, by the schema of the read. Executor only.

A table keeps the payload of each message whose complete payload the value columns do not determine. The table also
keeps the payload of each message that could not be decoded. The schema of the read can have more or fewer fields than
the schema with which the row was written. So the read decodes the kept payload like the payload of a message from a
broker. Payloads that `tiered_rows` encodes from columns are decoded in the same way.
"""

from __future__ import annotations

import logging
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.codec.decode import BAD_ROW_OUTCOMES
from pyspark_pulsar.codec.payload_rows import BAD_COLUMN, NEEDED_COLUMNS, PayloadRows
from pyspark_pulsar.history.columnar.layout import PAYLOAD_COLUMN
from pyspark_pulsar.history.columnar.reading.request import RowRequest
from pyspark_pulsar.history.columnar.reading.tiered_rows import IS_DECODED
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.schema import metadata_columns

_log: Final = logging.getLogger(__name__)

PAYLOAD_FIELDS: Final = {
    PAYLOAD_COLUMN: pa.field(PAYLOAD_COLUMN, pa.binary()),
    IS_DECODED: pa.field(IS_DECODED, pa.bool_()),
    **{name: metadata_columns.FIELDS[name] for name in NEEDED_COLUMNS},
}
"""The columns of a table from which payloads are decoded: the payload, and the metadata that the decoder needs."""


class KeptPayloads:
    """A decoder of the kept payloads of one topic partition. Used by one task."""

    def __init__(self, request: RowRequest, partition: TopicPartition) -> None:
        self._mode = request.mode
        self._partition = partition
        self._bad_rows = 0
        self._rows = PayloadRows(
            request.schema,
            topic=str(partition.topic),
            partition=partition.index,
            fetch_schema=request.fetch_schema,
        )

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Decode the kept payloads, and return all rows with the decoded values.

        Args:
            batch: Rows with `PAYLOAD_FIELDS` and the value columns of the read.

        Returns:
            The rows in the same order, with the additional column `BAD_COLUMN`. In mode `DROPMALFORMED`, bad rows are
            omitted.

        Raises:
            PulsarError: The error of the first bad row, in mode `FAILFAST`.

        """
        is_kept = batch.column(IS_DECODED)
        rows = batch.filter(is_kept)
        if not rows.num_rows:
            return batch
        payloads = rows.column(PAYLOAD_COLUMN)
        decoded = self._rows.decode(rows, payloads)
        bad = decoded.column(BAD_COLUMN)
        bad_rows = len(bad) - bad.null_count
        if bad_rows and self._mode == "FAILFAST":
            self._rows.fail(rows, payloads, pc.index(pc.is_valid(bad), value=True).as_py())
        self._bad_rows += bad_rows
        decoded_rows = pc.add(pc.cumulative_sum(is_kept.cast(pa.int64())), batch.num_rows - 1)
        order = pc.if_else(is_kept, decoded_rows, pa.array(range(batch.num_rows), pa.int64()))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns[BAD_COLUMN] = pa.nulls(batch.num_rows, pa.binary())
        for name in decoded.schema.names:
            columns[name] = pa.concat_arrays([columns[name], decoded.column(name)]).take(order)
        merged = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return (
            merged.filter(pc.is_null(merged.column(BAD_COLUMN))) if self._mode == "DROPMALFORMED" else merged
        )

    def log_bad_rows(self) -> None:
        """Log the number of messages that could not be decoded since the last call."""
        if self._bad_rows:
            _log.warning(
                "Some messages of the topic's table did not decode and %s: %d messages (mode=%s), topic partition %s",
                BAD_ROW_OUTCOMES[self._mode],
                self._bad_rows,
                self._mode,
                self._partition,
            )
        self._bad_rows = 0
