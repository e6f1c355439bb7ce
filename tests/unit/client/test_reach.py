"""Which addresses take connections."""

import socket

from pyspark_pulsar.client.reach import reachable


def test_open_closed_and_nonsense() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as gone:
        up, down = (f"127.0.0.1:{each.getsockname()[1]}" for each in (server, gone))
        gone.close()
        found = reachable(
            [up, down, "no-port", "x:0", "x:99999", ":1", "nowhere.invalid:1", "a..b:1", up], 2.0
        )
    assert found == {up}


def test_none_asked() -> None:
    assert reachable([], 1.0) == frozenset()
