"""What a decoder of the kernel is made with, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.codec.row_filter import RowFilter

if TYPE_CHECKING:
    import pyarrow as pa

    from pyspark_pulsar._kernel import Position
    from pyspark_pulsar.schema.payload import PayloadSchema

DEFAULT_BATCH_ROWS: Final = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderOptions:
    """The kernel reads these attributes; `_kernel.pyi` says what each means, and holds this class to it."""

    output_schema: pa.Schema
    topic: str
    partition: int
    value: PayloadSchema
    batch_rows: int = DEFAULT_BATCH_ROWS
    start: Position | None = None
    end: Position | None = None
    row_filter: RowFilter = field(default_factory=RowFilter)
    bad_rows: str = "fail"
    corrupt_column: str | None = None
    payload_column: str | None = None
    intake: Intake = field(default_factory=Intake)
