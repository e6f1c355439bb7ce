"""Options of the two parts. A test with a server shows that no row is lost or repeated between them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.session import history_and_live as module
from pyspark_pulsar.session.catalog_table import identifier_parts
from pyspark_pulsar.session.history_and_live import history_and_live

URL = "pulsar://h:6650"
PLACE = {"service.url": URL, "topic": "t"}
NAMES = [f"persistent://public/default/t-partition-{index}" for index in range(2)]
BOUNDARY = json.dumps({NAMES[0]: "5:7:0", NAMES[1]: "earliest", "*": "earliest"})


class Reader:
    """A session that records the options of `spark.read` and `readStream`."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.what = ""

    def format(self, name: str) -> Reader:
        self.what = name
        return self

    def options(self, **given: str) -> Reader:
        self.given = given
        return self

    def load(self) -> Reader:
        return self

    def table(self, name: str) -> Reader:
        self.what = name
        return self


class Conf:
    def __init__(self, values: dict[str, str]) -> None:
        self.getAll = values


class Catalog:
    def currentCatalog(self) -> str:  # noqa: N802
        return "spark_catalog"

    def currentDatabase(self) -> str:  # noqa: N802
        return "`shop/eu`"


class Spark:
    def __init__(self, **conf: str) -> None:
        self.conf = Conf({key.replace("__", "."): value for key, value in conf.items()})
        self.catalog = Catalog()
        self.read, self.readStream = Reader(), Reader()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[ReadOptions]:
    """Record the options of each request; the topic has two partitions, and one of them is empty."""
    calls: list[ReadOptions] = []

    def ranges_now(options: ReadOptions) -> list[RangeRequest]:
        calls.append(options)
        partitions = [TopicPartition.parse(name) for name in NAMES]
        start = EARLIEST if options.starting_offsets in (None, FROM_EARLIEST) else Position(5, 1)
        ends = [Position(5, 7), EARLIEST]
        starts = [start, EARLIEST]
        return [RangeRequest(*each, TimeWindow()) for each in zip(partitions, starts, ends, strict=True)]

    monkeypatch.setattr(module, "ranges_now", ranges_now)
    return calls


def test_both_parts_are_given_the_boundary(requests: list[ReadOptions]) -> None:
    spark: Any = Spark()
    history, live, offsets = history_and_live(spark, **PLACE, minPartitions=4, failOnDataLoss=False)
    common = {**PLACE, "minPartitions": "4", "failOnDataLoss": "false"}
    assert offsets == BOUNDARY
    assert (history.what, history.given) == ("pulsar", {**common, "endingOffsets": BOUNDARY})
    assert (live.what, live.given) == ("pulsar", {**common, "startingOffsets": BOUNDARY})
    assert (requests[0].service_url, requests[0].topic, requests[0].min_partitions) == (URL, "t", 4)


def test_a_start_is_that_of_history(requests: list[ReadOptions]) -> None:
    spark: Any = Spark()
    history, live, _ = history_and_live(
        spark, **PLACE, StartingOffsets=json.dumps({NAMES[0]: "5:1", NAMES[1]: "earliest"})
    )
    fixed = json.dumps({NAMES[0]: "5:1:0", NAMES[1]: "earliest", "*": "earliest"})
    assert history.given == {**PLACE, "startingOffsets": fixed, "endingOffsets": BOUNDARY}
    assert live.given == {**PLACE, "startingOffsets": BOUNDARY}
    history, live, _ = history_and_live(spark, **PLACE, startingTimestamp="2026-01-31T08:00:00Z")
    assert history.given == {**PLACE, "startingTimestamp": "2026-01-31T08:00:00Z", "endingOffsets": BOUNDARY}
    assert live.given == {**PLACE, "startingOffsets": BOUNDARY}
    assert len(requests) == 2


