"""Processes that are killed, and topics that are cut off, removed, moved or damaged.

The checkpoint continues exactly, or its error names the fault.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from click.testing import CliRunner, Result
from integration.checkpoint.conftest import ENTRIES, Store, topic_of
from integration.checkpoint.store_process import Refused, StoreProcess
from integration.official import Admin, await_true
from integration.source.test_reconnect import kill_and_restart

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.clients import Cluster, ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.records import Kind
from pyspark_pulsar.checkpoint.logs import open_logs
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar

KEEPER = "pyspark-pulsar-checkpoint"
MIB = 1 << 20
AWAY_SECONDS = 61.0


def lost(ask: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        ask()
    assert refused.value.kind == "Lost", refused.value
    return refused.value.message


def skip_all(admin: Admin, topic: str) -> None:
    """Skip a keeper's messages, as an administrator, a message TTL or an eviction does."""
    admin._must("POST", f"{topic.replace('://', '/')}/subscription/{KEEPER}/skip_all")


def remove_unneeded_ledgers(admin: Admin, topic: str) -> int:
    """Close the open ledger, wait for trimming, and return the number of ledgers that are left."""
    path = topic.replace("://", "/")
    admin.unload(topic)

    def settled() -> bool:
        admin._must("POST", f"{path}/trim")
        stats = admin._must("GET", f"{path}/internalStats")
        return all(
            each["entries"] == 0 or not _is_passed(stats, each["ledgerId"]) for each in stats["ledgers"]
        )

    await_true("trimming", settled)
    return len(admin._must("GET", f"{path}/internalStats")["ledgers"])


def _is_passed(stats: dict[str, Any], ledger: int) -> bool:
    at = stats["cursors"][KEEPER]["markDeletePosition"].split(":")
    return int(at[0]) > ledger


def run(server: LocalPulsar, *arguments: str, code: int = 0) -> Result:
    command = ["checkpoint", *arguments, "--service-url", server.service_url, "--admin-url", server.admin_url]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_processes_brokers_and_networks_that_go_away(
    store: Store, place: str, rng: random.Random, short_ledgers: LocalPulsar, short_admin: Admin
) -> None:
    driver, executor = store(), store()
    driver.call("take_over", path=place, owner="q")
    # A process dies in the middle of an upload: no file, and the next attempt is whole.
    body = rng.randbytes(5 * MIB)
    number = executor.call("upload_begin", path=f"{place}/sst", owner="q", mode="overwrite")["upload"]
    executor.call("upload_write", body[: 2 * MIB], upload=number)
    pending = executor.begin("upload_write", body[2 * MIB : 3 * MIB], upload=number)
    executor.kill()
    pending.exception(timeout=30)
    assert driver.names(place) == []
    # The next process must not continue the upload of another process.
    executor = store()
    others = executor.call("upload_begin", path=f"{place}/others", owner="q", mode="overwrite")["upload"]
    for call in ("upload_write", "upload_commit", "upload_abort"):
        with suppress(Refused):
            executor.call(call, body[:MIB], upload=number)
    executor.call("upload_commit", upload=others)
    assert driver.content(f"{place}/others") == b""
    executor.call("delete", path=f"{place}/others", owner="q", recursive=False)
    executor.upload(f"{place}/sst", body, "q")
    for way in ("unload", "kill", "stop"):
        away(driver, executor, place, way, short_ledgers, short_admin)
        assert driver.content(f"{place}/sst") == body
        assert store().names(f"{place}/{way}") == driver.names(f"{place}/{way}")


