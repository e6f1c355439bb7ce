"""A broker that is away when Spark plans an epoch: a query that runs waits for it as its tasks do."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from fixtures.forwarder import Forwarder
from pyspark.sql.types import StringType, StructType

from pyspark_pulsar.datasource import PulsarDataSource
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.standalone import LocalPulsar

NOBODY = "pulsar://127.0.0.1:1"
_AWAY_SECONDS = 8.0
"""Longer than a query is let wait that somebody is writing."""


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_an_epoch_waits_for_a_broker_that_is_started_again(
    pulsar: LocalPulsar, topic: str, tmp_path: Path, guarantee: str
) -> None:
    columns = StructType().add("value", StringType())
    with Forwarder(pulsar.service_url, lambda _: None) as forwarder:
        options = {"service.url": forwarder.service_url, "topic": topic, "deliveryGuarantee": guarantee}
        forwarder.retarget(NOBODY)
        source = PulsarDataSource({**options, "checkpointLocation": str(tmp_path)})
        with pytest.raises(ConnectionFailed):
            source.writer(columns, overwrite=False)
        threading.Timer(_AWAY_SECONDS, forwarder.retarget, [pulsar.service_url]).start()
        assert source.streamWriter(columns, overwrite=False) is not None
