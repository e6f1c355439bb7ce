"""Through a Pulsar proxy that asks for tokens itself and tells the broker whose they are; driver and tasks without
Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
from fixtures.secured_pulsar import STRANGER, WORKER, SecuredPulsar

from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.options import ReadOptions, WriteOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows


def _read(options: dict[str, str]) -> list[str]:
    parsed = parse_options(ReadOptions, options)
    schema = resolve_source_schema(parsed)
    batches = [batch for split in plan_batch(parsed).splits for batch in read_split(parsed, schema, split)]
    return [name for batch in batches for name in batch.column("name").to_pylist()]


def test_through_a_pulsar_proxy(secured: SecuredPulsar, topic: str) -> None:
    rows = pa.record_batch({"id": pa.array([1, 2], pa.int32()), "name": ["one", "two"]})
    with secured.proxy() as address:
        options = secured.options(WORKER, tls=True) | {"service.url": address, "topic": topic}
        to_write = parse_options(WriteOptions, options)
        assert write_rows(to_write, settle_target(to_write, rows.schema), iter([rows])) == 2
        assert _read(options) == ["one", "two"]
        stranger = secured.options(STRANGER, tls=True) | {"service.url": address, "topic": topic}
        with pytest.raises(PermissionDenied, match="AuthorizationError"):
            _read(stranger)
        expired = options | {"pulsar.client.authParams": f"token:{secured.token(WORKER, seconds=-60)}"}
        with pytest.raises(PermissionDenied, match="the token ended at"):
            _read(expired)