def away(
    driver: StoreProcess, executor: StoreProcess, place: str, way: str, server: LocalPulsar, admin: Admin
) -> None:
    """Restart or move brokers during calls of two processes: each call is executed, once."""
    stop = threading.Event()
    answers: dict[int, list[Any]] = {}

    def write() -> None:
        number = 0
        while not stop.wait(0.02):
            path = f"{place}/{way}/{number:05}"
            answers[number] = [
                process.begin("put", name, path=path, owner="q", mode="if_absent")
                for process, name in ((driver, b"d"), (executor, b"e"))
            ]
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    time.sleep(1)
    if way == "unload":
        for log in ("index", "content", "index"):
            admin.unload(topic_of(place, log))
            time.sleep(0.5)
    elif way == "kill":
        kill_and_restart(server)
    else:
        pid = server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2)
        stop.set()
        time.sleep(AWAY_SECONDS - 2)
        os.kill(pid, signal.SIGCONT)
    time.sleep(1)
    stop.set()
    writing.join()
    for number, racing in answers.items():
        faults = [answer.exception(timeout=120) for answer in racing]
        kinds = sorted(fault.kind if fault else "" for fault in faults)
        assert kinds == ["", "Exists"], (way, number, faults)
        winner = b"d" if faults[0] is None else b"e"
        assert driver.content(f"{place}/{way}/{number:05}") == winner
    assert driver.names(f"{place}/{way}") == [f"{number:05}" for number in sorted(answers)]


def test_removed_moved_or_damaged_files_are_named(
    store: Store, place: str, rng: random.Random, short_ledgers: LocalPulsar, short_admin: Admin
) -> None:
    index, content = topic_of(place, "index"), topic_of(place, "content")
    owner = store()
    owner.call("take_over", path=place, owner="q")
    owner.call("maintain", path=place, owner="q", snapshot=False)
    # Records that count, over several ledgers; then the keeper is moved, and the first ledgers go.
    for number in range(2 * ENTRIES + 5):
        owner.put(f"{place}/f/{number}", b"%d" % number, "q")
    big = rng.randbytes(3 * MIB)
    owner.upload(f"{place}/big", big, "q")
    skip_all(short_admin, index)
    for number in range(2 * ENTRIES + 5, 3 * ENTRIES):
        owner.put(f"{place}/f/{number}", b"%d" % number, "q")
    remove_unneeded_ledgers(short_admin, index)
    told = lost(lambda: store().names(place))
    assert index in told
    assert "FORMAT record or a whole snapshot" in told
    told = lost(lambda: store().call("take_over", path=place, owner="r"))
    assert index in told
    # The owner still knows all of it: its next round writes a snapshot.
    owner.call("maintain", path=place, owner="q")
    fresh = store()
    assert sorted(fresh.names(f"{place}/f"), key=int) == [str(number) for number in range(3 * ENTRIES)]
    assert fresh.content(f"{place}/f/77") == b"77"
    assert fresh.content(f"{place}/big") == big
    # The keeper of the content is moved. The next owner writes the remaining content again.
    skip_all(short_admin, content)
    healer = store()
    healer.call("take_over", path=place, owner="r")
    assert healer.call("maintain", path=place, owner="r", grace_seconds=0)["moved"] + 1 > 0
    remove_unneeded_ledgers(short_admin, content)
    assert store().content(f"{place}/big") == big
    assert run(short_ledgers, "verify", place).output.endswith("none damaged or missing\n")
    # Now it goes before anybody looks: the file, its chunk and the likely cause are named.
    skip_all(short_admin, content)
    healer.kill()
    remove_unneeded_ledgers(short_admin, content)
    told = lost(lambda: store().content(f"{place}/big"))
    assert f"{place}/big" in told
    assert "expected a chunk" in told or "were removed" in told
    verified = run(short_ledgers, "verify", place, code=1)
    assert "1 damaged or missing" in verified.output
    # The next owner reports the loss too, and continues with the rest.
    owner = store()
    owner.call("take_over", path=place, owner="s")
    assert owner.call("delete", path=f"{place}/big", owner="s", recursive=False) is True
    owner.put(f"{place}/big", big[:MIB], "s")
    assert run(short_ledgers, "verify", place).exit_code == 0
    # A chunk whose bytes are others.
    damage(short_ledgers, place, "s")
    told = lost(lambda: owner.content(f"{place}/damaged"))
    assert f"{place}/damaged" in told
    assert "CRC-32C 00000007" in told
    assert "1 damaged or missing" in run(short_ledgers, "verify", place, code=1).output
    # What somebody else has written.
    send_garbage(short_ledgers, index)
    told = lost(lambda: owner.names(place))
    assert "let only pyspark-pulsar write to this topic" in told
    assert "let only pyspark-pulsar write" in lost(lambda: store().names(place))


