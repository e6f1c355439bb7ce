"""Files and folders of a checkpoint in Pulsar: by one process and by several, and whose they are."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest
from integration.checkpoint.conftest import Store, topic_of
from integration.checkpoint.store_process import Refused, StoreProcess
from integration.official import Admin

MIB = 1 << 20


def kind_of(ask: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        ask()
    return refused.value.kind


def test_files_and_folders_by_two_processes(store: Store, place: str, rng: random.Random) -> None:
    """A write that one process has confirmed is visible to the other process: whole, or not at all."""
    first, second = store(), store()
    assert kind_of(lambda: second.call("status", path=place)) == "NotFound"
    assert second.call("delete", path=f"{place}/x", owner="a", recursive=True) is False
    assert kind_of(lambda: first.put(f"{place}/x", b"", "a")) == "NotFound"
    first.call("take_over", path=place, owner="a")
    assert second.call("status", path=place)["file"] is False
    sizes = [0, 1, 16 * 1024, 16 * 1024 + 1, MIB - 1, MIB, MIB + 1, 3 * MIB, 9 * MIB + 17]
    contents = {f"state/{size}": rng.randbytes(size) for size in sizes}
    for name, content in contents.items():
        if len(content) <= MIB:
            first.put(f"{place}/{name}", content, "a")
        else:
            first.upload(f"{place}/{name}", content, "a", piece=rng.choice([MIB, 1000 * 1000]))
        assert second.content(f"{place}/{name}") == content, name
        status = second.call("status", path=f"{place}/{name}")
        assert (status["file"], status["length"]) == (True, len(content))
        assert abs(status["modified"] / 1000 - time.time()) < 60
    assert second.names(f"{place}/state") == sorted(str(size) for size in sizes)
    assert second.names(place) == ["state"]
    # Pieces of a file.
    name = f"{place}/state/{sizes[-1]}"
    opened = second.call("open", path=name)
    for _ in range(20):
        offset, length = rng.randrange(sizes[-1]), rng.randrange(1, MIB)
        piece = second.request("read", file=opened["file"], path=name, offset=offset, length=length)[1]
        assert piece == contents[f"state/{sizes[-1]}"][offset : offset + length]
    # A file that is replaced or deleted stays readable for a reader that has it open.
    first.put(name, b"short", "a")
    assert second.content(name) == b"short"
    piece = second.request("read", file=opened["file"], path=name, offset=5, length=9)[1]
    assert piece == contents[f"state/{sizes[-1]}"][5:14]
    # Folders, and every refusal.
    first.call("mkdirs", path=f"{place}/a/b/c", owner="a")
    assert second.names(f"{place}/a/b") == ["c"]
    second.call("mkdirs", path=f"{place}/a/b", owner=None)
    refusals = {
        "mkdirs over a file": lambda: first.call("mkdirs", path=f"{place}/state/1", owner="a"),
        "mkdirs below a file": lambda: first.call("mkdirs", path=f"{place}/state/1/x", owner="a"),
        "put onto a folder": lambda: first.put(f"{place}/a", b"", "a"),
        "put below a file": lambda: first.put(f"{place}/state/1/x", b"", "a"),
        "put if absent": lambda: first.put(f"{place}/state/1", b"", "a", "if_absent"),
        "open a folder": lambda: second.call("open", path=f"{place}/a"),
        "open nothing": lambda: second.call("open", path=f"{place}/nothing"),
        "list a file": lambda: second.call("list", path=f"{place}/state/1"),
        "list nothing": lambda: second.call("list", path=f"{place}/nothing"),
        "status below a file": lambda: second.call("status", path=f"{place}/state/1/x"),
        "delete a full folder": lambda: first.call("delete", path=f"{place}/a", owner="a", recursive=False),
        "rename nothing": lambda: first.call(
            "rename", source=f"{place}/no", target=f"{place}/x", owner="a", overwrite=False
        ),
        "rename onto a file": lambda: first.call(
            "rename", source=f"{place}/state/1", target=f"{place}/state/0", owner="a", overwrite=False
        ),
        "rename below itself": lambda: first.call(
            "rename", source=f"{place}/a", target=f"{place}/a/b/x", owner="a", overwrite=True
        ),
        "no owner": lambda: second.put(f"{place}/x", b"", None),
        "another owner": lambda: second.put(f"{place}/x", b"", "b"),
        "a path with dots": lambda: first.put(f"{place}/../x", b"", "a"),
        "an unknown call": lambda: first.call("chmod", path=place),
        "an unknown mode": lambda: first.put(f"{place}/x", b"", "a", "append"),
        "an unknown setting": lambda: store(**{"service.urn": "x"}),
    }
    assert {name: kind_of(ask) for name, ask in refusals.items()} == {
        "mkdirs over a file": "Exists",
        "mkdirs below a file": "NotDirectory",
        "put onto a folder": "IsDirectory",
        "put below a file": "NotDirectory",
        "put if absent": "Exists",
        "open a folder": "IsDirectory",
        "open nothing": "NotFound",
        "list a file": "NotDirectory",
        "list nothing": "NotFound",
        "status below a file": "NotFound",
        "delete a full folder": "NotEmpty",
        "rename nothing": "NotFound",
        "rename onto a file": "Exists",
        "rename below itself": "Failed",
        "no owner": "Denied",
        "another owner": "TakenOver",
        "a path with dots": "Invalid",
        "an unknown call": "Invalid",
        "an unknown mode": "Invalid",
        "an unknown setting": "Invalid",
    }
    first.call("rename", source=f"{place}/state", target=f"{place}/moved/here", owner="a", overwrite=False)
    assert second.content(f"{place}/moved/here/{MIB}") == contents[f"state/{MIB}"]
    first.call(
        "rename", source=f"{place}/moved/here/1", target=f"{place}/moved/here/0", owner="a", overwrite=True
    )
    assert second.content(f"{place}/moved/here/0") == contents["state/1"]
    # An upload that is given up leaves nothing.
    number = first.call("upload_begin", path=f"{place}/half", owner="a", mode="overwrite")["upload"]
    first.call("upload_write", os.urandom(2 * MIB), upload=number)
    first.call("upload_abort", upload=number)
    assert kind_of(lambda: first.call("upload_commit", upload=number)) == "Failed"
    assert second.names(place) == ["a", "moved"]
    assert first.call("delete", path=place, owner="a", recursive=True) is True
    assert second.names(place) == []
    assert store().names(place) == []


def test_one_creator_wins_and_one_owner(
    store: Store, place: str, rng: random.Random, short_admin: Admin
) -> None:
    """Creators race over one name from several processes; then two drivers race over the checkpoint.

    During the second race, the executors continue, topics move, and processes are killed.
    """
    processes = [store() for _ in range(3)]
    # All calls at the same time create the checkpoint as well.
    for each in [process.begin("take_over", path=place, owner="a") for process in processes]:
        each.result(timeout=120)
    for number in range(40):
        path = f"{place}/offsets/{number}"
        racing = [
            processes[n % 3].begin("put", b"%d" % n, path=path, owner="a", mode="if_absent") for n in range(8)
        ]
        won = [n for n, answer in enumerate(racing) if _wins(answer)]
        assert len(won) == 1, (number, won)
        assert {process.content(path) for process in processes} == {b"%d" % won[0]}
        if number % 13 == 5:
            short_admin.unload(topic_of(place, "index"))
    counted = _drivers_race(processes, place, rng)
    assert store().call("list", path=f"{place}/epochs") == processes[0].call("list", path=f"{place}/epochs")
    assert [int(name) for name in processes[1].names(f"{place}/epochs")] == sorted(counted, key=str), (
        "what was told to be written is there, and nothing else"
    )


def _wins(answer: Future) -> bool:
    fault = answer.exception(timeout=120)
    assert fault is None or getattr(fault, "kind", None) == "Exists", fault
    return fault is None


def _drivers_race(processes: list[StoreProcess], place: str, rng: random.Random) -> dict[int, str]:
    """Write epochs by two drivers that take over from each other, 50 times; return the writer of each epoch."""
    counted: dict[int, str] = {}
    turn = threading.Lock()
    stop = time.monotonic() + 120
    epoch = 0
    for number in range(50):
        owner = "ab"[number % 2]
        driver = processes[number % 2]
        driver.call("take_over", path=place, owner=owner)
        for _ in range(rng.randrange(3)):
            with turn:
                path = f"{place}/epochs/{epoch}"
                mine = driver.begin("put", owner.encode(), path=path, owner=owner, mode="if_absent")
                other = processes[2].begin(
                    "put", b"zombie", path=path, owner="ba"[number % 2], mode="if_absent"
                )
                mine.result(timeout=60)
                with pytest.raises(Refused) as refused:
                    other.result(timeout=60)
                assert refused.value.kind == "TakenOver"
                assert driver.content(path) == owner.encode()
                counted[epoch] = owner
                epoch += 1
        # Zombies: a writer that does not wait for the log may get a confirmation, but no reader sees its
        # write.
        zombie, former = processes[(number + 1) % 2], "ba"[number % 2]
        with contextlib.suppress(Refused):
            zombie.put(f"{place}/epochs/z", b"z", former)
        for name, content in (("y", b"y"), ("x", bytes(100_000))):
            with pytest.raises(Refused) as refused:
                zombie.put(
                    f"{place}/epochs/{name}", content, former, "if_absent" if name == "y" else "overwrite"
                )
            assert refused.value.kind == "TakenOver"
        assert time.monotonic() < stop
    return counted


def test_namespaces_that_partition_and_that_deduplicate(
    store: Store, rng: random.Random, short_admin: Admin
) -> None:
    """Brokers that create partitioned topics make the first partition the log.

    Brokers that deduplicate may answer a repeated message by a receipt without a position. The chunk is
    then written once more, and the file is whole.
    """
    namespace = f"public/odd-{time.monotonic_ns()}"
    short_admin.make_namespace(namespace)
    partitioned = {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 3}
    short_admin._must("POST", f"namespaces/{namespace}/autoTopicCreation", partitioned)
    short_admin._must("POST", f"namespaces/{namespace}/deduplication", True)
    place = f"pulsar+checkpoint://{namespace}/c"
    driver, executor = store(), store()
    driver.call("take_over", path=place, owner="q")
    stop = threading.Event()

    def unload() -> None:
        # On a busy machine, a topic loads more slowly. It must be readable for a moment between two unloads.
        pause = 0.4
        while not stop.wait(pause):
            began = time.monotonic()
            short_admin.unload_namespace(namespace)
            pause = max(0.4, 4 * (time.monotonic() - began))

    moving = threading.Thread(target=unload)
    moving.start()
    try:
        bodies = {f"state/{number}": rng.randbytes(rng.randrange(5 * MIB)) for number in range(8)}
        for name, body in bodies.items():
            executor.upload(f"{place}/{name}", body, "q")
            driver.put(f"{place}/offsets/{len(body)}", name.encode(), "q", "if_absent")
    finally:
        stop.set()
        moving.join()
    for name, body in bodies.items():
        assert driver.content(f"{place}/{name}") == body
        assert store().content(f"{place}/offsets/{len(body)}") == name.encode()
    topics = short_admin._must("GET", f"persistent/{namespace}/partitioned")
    assert sorted(topics) == [f"persistent://{namespace}/c-content", f"persistent://{namespace}/c-index"]
