"""Runs of evolutions on a server, with each read compared with the broker's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
from soak.evolution.compare import Difference, difference, is_named, outcome_of
from soak.evolution.steps import (
    BAD_ROWS,
    Close,
    Evolution,
    Read,
    Register,
    Send,
    Step,
    Tier,
    Trim,
)
from soak.evolution.topics import Place, Twins, rows, stream_rows

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.metadata_columns import FIELDS
from pyspark_pulsar.schema.read_schema import resolve_read_schema

AfterTiering = Callable[[Twins], None]


@dataclass
class Outcome:
    """The outcome of an evolution."""

    seed: int
    kind: str
    table_format: str
    difference: Difference | None = None
    step: int | None = None
    """The index of the step that found the difference."""
    reads: int = 0
    refused: int = 0
    """The number of reads that fail with the same error as the broker's read."""
    cells: int = 0
    """The number of compared cells that are equal."""
    rows_after_trim: int = 0
    """The number of rows that were read after their ledgers were removed."""
    errors: Counter[str] = field(default_factory=Counter)
    """The number of errors of tiering, and of reads for which the broker returns rows, by class of the error."""


class Player:
    """A player that runs evolutions, one after the other."""

    def __init__(self, place: Place, damage: AfterTiering | None = None) -> None:
        """Prepare a player; `damage` harms the table after each round of tiering, which the comparison must find."""
        self._place = place
        self._damage = damage
        self._played = 0

    def play(self, evolution: Evolution, and_then: Callable[[Play], None] | None = None) -> Outcome:
        """Run the steps up to the first difference, then call `and_then` if there was none."""
        self._played += 1
        twins = Twins.make(self._place, f"{evolution.seed}-{self._played}", evolution.table_format)
        played = Play(evolution, twins, self._damage)
        for index, step in enumerate(evolution.steps):
            played.take(step)
            if played.outcome.difference is not None:
                played.outcome.step = index
                break
        else:
            if and_then is not None:
                and_then(played)
        twins.delete()
        return played.outcome


class Play:
    """A running evolution."""

    def __init__(self, evolution: Evolution, twins: Twins, damage: AfterTiering | None) -> None:
        self._evolution = evolution
        self.twins = twins
        self._damage = damage
        self._latest: int | None = None
        self._is_open_empty = True
        self._has_untiered = False
        """True if closed ledgers have messages that are not in the table."""
        self._trimmed_up_to = 0
        self.outcome = Outcome(evolution.seed, evolution.kind, evolution.table_format)

    def take(self, step: Step) -> None:
        """Run a step; a step that needs an absent step does nothing."""
        match step:
            case Register(version):
                document = self._evolution.versions[version].document
                self.twins.register(version, self._evolution.kind, document)
                self._latest = version
            case Send(version, messages, is_batch, names_version) if version in self.twins.registered:
                named = version if names_version else None
                self.twins.send(named, messages, is_batch=is_batch)
                self._is_open_empty = False
            case Close():
                self.twins.close_ledger()
                self._has_untiered = self._has_untiered or not self._is_open_empty
                self._is_open_empty = True
            case Tier():
                self._tier()
            case Trim() if not self._has_untiered:
                self.twins.trim()
                if self._is_open_empty:
                    self._trimmed_up_to = len(self.twins.positions)
            case Read() if self._latest is not None:
                self._read(step)

    def _tier(self) -> None:
        fault = self.twins.tier()
        if fault is None:
            self._has_untiered = False
            if self._damage is not None:
                self._damage(self.twins)
        elif is_named(fault):
            self.outcome.errors[f"tier: {type(fault).__name__}"] += 1
        else:
            self.outcome.difference = Difference(f"raw {type(fault).__name__} of tiering", f"{fault!r:.800}")

    def _read(self, step: Read) -> None:
        if step.version is not None and step.version not in self.twins.registered:
            return
        twins, columns = self.twins, self._columns(step)
        wanted = None if step.version is None else self._columns_of(step.version)

        def read(topic: str) -> pa.Table:
            texts = twins.options(topic, step, columns)
            return stream_rows(texts) if step.is_stream else rows(texts, wanted)

        plain, union = outcome_of(lambda: read(twins.kept)), outcome_of(lambda: read(twins.topic))
        self.compare(plain, union, "stream" if step.is_stream else "batch")

    def compare(self, expected: pa.Table | Exception, union: pa.Table | Exception, how: str) -> None:
        outcome = self.outcome
        outcome.reads += 1
        outcome.difference = difference(
            expected, union, self.twins.positions, is_json=self._evolution.kind == "JSON"
        )
        if isinstance(expected, pa.Table) and isinstance(union, Exception):
            outcome.errors[f"{how}: {type(union).__name__}"] += 1
        elif isinstance(union, Exception):
            outcome.refused += 1
        elif isinstance(union, pa.Table):
            outcome.cells += union.num_rows * union.num_columns
            outcome.rows_after_trim += min(union.num_rows, self._trimmed_up_to)

    def _columns(self, step: Read) -> list[str] | None:
        """Return the value columns to read, or None to read all."""
        if step.share == 1.0:
            return None
        try:
            names = self._value_columns(self._latest or 0).names
        except SchemaError:
            return None
        rng = random.Random(f"{self._evolution.seed} {self._latest}")
        return [name for name in names if rng.random() < step.share] or names[:1]

    def _value_columns(self, version: int) -> pa.Schema:
        kind = SchemaType[self._evolution.kind]
        info = SchemaInfo("t", kind, self._evolution.versions[version].document.encode())
        return pa.schema(list(resolve_read_schema(info, topic=self.twins.topic).value_columns))

    def _columns_of(self, version: int) -> pa.Schema | None:
        """Return the columns of a version and the metadata columns, in the form that `.schema(...)` accepts."""
        try:
            columns = self._value_columns(version)
        except SchemaError:
            return None
        return pa.schema([*columns, pa.field(BAD_ROWS, pa.binary()), *FIELDS.values()])
