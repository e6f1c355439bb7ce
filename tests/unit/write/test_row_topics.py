import random

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import OptionError, SchemaError, TopicNameError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.row_topics import rows_by_topic
from pyspark_pulsar.write.target import RowTargets, settle_target

SERVICE = {"service.url": "pulsar://localhost:1"}
PREFIX = "persistent://public/default/"


def test_rows_go_to_their_topics_in_order() -> None:
    rng = random.Random(7)
    names = ["b", "a", "public/default/c", f"{PREFIX}d"]
    chosen = [rng.choice(names) for _ in range(1_000)]
    batch = pa.record_batch({"n": list(range(1_000)), "__topic": chosen})
    found = {name: rows.column("n").to_pylist() for name, rows in rows_by_topic(batch)}
    full = {
        "b": f"{PREFIX}b",
        "a": f"{PREFIX}a",
        "public/default/c": f"{PREFIX}c",
        f"{PREFIX}d": f"{PREFIX}d",
    }
    assert found == {
        full[name]: [number for number, each in enumerate(chosen) if each == name] for name in names
    }


def test_spellings_of_one_topic_are_joined() -> None:
    batch = pa.record_batch({"n": [1, 2, 3, 4], "__topic": ["a", "b", f"{PREFIX}a", "a"]})
    found = {name: rows.column("n").to_pylist() for name, rows in rows_by_topic(batch)}
    assert found == {f"{PREFIX}a": [1, 3, 4], f"{PREFIX}b": [2]}


def test_rows_with_no_topic_or_an_invalid_one_are_refused() -> None:
    with pytest.raises(SchemaError, match="row 1 of the record batch"):
        list(rows_by_topic(pa.record_batch({"__topic": ["a", None, "b"]})))
    with pytest.raises(TopicNameError):
        list(rows_by_topic(pa.record_batch({"__topic": ["a", "x://y"]})))


def test_the_driver_checks_the_columns() -> None:
    options = parse_options(WriteOptions, SERVICE)
    columns = pa.schema([("n", pa.int64()), ("__topic", pa.string())])
    assert settle_target(options, columns) == RowTargets(columns, None)
    with pytest.raises(OptionError, match="'topic' is missing: expected the option, or a column __topic"):
        settle_target(options, pa.schema([("n", pa.int64())]))
    with pytest.raises(SchemaError, match="is bigint: expected type string"):
        settle_target(options, pa.schema([("n", pa.int64()), ("__topic", pa.int64())]))
    tombstones = parse_options(WriteOptions, {**SERVICE, "writeTombstones": "true"})
    with pytest.raises(OptionError, match="expected option keyColumn or a column __key"):
        settle_target(tombstones, columns)