def send_garbage(server: LocalPulsar, topic: str) -> None:
    client = official_client.Client(server.service_url)
    client.create_producer(topic).send(b"not a record")
    client.close()


def damage(server: LocalPulsar, place: str, owner: str) -> None:
    """Write a file whose record names another checksum than its chunk has."""
    cluster = Cluster(ClusterSettings.parse({"service.url": server.service_url}))
    deadline = Deadline.after(60)
    logs = open_logs(cluster, parse_path(place).checkpoint, deadline, create=False)
    logs.index.sync(deadline)
    at = logs.content_writer.wait(logs.content_writer.send(b"other", deadline), deadline)
    assert at is not None
    details = {"path": "damaged", "length": 5, "chunks": [[*at, 5, 7]]}
    logs.index.append(Kind.PUT, owner, deadline, details)
    logs.close()
    cluster.close()


def test_an_index_that_was_emptied_or_deleted(
    store: Store, place: str, short_ledgers: LocalPulsar, short_admin: Admin
) -> None:
    index = topic_of(place, "index")
    live = store()
    live.call("take_over", path=place, owner="q")
    live.put(f"{place}/offsets/0", b"0", "q", "if_absent")
    skip_all(short_admin, index)
    short_admin.unload(index)

    def emptied() -> bool:
        short_admin.truncate(index)
        stats = short_admin._must("GET", f"{index.replace('://', '/')}/internalStats")
        return sum(each["entries"] for each in stats["ledgers"]) + stats["currentLedgerEntries"] == 0

    await_true("the index to be empty", emptied)
    for ask in (
        lambda: store().names(place),
        lambda: store().call("status", path=place),
        lambda: store().call("take_over", path=place, owner="q"),
        lambda: store().call("delete", path=f"{place}/offsets/0", owner="q", recursive=False),
        lambda: live.names(place),
        lambda: live.call("take_over", path=place, owner="q"),
    ):
        told = lost(ask)
        assert index in told
        assert "empty topic" in told
    live.kill()
    assert "expected a topic without clients" in str(
        run(short_ledgers, "rm", place, "--yes", code=1).exception
    )
    store.kill_all()
    run(short_ledgers, "rm", place, "--yes")
    again = store()
    again.call("take_over", path=place, owner="q")
    assert again.names(place) == []
    # The content is deleted: the error names the file, also after a new owner, whose topic is a new one.
    again.put(f"{place}/big", bytes(100_000), "q")
    store.kill_all()
    short_admin._must("DELETE", f"{topic_of(place, 'content').replace('://', '/')}?force=true")
    again = store()
    assert f"{place}/big" in lost(lambda: again.content(f"{place}/big"))
    again.call("take_over", path=place, owner="q")
    assert f"{place}/big" in lost(lambda: again.content(f"{place}/big"))
    # The index is deleted, but content exists.
    again.put(f"{place}/big", bytes(100_000), "q")
    store.kill_all()
    short_admin._must("DELETE", f"{index.replace('://', '/')}?force=true")
    told = lost(lambda: store().call("take_over", path=place, owner="q"))
    assert "the topic of the index was deleted" in told
    # Policies that would do such a thing are refused where they can be seen.
    namespace = f"public/unsafe-{time.monotonic_ns()}"
    short_admin.make_namespace(namespace)
    seen = store(**{"admin.url": short_ledgers.admin_url})
    unsafe = f"pulsar+checkpoint://{namespace}/c"
    quota = {"limitSize": 1 << 30, "limitTime": -1, "policy": "consumer_backlog_eviction"}
    for setting, resource, body, undo in (
        ("TTL", "messageTTL", 60, 0),
        ("consumer_backlog_eviction", "backlogQuota?backlogQuotaType=destination_storage", quota, None),
        ("subscriptionExpirationTime", "subscriptionExpirationTime", 5, 0),
    ):
        short_admin._must("POST", f"namespaces/{namespace}/{resource}", body)
        with pytest.raises(Refused, match=setting):
            seen.call("take_over", path=unsafe, owner="q")
        if undo is None:
            short_admin._must("DELETE", f"namespaces/{namespace}/{resource}")
        else:
            short_admin._must("POST", f"namespaces/{namespace}/{resource}", undo)
    seen.call("take_over", path=unsafe, owner="q")


