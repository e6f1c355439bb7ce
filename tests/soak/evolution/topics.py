"""A topic whose ledgers are removed, and its twin with all ledgers, as the broker's view at any time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from integration.official import Admin, await_true
from integration.tier.conftest import tables_in
from integration.tier.test_streams import Query
from soak.evolution.compare import Positions
from soak.evolution.entries import EntrySender, Sent
from soak.evolution.steps import BAD_ROWS, Message, Read

from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.definition import TableSettings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.topic_rounds import tier_topics
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.schema.metadata_columns import FIELDS

_FOR_EVER = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}


@dataclass(frozen=True)
class Place:
    """A server, a folder for tables, and connections, for one thread."""

    service_url: str
    admin_url: str
    folder: Path
    name: str
    """The name of the namespace, which is unique on the server."""
    admin: Admin
    sender: EntrySender

    @classmethod
    def open(cls, service_url: str, admin_url: str, folder: Path, name: str) -> Place:
        folder.mkdir(parents=True, exist_ok=True)
        place = cls(service_url, admin_url, folder, name, Admin(admin_url), EntrySender(service_url))
        place._make_namespace(place.namespace)
        place._make_namespace(f"{place.namespace}-kept")
        return place

    @property
    def namespace(self) -> str:
        """Return the namespace of topics whose ledgers are removed. It has the topic of one evolution at a time."""
        return f"public/{self.name}"

    def _make_namespace(self, name: str) -> None:
        policies = {"schema_compatibility_strategy": "ALWAYS_COMPATIBLE", "retention_policies": _FOR_EVER}
        answer = self.admin.request("PUT", f"namespaces/{name}", policies)
        assert answer.status in (204, 409), (answer.status, answer.data)


@dataclass
class Twins:
    """The two topics of one evolution."""

    place: Place
    name: str
    table_format: str
    positions: Positions = field(default_factory=dict)
    registered: dict[int, int] = field(default_factory=dict)
    """The registry's number of each version."""
    damaged: set[Path] = field(default_factory=set)
    """The data files that a control has harmed."""

    @classmethod
    def make(cls, place: Place, name: str, table_format: str) -> Twins:
        twins = cls(place, name, table_format)
        for topic in (twins.topic, twins.kept):
            place.admin.create(topic)
        return twins

    @property
    def topic(self) -> str:
        return f"persistent://{self.place.namespace}/{self.name}"

    @property
    def kept(self) -> str:
        return f"persistent://{self.place.namespace}-kept/{self.name}"

    @property
    def catalog(self) -> dict[str, str]:
        return tables_in(self.place.folder, self.table_format)

    def texts(self, topic: str) -> dict[str, str]:
        """Return options as texts, the form that Spark accepts."""
        texts = {"service.url": self.place.service_url, "admin.url": self.place.admin_url, "topic": topic}
        if topic == self.topic:
            texts["tierCatalog"] = json.dumps(self.catalog)
        return texts

    def read_options(self) -> ReadOptions:
        return parse_options(ReadOptions, {**self.texts(self.topic), "columns": ",".join(["*", *FIELDS])})

    def register(self, version: int, kind: str, document: str) -> None:
        numbers = {self._registered(topic, kind, document) for topic in (self.topic, self.kept)}
        (self.registered[version],) = numbers

    def _registered(self, topic: str, kind: str, document: str) -> int:
        """Register a version, which must be new to the registry, and return its number."""
        path = f"schemas/{topic.removeprefix('persistent://')}/schema"
        body = {"type": kind, "schema": document, "properties": {}}
        answer = self.place.admin.request("POST", path, body)
        assert answer.status == 200, (answer.status, answer.data, document)
        number = int(json.loads(answer.data)["version"]["version"])
        assert number == len(self.registered), (number, self.registered)
        return number

    def send(self, version: int | None, messages: Sequence[Message], *, is_batch: bool) -> None:
        number = None if version is None else self.registered[version]
        first = len(self.positions)
        sent = [Sent(first + index, each.payload, number) for index, each in enumerate(messages)]
        self.place.sender.send(self.kept, sent, is_batch=is_batch)
        receipts = self.place.sender.send(self.topic, sent, is_batch=is_batch)
        self.positions |= {each.number: place for each, place in zip(sent, receipts, strict=True)}

    def close_ledger(self) -> None:
        self.place.admin.unload(self.topic)

    def tier(self) -> Exception | None:
        """Tier all complete ledgers. Returns the reason if nothing was committed."""
        tier_round = TierRound(self.read_options(), TableSettings(), ProcessWriters(1))
        (outcome,) = tier_topics(tier_round, [TopicName.parse(self.topic)], 1)
        return outcome.fault

    def trim(self) -> None:
        """Remove all ledgers but the last."""
        admin, path = self.place.admin, f"persistent/{self.place.namespace}/{self.name}"
        admin.retain_nothing(self.topic)

        def is_trimmed() -> bool:
            if len(json.loads(admin.request("GET", f"{path}/internalStats").data)["ledgers"]) == 1:
                return True
            admin.request("POST", f"{path}/trim")
            return False

        await_true("trimming", is_trimmed)
        admin.keep_for(self.topic, minutes=-1)

    def data_files(self) -> list[Path]:
        """List the data files of the table."""
        table = TopicTables(self.read_options()).load(TopicName.parse(self.topic))
        return [] if table is None else [Path(urlsplit(file.url).path) for file in table.files()]

    def delete(self) -> None:
        """Delete the topic, because a change of its namespace's retention would affect it. Its twin may stay."""
        self.place.admin.delete(self.topic)

    def options(self, topic: str, read: Read, columns: Sequence[str] | None) -> dict[str, str]:
        """Return the options of a read of one of the topics."""
        shown = [*(["*"] if columns is None else columns), *([BAD_ROWS] if read.mode == "PERMISSIVE" else [])]
        return {
            **self.texts(topic),
            "mode": read.mode,
            "columnNameOfCorruptRecord": BAD_ROWS,
            "columns": ",".join([*shown, *FIELDS]),
            **({"readFrom": "broker"} if topic == self.kept else {}),
        }


def rows(texts: dict[str, str], columns: pa.Schema | None = None) -> pa.Table:
    """Read the rows of a batch, without Spark. `columns` have the form that `.schema(...)` accepts."""
    options = parse_options(ReadOptions, texts)
    schema = resolve_source_schema(options, columns)
    batches = [batch for split in plan_batch(options).splits for batch in read_split(options, schema, split)]
    return pa.Table.from_batches(batches, schema.output_schema)


@dataclass(frozen=True)
class _Options:
    """The part of a tier that `Query` needs."""

    texts: dict[str, str]

    def options(self, **further: str) -> ReadOptions:
        return parse_options(ReadOptions, {**self.texts, **further})


def stream_rows(texts: dict[str, str]) -> pa.Table:
    """Read the rows of all micro-batches of a stream from the beginning, without Spark."""
    query = Query(_Options(texts))  # type: ignore[arg-type]
    try:
        tables = list(query.rest())
        return pa.concat_tables(tables) if tables else query.schema.output_schema.empty_table()
    finally:
        query.close()
