"""The topics of bench/peers, filled when first asked for: batches of 1000, LZ4, closed ledgers."""

from __future__ import annotations

from pathlib import Path

import rows
from competitors import READY_ROWS, Sessions, ready_source
from queries import ALL


class Topics:
    def __init__(self, sessions: Sessions, scratch: Path) -> None:
        self._sessions, self._scratch = sessions, scratch
        self._filled: set[str] = set()

    def filled(self, value_format: str, count: int) -> str:
        """The full name of a topic with so many rows in `rows.PARTITIONS` partitions."""
        server = self._sessions.server
        topic = rows.topic_name(value_format, count)
        if topic in self._filled:
            return topic
        server.create(topic, rows.PARTITIONS)
        server.keep(topic)
        print(f"filling {topic}", flush=True)
        options = {
            "service.url": server.service_url,
            "admin.url": server.admin_url,
            "topic": topic,
            "valueFormat": value_format,
            "pulsar.producer.compressionType": "LZ4",
            # Entries of 1000 messages, and not what a record batch has for a partition.
            "pulsar.producer.batchingMaxMessages": "1000",
            "pulsar.producer.batchingMaxBytes": str(1 << 20),
            "pulsar.producer.batchingMaxPublishDelayMicros": "60000000",
        }
        columns = rows.written(value_format)
        self._sessions.product.run(
            {"do": "fill", "rows": count, "period": rows.PERIOD, "columns": columns, "options": options}
        )
        for partition in range(rows.PARTITIONS):
            server.close_ledger(f"{topic}-partition-{partition}")
        self._filled.add(topic)
        return topic

    def parquet(self, value_format: str, count: int) -> str:
        """The folder of Parquet files with the same rows."""
        folder = self._scratch / f"parquet-{value_format}-{count}"
        if not folder.exists():
            job = ready_source(READY_ROWS, value_format, count, ALL)
            self._sessions.product.run({"do": "store", "folder": str(folder), **job})
        return str(folder)