def test_commands(
    store: Store, place: str, rng: random.Random, short_ledgers: LocalPulsar, tmp_path: Path
) -> None:
    """A checkpoint moves to a folder and back, byte by byte, with empty folders and empty files."""
    folder = tmp_path / "query"
    files = {
        "metadata": b'{"id":"x"}',
        "offsets/0": b"v1\n{}",
        "state/0/1/5.changelog": rng.randbytes(70_000),
        "state/0/1/SST/a b\u00e9%20.sst": rng.randbytes(2 * MIB + 3),
        "state/0/1/empty": b"",
        "state/0/1/.keep.crc": b"no checksum of Hadoop's, as there is no file keep",
    }
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    (folder / "offsets" / ".0.crc").write_bytes(b"of Hadoop")
    (folder / "commits").mkdir()
    told = run(short_ledgers, "copy", str(folder), place).output
    assert told.endswith("6 files, 2.1 MiB\n"), told
    assert "already" not in told
    process = store()
    for name, body in files.items():
        assert process.content(f"{place}/{name}") == body
    assert process.names(place) == ["commits", "metadata", "offsets", "state"]
    assert run(short_ledgers, "verify", place).output == "6 files, 2.1 MiB: none damaged or missing\n"
    listed = run(short_ledgers, "ls", place).output.splitlines()
    assert [line.split()[-1] for line in listed] == ["commits/", "metadata", "offsets/", "state/"]
    assert "5.changelog" in run(short_ledgers, "ls", "-r", f"{place}/state").output
    assert run(short_ledgers, "show", f"{place}/offsets/0").stdout_bytes == files["offsets/0"]
    shown = run(short_ledgers, "show", place).output
    assert "6, " in shown
    assert "pyspark-pulsar checkpoint copy" in shown
    # A query continues there, and the copy holds its state at one time.
    process.call("take_over", path=place, owner="q")
    process.put(f"{place}/offsets/1", b"1", "q", "if_absent")
    back = tmp_path / "back"
    run(short_ledgers, "copy", "-q", place, str(back))
    found = {str(path.relative_to(back)): path for path in back.rglob("*")}
    assert {name for name, path in found.items() if path.is_dir()} == {
        "commits", "offsets", "state", "state/0", "state/0/1", "state/0/1/SST",
    }  # fmt: skip
    assert {name: path.read_bytes() for name, path in found.items() if path.is_file()} == {
        **files, "offsets/1": b"1",
    }  # fmt: skip
    run(short_ledgers, "copy", f"{place}/state/0", str(tmp_path / "part"))
    assert (tmp_path / "part/1/empty").read_bytes() == b""
    # Nothing is written over.
    for wrong in ((place, str(back)), (str(folder), place), (place, f"{place}2"), (str(folder), str(back))):
        result = CliRunner().invoke(
            cli, ["checkpoint", "copy", *wrong, "--service-url", short_ledgers.service_url]
        )
        assert result.exception is not None
        assert result.exit_code == 1
    # The deleting process becomes the owner, and the query gets an error.
    assert "deleted" in run(short_ledgers, "rm", f"{place}/state", "--yes").output
    with pytest.raises(Refused) as refused:
        process.put(f"{place}/offsets/2", b"2", "q", "if_absent")
    assert refused.value.kind == "TakenOver"
    assert process.names(place) == ["commits", "metadata", "offsets"]
    store.kill_all()
    assert "deleted" in run(short_ledgers, "rm", place, "--yes").output
    assert "does not exist" in run(short_ledgers, "rm", place, "--yes").output
    with pytest.raises(Refused, match="NotFound"):
        store().call("status", path=place)