def test_a_subscription_is_moved_by_the_stream_alone(requests: list[ReadOptions]) -> None:
    spark: Any = Spark()
    options = {"subscriptionName": "s", "pulsar.consumer.replicateSubscriptionState": "true"}
    history, live, _ = history_and_live(spark, **PLACE, **options)
    assert not history.given.keys() & options.keys()
    assert options.items() <= live.given.items()
    assert requests[0].subscription_name is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endingOffsets": "latest"}, "'endingOffsets': expected no end"),
        ({"EndingTimestamp": "5"}, "'EndingTimestamp': expected no end"),
        ({"endingOffsetsByTimestamp": "{}"}, "expected no end"),
        ({"startingOffsets": "Latest"}, "which leaves no history"),
        ({"topik": "x"}, "did you mean 'topic'"),
        ({"topics": "a,b"}, "exactly one of"),
    ],
)
def test_options_that_contradict_the_pattern(
    options: dict[str, str], words: str, requests: list[ReadOptions]
) -> None:
    spark: Any = Spark()
    with pytest.raises(OptionError, match=words):
        history_and_live(spark, **PLACE, **options)
    assert requests == []


CATALOG = {
    "spark__sql__catalog__pulsar": "org.pysparkpulsar.catalog.PulsarCatalog",
    "spark__sql__catalog__pulsar__service__url": URL,
    "spark__sql__catalog__pulsar__python": "/py",
    "spark__sql__catalog__pulsar__readFrom": "broker",
    "spark__sql__catalog__pulsar2__service__url": "pulsar://other:1",
}


@pytest.mark.parametrize(
    "table",
    ["pulsar.`public/default`.orders", "pulsar.public.default.orders", "`pulsar`.`public/default`.`orders`"],
)
def test_a_table_of_a_catalog(table: str, requests: list[ReadOptions]) -> None:
    spark: Any = Spark(**CATALOG)
    history, live, offsets = history_and_live(spark, table, minPartitions=4)
    assert (history.what, history.given) == (table, {"minPartitions": "4", "endingOffsets": BOUNDARY})
    assert (live.what, live.given) == (table, {"minPartitions": "4", "startingOffsets": BOUNDARY})
    assert offsets == BOUNDARY
    [options] = requests
    assert (options.service_url, options.topic) == (URL, "persistent://public/default/orders")
    assert (options.read_from, options.min_partitions) == ("broker", 4)


def test_a_table_of_the_current_catalog(requests: list[ReadOptions], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Catalog, "currentCatalog", lambda _: "pulsar")
    spark: Any = Spark(**CATALOG)
    history_and_live(spark, "orders")
    history_and_live(spark, "a.b.orders")
    assert [each.topic for each in requests] == ["persistent://shop/eu/orders", "persistent://a/b/orders"]


@pytest.mark.parametrize(
    ("table", "options", "kind", "words"),
    [
        ("orders", {}, OptionError, "got a table of the catalog spark_catalog"),
        ("pulsar.`a/b`.`t$segments`", {}, OptionError, "got a system table"),
        ("pulsar.`a/b`.`non-persistent://t`", {}, OptionError, "got non-persistent://a/b/t"),
        ("pulsar.a.t", {}, TopicNameError, "`a` is not a namespace"),
        ("pulsar.`a/b`.t", {"topic": "t"}, OptionError, "expected no topic in addition to the table"),
        ("pulsar..t", {}, OptionError, "expected names separated by dots"),
    ],
)
def test_tables_that_have_no_boundary(
    table: str, options: dict[str, str], kind: type[Exception], words: str, requests: list[ReadOptions]
) -> None:
    spark: Any = Spark(**CATALOG)
    with pytest.raises(kind, match=words):
        history_and_live(spark, table, **options)
    assert requests == []


def test_identifiers_as_sql_has_them() -> None:
    assert identifier_parts("a.`b/c`.`d``e.f`") == ["a", "b/c", "d`e.f"]
    for text in ("", ".", "a.", ".a", "a..b", "`a", "a`b`", "``"):
        with pytest.raises(OptionError):
            identifier_parts(text)
