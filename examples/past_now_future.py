"""Past, now and future: one function of a DataFrame, for present and future messages of a topic.

    python examples/past_now_future.py

The example starts its own Pulsar, in which a shop sells continuously. Three queries run the same function `sales`:

1. over history, as a batch: all orders until now, read from where they are stored;
2. over later orders, as a stream that starts exactly at the end of the batch;
3. over all orders, as one stream that first reads the stored orders and then follows the topic.

The sum of the first two results, the third result, and the shop's own count must be equal. Otherwise, the program exits
with 1.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

import pulsar
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import history_and_live
from pyspark_pulsar.tools.standalone import LocalPulsar

TOPIC = "persistent://public/default/orders"
ITEMS = ("tea", "milk", "bread", "salt")
PAST_ORDERS = 20_000
FUTURE_SECONDS = 8.0
# The ledgers are small, so that even this short history has closed ledgers.
SERVER = {"managedLedgerMaxEntriesPerLedger": "50", "managedLedgerMinLedgerRolloverTimeMinutes": "0"}


def sales(orders: DataFrame) -> DataFrame:
    """Return orders and cents of each item. The function works for a batch and for a stream."""
    return orders.groupBy("item").agg(F.count("*").alias("orders"), F.sum("cents").alias("cents"))


class Order(pulsar.schema.Record):
    """A message of the shop."""

    item = pulsar.schema.String(required=True)
    cents = pulsar.schema.Long(required=True)


class Shop(threading.Thread):
    """A shop that sends its orders with the official Python client until it is closed, and counts the orders."""

    def __init__(self, service_url: str) -> None:
        super().__init__(name="shop")
        self._client = pulsar.Client(service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        self._producer = self._client.create_producer(
            TOPIC, schema=pulsar.schema.JsonSchema(Order), batching_enabled=True, block_if_queue_full=True
        )
        self._closing = threading.Event()
        self._sold = 0
        self.orders: Counter[str] = Counter()
        self.cents: Counter[str] = Counter()
        self.failures: list[str] = []

    def sell(self, count: int) -> None:
        for _ in range(count):
            number = self._sold = self._sold + 1
            item, cents = ITEMS[number % 5 % len(ITEMS)], 50 + number % 400
            self._producer.send_async(Order(item=item, cents=cents), self._sent)
            self.orders[item] += 1
            self.cents[item] += cents
        self._producer.flush()

    def run(self) -> None:
        while not self._closing.wait(0.05):
            self.sell(25)

    def close(self) -> None:
        self._closing.set()
        self.join()
        self._client.close()

    def _sent(self, result: pulsar.Result, _message_id: object) -> None:
        if result != pulsar.Result.Ok:
            self.failures.append(str(result))


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalPulsar(data=Path(scratch) / "pulsar", config=SERVER) as server,
    ):
        spark = (
            SparkSession.builder.appName("past, now, future")
            .master("local[2]")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        try:
            # Start the Pulsar client only after PySpark has forked: a thread of the client that calls Python may hang
            # the child.
            shop = Shop(server.service_url)
            shop.sell(PAST_ORDERS)
            return run(spark, server, shop)
        finally:
            spark.stop()


def run(spark: SparkSession, server: LocalPulsar, shop: Shop) -> int:
    shop.start()
    orders = {"service.url": server.service_url, "admin.url": server.admin_url, "topic": TOPIC}
    past, future, boundary = history_and_live(spark, **orders)
    print(f"past, now, future: the boundary is {boundary}", flush=True)
    everything = spark.readStream.format("pulsar").options(**orders, startingOffsets="earliest").load()

    queries = [in_memory(sales(future), "future"), in_memory(sales(everything), "everything")]
    books = {"past": totals(sales(past))}
    time.sleep(FUTURE_SECONDS)
    shop.close()
    readers = await_all(queries)
    books |= {name: totals(spark.table(name)) for name in ("future", "everything")}
    print(f"past, now, future: the stream of everything read from {readers}", flush=True)
    return compare(shop, books, readers)


def in_memory(result: DataFrame, name: str) -> StreamingQuery:
    """Write the result to a table `name` of the session, which contains the whole result after each micro-batch."""
    return result.writeStream.format("memory").queryName(name).outputMode("complete").start()


def totals(result: DataFrame) -> Counter[tuple[str, str]]:
    rows = result.collect()
    return Counter({(row.item, what): row[what] for row in rows for what in ("orders", "cents")})


def await_all(queries: list[StreamingQuery]) -> dict[str, int]:
    """Stop the queries after they have read everything.

    Returns:
        The number of splits of the last query by the location from which they were read.

    """
    readers: Counter[str] = Counter()
    for query in queries:
        query.processAllAvailable()
    for progress in queries[-1].recentProgress:
        if progress.numInputRows:
            readers.update(json.loads(progress.sources[0].latestOffset)["readers"])
    for query in queries:
        query.stop()
    return dict(readers)


def compare(shop: Shop, books: dict[str, Counter[tuple[str, str]]], readers: dict[str, int]) -> int:
    """Return 0 if all results are equal; print the counts of each query."""
    theirs = Counter({(item, "orders"): count for item, count in shop.orders.items()})
    theirs.update({(item, "cents"): cents for item, cents in shop.cents.items()})
    print(f"{'item':>6} {'past':>8} {'future':>8} {'everything':>10} {'books':>8}")
    for item in ITEMS:
        counts = [books[name][item, "orders"] for name in ("past", "future", "everything")]
        print(f"{item:>6} {counts[0]:8} {counts[1]:8} {counts[2]:10} {shop.orders[item]:8}")
    faults = [f"{len(shop.failures)} orders were not stored: {shop.failures[0]}"] if shop.failures else []
    if books["past"] + books["future"] != theirs:
        faults.append("past and future are not what the shop sold")
    if books["everything"] != theirs:
        faults.append("the stream of everything is not what the shop sold")
    if not books["past"] or not books["future"]:
        faults.append("there were no orders in the past, or none later")
    if not readers.get("bookie"):
        faults.append("nothing was read from bookies")
    for fault in faults:
        print(f"past, now, future: {fault}")
    print(f"past, now, future: {shop.orders.total()} orders, " + ("DIFFER" if faults else "all agree"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
