"""Draws a whole evolution from one seed."""

from __future__ import annotations

import random
from typing import Protocol

from soak.evolution.protobuf_versions import ProtobufVersions
from soak.evolution.record_versions import RecordVersions
from soak.evolution.steps import (
    AVRO,
    DELTA,
    DROPMALFORMED,
    FAILFAST,
    ICEBERG,
    JSON,
    PERMISSIVE,
    PROTOBUF,
    Close,
    Evolution,
    Message,
    Read,
    Register,
    Send,
    Step,
    Tier,
    Trim,
    Version,
)

_MODES = [PERMISSIVE, PERMISSIVE, FAILFAST, DROPMALFORMED]


class _Versions(Protocol):
    versions: list[Version]

    def message(self, version: int) -> Message: ...


def draw_evolution(seed: int) -> Evolution:
    """The evolution of a seed, which is always the same."""
    rng = random.Random(seed)
    kind = rng.choice([AVRO, AVRO, JSON, PROTOBUF])
    count = rng.choice([2, 2, 2, 3, 3, 4])
    versions: _Versions = (
        ProtobufVersions(rng, count) if kind == PROTOBUF else RecordVersions(rng, count, is_json=kind == JSON)
    )
    steps = _Steps(rng, versions).draw(count)
    return Evolution(seed, kind, rng.choice([ICEBERG, DELTA]), tuple(versions.versions), tuple(steps))


class _Steps:
    def __init__(self, rng: random.Random, versions: _Versions) -> None:
        self._rng = rng
        self._versions = versions

    def draw(self, count: int) -> list[Step]:
        steps: list[Step] = [Register(0), self._send(0)]
        for version in range(1, count):
            steps += self._between(version)
            steps.append(Register(version))
            steps += [self._send(version)] if self._rng.random() < 0.7 else []
            # A producer that nobody has updated.
            steps += [self._send(self._rng.randrange(version))] if self._rng.random() < 0.5 else []
        return steps + self._end(count)

    def _between(self, registered: int) -> list[Step]:
        rng = self._rng
        steps: list[Step] = []
        if rng.random() < 0.7:
            steps += [Close(), Tier()]
        if rng.random() < 0.15:
            steps.append(Trim())
        if rng.random() < 0.15:
            steps.append(Read(rng.choice(_MODES), rng.choice([0.5, 1.0]), is_stream=rng.random() < 0.3))
        if rng.random() < 0.3:
            steps.append(self._send(rng.randrange(registered)))
        return steps

    def _end(self, count: int) -> list[Step]:
        """Read the table beside the ledgers, and then alone."""
        rng = self._rng
        steps: list[Step] = [Close(), Tier(), Trim(), Read()]
        if rng.random() < 0.5:
            steps.append(Read(rng.choice([FAILFAST, DROPMALFORMED]), rng.choice([0.5, 1.0])))
        if rng.random() < 0.25:
            steps.append(Read(rng.choice(_MODES), rng.choice([0.5, 1.0]), is_stream=True))
        if rng.random() < 0.35:
            steps.append(Read(rng.choice(_MODES), version=rng.randrange(count - 1)))
        return steps

    def _send(self, version: int) -> Send:
        rng = self._rng
        messages = tuple(
            Message(None, "tombstone") if rng.random() < 0.08 else self._versions.message(version)
            for _ in range(rng.choice([1, 2, 3]))
        )
        return Send(version, messages, rng.random() < 0.3, rng.random() < 0.95)
