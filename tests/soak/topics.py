"""Administration of the topics of a soak: creation, growth, offloading, and removal of ledgers that were read.

Every request is repeated while the broker is unreachable, because soaks kill the broker.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import urllib3
from fixtures.cluster.access import PIPELINE
from integration.cluster.administration import ClusterAdmin

from pyspark_pulsar.model.position import Position

_HOLDER: Final = "soak-holder"
_PATIENCE_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.2
_EARLIEST: Final = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
_IS_THERE: Final = 409


class Topics:
    """Topics in one namespace, which keeps only messages after the position of the subscription `soak-holder`."""

    def __init__(self, admin: ClusterAdmin, namespace: str) -> None:
        """Create the namespace. Each entry has two copies on two bookies, so one bookie can be down."""
        self._admin = admin
        self.namespace = namespace
        self.partitions: list[str] = []
        self._counts: dict[str, int] = {}
        self.seen: dict[str, set[int]] = defaultdict(set)
        self.offloaded: dict[str, set[int]] = defaultdict(set)
        admin.create_namespace(namespace, ensemble=2, write_quorum=2)
        admin.set_retention(namespace, 0, 0)
        admin.offload_to_bucket(namespace)
        self._request("POST", f"namespaces/{namespace}/deduplication", body=True)
        admin.grant(namespace, PIPELINE, "consume", "produce")
        # The transaction coordinators need this.
        admin.grant("pulsar/system", PIPELINE, "consume")

    @property
    def pattern(self) -> str:
        return f"{self.namespace}/t-.*"

    # Growth; each method returns the new topic partitions

    def add(self, partitions: int) -> list[str]:
        """Create a topic with `partitions` partitions, or a topic without partitions if the number is 0."""
        topic = f"persistent://{self.namespace}/t-{len(self._counts)}"
        self._counts[topic] = partitions
        if partitions:
            self._request("PUT", f"{_path(topic)}/partitions", body=partitions)
        else:
            self._request("PUT", _path(topic))
        return self._hold([f"{topic}-partition-{index}" for index in range(partitions)] or [topic])

    def growable(self, most: int) -> list[str]:
        return [topic for topic, count in self._counts.items() if 0 < count < most]

    def grow(self, topic: str, partitions: int) -> list[str]:
        """Add `partitions` partitions to a topic."""
        before = self._counts[topic]
        self._counts[topic] = before + partitions
        self._request("POST", f"{_path(topic)}/partitions", body=before + partitions)
        return self._hold([f"{topic}-partition-{index}" for index in range(before, before + partitions)])

    def _hold(self, partitions: list[str]) -> list[str]:
        """Create a subscription at the first message of each partition, so that the broker keeps all messages."""
        for partition in partitions:
            self._request("PUT", f"{_path(partition)}/subscription/{_HOLDER}", body=_EARLIEST)
        self.partitions += partitions
        return partitions

    # Ledgers

    def roll(self, partition: str) -> None:
        self._request("PUT", f"{_path(partition)}/unload")

    def offload(self, seconds: float) -> None:
        """Offload all closed ledgers to tiered storage, and wait at most `seconds` for the end."""
        give_up = time.monotonic() + seconds
        for partition in self.partitions:
            last = self._look(partition)
            upto = {"ledgerId": last, "entryId": 0, "partitionIndex": -1}
            self._request("PUT", f"{_path(partition)}/offload", body=upto)
        waiting = list(self.partitions)
        while waiting and time.monotonic() < give_up:
            time.sleep(_PAUSE_SECONDS)
            waiting = [each for each in waiting if self._is_offloading(each)]
        for partition in self.partitions:
            self._look(partition)

    def trim(self, read: Mapping[str, Position]) -> None:
        """Remove the ledgers before these positions."""
        for partition, position in read.items():
            if position.is_earliest:
                continue
            place = {"ledgerId": position.ledger, "entryId": position.entry, "partitionIndex": -1}
            self._look(partition)
            self._request("POST", f"{_path(partition)}/subscription/{_HOLDER}/resetcursor", body=place)
            self._request("POST", f"{_path(partition)}/trim")

    def removed(self) -> int:
        """Record the present ledgers, and return the number of ledgers that were removed until now."""
        for partition in self.partitions:
            self._look(partition)
        return sum(len(self.seen[partition] - self._present(partition)) for partition in self.partitions)

    def _look(self, partition: str) -> int:
        """Record the present ledgers, and return the id of the open ledger."""
        ledgers = self._ledgers(partition)
        self.seen[partition] |= {each["ledgerId"] for each in ledgers if each["entries"]}
        self.offloaded[partition] |= {each["ledgerId"] for each in ledgers if each["offloaded"]}
        return int(ledgers[-1]["ledgerId"])

    def _present(self, partition: str) -> set[int]:
        return {each["ledgerId"] for each in self._ledgers(partition)}

    def _ledgers(self, partition: str) -> list[dict[str, Any]]:
        return list(self._request("GET", f"{_path(partition)}/internalStats").json()["ledgers"])

    def _is_offloading(self, partition: str) -> bool:
        return bool(self._request("GET", f"{_path(partition)}/offload").json()["status"] == "RUNNING")

    def _request(self, method: str, path: str, body: Any = None) -> urllib3.BaseHTTPResponse:
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                answer = self._admin.request(method, path, body)
                told = f"{answer.status} {answer.data[:500]!r}"
                # The server may have completed a request that was cut off, so the requested thing may exist.
                if answer.status < 300 or (method != "GET" and answer.status == _IS_THERE):
                    return answer
            except urllib3.exceptions.HTTPError as fault:
                told = repr(fault)
            assert time.monotonic() < give_up, f"{method} {path}: no good answer for long; the last: {told}"
            time.sleep(_PAUSE_SECONDS)


def _path(topic: str) -> str:
    return "persistent/" + topic.removeprefix("persistent://")
