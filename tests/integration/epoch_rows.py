"""The rows that tests of exactly-once writes send, and what the official client sees of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pulsar as official_client
from integration.official import await_true, messages_of

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = 20
_END = "end"


def options(pulsar: LocalPulsar, topic: str, **more: Any) -> WriteOptions:
    return WriteOptions(
        service_url=pulsar.service_url, topic=topic, delivery_guarantee="exactly-once", **more
    )


def read(official: official_client.Client, topic: str) -> Counter[str]:
    """Return every row before a plain message that is sent now."""
    producer = official.create_producer(topic, schema=official_client.schema.StringSchema())
    producer.send(_END)
    producer.close()
    found: list[str] = []

    def complete() -> bool:
        found[:] = [message.data().decode() for message in messages_of(official, topic)]
        return bool(found) and found[-1] == _END

    await_true("the last message: a transaction is open", complete)
    return Counter(value for value in found if value != _END)


def once() -> Counter[str]:
    return Counter(str(number) for number in range(ROWS))
