"""Space is given back, and nothing too early: snapshots, keepers, the cleaner, on a server with short ledgers."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any

import pytest
from integration.checkpoint.conftest import ENTRIES, Store, topic_of
from integration.checkpoint.store_process import Refused, StoreProcess
from integration.official import Admin, await_true

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.clients import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.store import Store as OwnStore
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.tools.standalone import LocalPulsar

KIB = 1024
HALFWAY = 200


def ledgers(admin: Admin, topic: str) -> list[dict[str, Any]]:
    path = topic.replace("://", "/") + "/internalStats"
    return list(admin._must("GET", path)["ledgers"])


def stored(admin: Admin, topic: str) -> tuple[int, int]:
    """Return the bytes of all ledgers of a topic, and of the largest."""
    stats = admin._must("GET", topic.replace("://", "/") + "/internalStats")
    sizes = [each["size"] for each in stats["ledgers"][:-1]] + [stats["currentLedgerSize"]]
    return sum(sizes), max(sizes)


def trim(admin: Admin, topic: str) -> None:
    admin._must("POST", topic.replace("://", "/") + "/trim")


def half_is_gone(admin: Admin, place: str, epochs: int) -> bool:
    """Return whether half of the index's ledgers is removed; this number of epochs wrote about ten records
    each.
    """
    trim(admin, topic_of(place, "index"))
    return len(ledgers(admin, topic_of(place, "index"))) < epochs * 10 / ENTRIES / 2


def write_epoch(
    driver: StoreProcess,
    executor: StoreProcess,
    place: str,
    epoch: int,
    rng: random.Random,
    alive: dict[str, bytes],
) -> None:
    """Write the files of one epoch, and delete those from an earlier epoch; `alive` are the files that should
    exist.
    """
    writes = [
        (driver, f"offsets/{epoch}", rng.randbytes(900), "if_absent"),
        (driver, f"commits/{epoch}", rng.randbytes(50), "if_absent"),
        (executor, f"state/0/{epoch}.delta", rng.randbytes(3 * KIB), "overwrite"),
        (executor, f"state/1/{epoch}.delta", rng.randbytes(3 * KIB), "overwrite"),
    ]
    if epoch % 5 == 0:
        old = "old" if epoch % 50 == 0 else "young"
        writes.append((executor, f"sst/{old}-{epoch}", rng.randbytes(300 * KIB), "overwrite"))
    answers = [
        each.begin("put", body, path=f"{place}/{name}", owner="q", mode=mode)
        for each, name, body, mode in writes
    ]
    for answer in answers:
        answer.result(timeout=60)
    alive |= {name: body for _, name, body, _ in writes}
    former = epoch - 20
    gone = [f"offsets/{former}", f"commits/{former}", f"sst/young-{former}"]
    gone += [f"state/{partition}/{former}.delta" for partition in range(2)]
    for name in gone:
        if alive.pop(name, None) is not None:
            assert driver.call("delete", path=f"{place}/{name}", owner="q", recursive=False) is True


def test_after_many_epochs_little_more_is_stored_than_lives(
    store: Store, place: str, rng: random.Random, short_admin: Admin
) -> None:
    """The test writes as a query does, with uploads in progress all the time.

    It writes offsets and commits, a change file for each partition, and sometimes a large file. Some large
    files live for all epochs; old epochs are deleted.
    """
    driver, executor = store(), store()
    driver.call("take_over", path=place, owner="q")
    alive: dict[str, bytes] = {}
    slow = executor.call("upload_begin", path=f"{place}/slow", owner="q", mode="overwrite")["upload"]
    slow_bytes = rng.randbytes(3 * 1024 * KIB)
    executor.call("upload_write", slow_bytes[: 2048 * KIB], upload=slow)
    for epoch in range(400):
        write_epoch(driver, executor, place, epoch, rng, alive)
        if epoch % 20 == 19:
            driver.call("maintain", path=place, owner="q", snapshot=epoch % 40 == 19, grace_seconds=0)
        if epoch == HALFWAY:
            await_true(
                "ledgers of the index go while the query runs",
                lambda: half_is_gone(short_admin, place, HALFWAY),
            )
        if epoch == 60:
            executor.call("upload_write", slow_bytes[2048 * KIB :], upload=slow)
            executor.call("upload_commit", upload=slow)
            alive["slow"] = slow_bytes
    driver.call("maintain", path=place, owner="q", grace_seconds=0)
    driver.put(f"{place}/last", b"last", "q")
    alive["last"] = b"last"
    live = {
        "index": sum(len(body) for body in alive.values() if len(body) <= 64 * KIB),
        "content": sum(len(body) for body in alive.values() if len(body) > 64 * KIB),
    }

    def fits() -> bool:
        for log in live:
            trim(short_admin, topic_of(place, log))
        sizes = {log: stored(short_admin, topic_of(place, log)) for log in live}
        return all(sizes[log][0] <= live[log] + 2 * sizes[log][1] for log in live)

    await_true(f"stored <= live + two ledgers of {live}", fits)
    # A process that opens the checkpoint now begins at the snapshot, and finds every byte.
    for process in (store(), executor):
        for name, body in alive.items():
            assert process.content(f"{place}/{name}") == body, name
        for folder in ("offsets", "commits", "sst", "state/0"):
            names = {name.removeprefix(f"{folder}/") for name in alive if name.startswith(f"{folder}/")}
            assert set(process.names(f"{place}/{folder}")) == names
    # The first files' ledgers are gone, though the files are not.
    first = store()
    began = time.monotonic()
    first.call("status", path=place)
    assert time.monotonic() - began < 20


def test_chunks_are_read_past_the_broker(
    store: Store, place: str, rng: random.Random, short_ledgers: LocalPulsar, short_admin: Admin
) -> None:
    """Closed ledgers of the content log are read from bookies with `admin.url`, and only from there with
    `readFrom=bookie`.
    """
    owner = store()
    owner.call("take_over", path=place, owner="q")
    bodies = [rng.randbytes(1024 * KIB) for _ in range(ENTRIES + 5)]
    for number, body in enumerate(bodies):
        owner.put(f"{place}/{number}", body, "q")
    past = store(**{"admin.url": short_ledgers.admin_url, "readFrom": "bookie"})
    for number, body in enumerate(bodies):
        assert past.content(f"{place}/{number}") == body
    # This shows that bookies were read: without them, only the content of the open ledger is found.
    bookies = short_admin._must("GET", "bookies/all")["bookies"]
    nowhere = json.dumps({each["bookieId"]: "127.0.0.1:1" for each in bookies})
    lost = store(**{"admin.url": short_ledgers.admin_url, "readFrom": "bookie", "bookieAddresses": nowhere})
    with pytest.raises(Refused, match=re.escape(f"{place}/0: ")) as refused:
        lost.content(f"{place}/0")
    assert refused.value.kind == "Failed"
    assert lost.content(f"{place}/{len(bodies) - 1}") == bodies[-1]
    # With `auto`, the broker returns the entries that bookies do not.
    auto = store(**{"admin.url": short_ledgers.admin_url, "bookieAddresses": nowhere})
    assert auto.content(f"{place}/0") == bodies[0]


def test_a_restarted_process_continues_upkeep(short_ledgers: LocalPulsar, place: str) -> None:
    """A restarted process gets its checkpoint back from the JVM, unless another application has taken that
    over.
    """
    settings = ClusterSettings.parse({"service.url": short_ledgers.service_url})
    name = parse_path(place).checkpoint
    with OwnStore(settings) as first:
        first.take_over(first.checkpoint(name), "q", Deadline.after(60))
        assert first.is_looked_after(first.checkpoint(name), "q")
    with OwnStore(settings) as again:
        checkpoint = again.checkpoint(name)
        assert not again.is_looked_after(checkpoint, "q")
        again.look_after(checkpoint, "q", Deadline.after(60))
        assert again.is_looked_after(checkpoint, "q")
    with OwnStore(settings) as other:
        other.take_over(other.checkpoint(name), "r", Deadline.after(60))
    with OwnStore(settings) as late:
        late.look_after(late.checkpoint(name), "q", Deadline.after(60))
        assert not late.is_looked_after(late.checkpoint(name), "q")


def test_upkeep_continues_with_an_index_that_is_opened_again(short_ledgers: LocalPulsar, place: str) -> None:
    with OwnStore(ClusterSettings.parse({"service.url": short_ledgers.service_url})) as store:
        checkpoint = store.checkpoint(parse_path(place).checkpoint)
        deadline = Deadline.after(60)
        store.take_over(checkpoint, "q", deadline)
        broken = checkpoint.logs(deadline)
        with broken.index._view.changed:
            broken.index._view.fail(PermissionDenied("not now"))
        # No other call than upkeep uses the checkpoint during this time.
        await_true("another index", lambda: checkpoint._logs is not broken)
        time.sleep(1)
        assert store.is_looked_after(checkpoint, "q")
