"""A broker that is away when Spark plans an epoch: the query waits for it like its tasks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.forwarder import Forwarder
from pyspark.sql.types import StringType, StructType

from pyspark_pulsar.datasource import PulsarDataSource
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.tools.standalone import LocalPulsar

NOBODY = "pulsar://127.0.0.1:1"
_AWAY_SECONDS = 8.0
"""Longer than a query is let wait that somebody is writing."""


def test_an_epoch_waits_for_a_restarted_broker(pulsar: LocalPulsar, topic: str, tmp_path: Path) -> None:
    columns = StructType().add("value", StringType())
    with Forwarder(pulsar.service_url, lambda _: None) as forwarder, ThreadPoolExecutor(2) as pool:
        forwarder.retarget(NOBODY)
        sources = [
            PulsarDataSource(
                {
                    "service.url": forwarder.service_url,
                    "topic": f"{topic}-{guarantee}",
                    "deliveryGuarantee": guarantee,
                    "checkpointLocation": str(tmp_path / guarantee),
                }
            )
            for guarantee in ("at-least-once", "exactly-once")
        ]
        for refused in [pool.submit(source.writer, columns, overwrite=False) for source in sources]:
            with pytest.raises(ConnectionFailed):
                refused.result()
        threading.Timer(_AWAY_SECONDS, forwarder.retarget, [pulsar.service_url]).start()
        for waits in [pool.submit(source.streamWriter, columns, overwrite=False) for source in sources]:
            assert waits.result() is not None
