"""A fake cluster that answers like Pulsar 4.0 with thousands of topics and a year of ledgers each.

Only bench/sizing.py uses it, because filling 3,000 topics for a year is impossible. The cluster stores no messages,
and makes up each entry for its request.

    python bench/sizing_cluster.py '{"topics": 3000, "namespaces": 50, "ledgers": 2190}'

This program prints its addresses as a line of JSON, and ends when its standard input ends. The program serves the admin
REST API, a broker and a bookie, because a plan calls all three. `POST /bench/advance?entries=N` adds entries to each
topic; `GET /bench/counts` returns the number of requests and bytes of answers since the previous call.
"""

from __future__ import annotations

import json
import socketserver
import struct
import sys
import threading
import time
from dataclasses import dataclass, field

from sizing_admin import start_admin
from sizing_broker import start_broker

HOUR_MS = 3_600_000
TENANT = "company"


@dataclass
class Cluster:
    """A cluster whose topic number n has the ledgers 1 + n + k * topics, for k from 0; the last ledger is open."""

    topics: int
    namespaces: int
    ledgers: int
    ledger_entries: int = 2_000
    ledger_bytes: int = 166_000_000
    ledger_hours: float = 4.0
    entry_messages: int = 10
    open_entries: int = 500
    bookie: str = ""
    counts: dict[str, list[int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    now_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    def names(self, namespace: int) -> list[str]:
        return [self.name(number) for number in range(namespace, self.topics, self.namespaces)]

    def name(self, number: int) -> str:
        return f"persistent://{TENANT}/events-{number % self.namespaces:02}/topic-{number:04}"

    def number(self, name: str) -> int | None:
        """Return the topic's number, or None if the topic does not exist."""
        digits = name.rpartition("topic-")[2]
        return int(digits) if digits.isdigit() and int(digits) < self.topics else None

    def namespace_names(self) -> list[str]:
        return [f"{TENANT}/events-{number:02}" for number in range(self.namespaces)]

    def ledger_id(self, number: int, k: int) -> int:
        return 1 + number + k * self.topics

    def place_of(self, ledger: int) -> int:
        """Return the number k of a ledger in its topic."""
        return (ledger - 1) // self.topics

    def entries(self, k: int) -> int:
        return self.open_entries if k == self.ledgers - 1 else self.ledger_entries

    def closed_ms(self, k: int) -> int:
        """Return the closing time of ledger k; the last ledger but one was closed two hours ago."""
        age = (self.ledgers - 2 - k) * self.ledger_hours + self.ledger_hours / 2
        return self.now_ms - int(age * HOUR_MS)

    def published_ms(self, k: int, entry: int) -> int:
        length = int(self.ledger_hours * HOUR_MS)
        return self.closed_ms(k) - length + length * entry // (self.ledger_entries + 1)

    def advance(self, entries: int) -> None:
        with self.lock:
            self.open_entries += entries

    def count(self, kind: str, size: int) -> None:
        with self.lock:
            known = self.counts.setdefault(kind, [0, 0])
            known[0] += 1
            known[1] += size

    def take_counts(self) -> dict[str, list[int]]:
        with self.lock:
            taken, self.counts = self.counts, {}
        return taken


class _Bookie(socketserver.BaseRequestHandler):
    """A bookie that answers each read with "no such ledger", so that drivers see a live bookie."""

    def handle(self) -> None:
        while head := self.request.recv(24, 0x100):  # MSG_WAITALL
            if len(head) < 24:
                return
            ledger, entry = struct.unpack_from(">qq", head, 8)
            self.request.sendall(struct.pack(">IIiqq", 24, 0x0202_0000, 1, ledger, entry))


def _start_bookie() -> int:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Bookie)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


def main() -> None:
    cluster = Cluster(**json.loads(sys.argv[1]))
    cluster.bookie = f"127.0.0.1:{_start_bookie()}"
    told = {
        "service_url": f"pulsar://127.0.0.1:{start_broker(cluster)}",
        "admin_url": f"http://127.0.0.1:{start_admin(cluster)}",
    }
    print(json.dumps(told), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
