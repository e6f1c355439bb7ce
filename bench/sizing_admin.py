"""The admin REST API of bench/sizing_cluster.py: the resources that a plan asks for, in the shapes of Pulsar 4.0.8."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from sizing_cluster import Cluster

_METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=2, writeQuorumSize=2, ackQuorumSize=2, state=CLOSED, length=%d, "
    "lastEntryId=%d, digestType=CRC32C, password=OMITTED, ensembles={0=[%s, %s]}, customMetadata={component=base64:"
    "bWFuYWdlZC1sZWRnZXI=, pulsar/managed-ledger=base64:cHVibGljL3NlZ21lbnRzL3BlcnNpc3RlbnQvbWl4, "
    "application=base64:cHVsc2Fy}}"
)


def start_admin(cluster: Cluster) -> int:
    """The port."""

    class Resources(_Resources):
        served = cluster

    server = ThreadingHTTPServer(("127.0.0.1", 0), Resources)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


class _Resources(BaseHTTPRequestHandler):
    served: Cluster
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        names = [unquote(name) for name in url.path.strip("/").split("/")]
        if names[0] == "bench":
            self._send(json.dumps(self.served.take_counts()))
            return
        kind, answer = self._answer(names[2:], parse_qs(url.query))
        self.served.count(kind, len(answer or ""))
        self._send(answer or '{"reason": "not found"}', 200 if answer is not None else 404)

    def do_POST(self) -> None:
        self.served.advance(int(parse_qs(urlsplit(self.path).query)["entries"][0]))
        self._send("{}")

    def _answer(self, names: list[str], query: dict[str, list[str]]) -> tuple[str, str | None]:
        cluster = self.served
        match names:
            case ["persistent", _, _, topic, "internal-info"]:
                return "internal-info", _internal_info(cluster, topic)
            case ["persistent", _, _, topic, "internalStats"]:
                with_metadata = query.get("metadata") == ["true"]
                kind = "internalStats?metadata=true" if with_metadata else "internalStats"
                return kind, _internal_stats(cluster, topic, with_metadata=with_metadata)
            case ["persistent", _, _, topic, "partitions"]:
                there = cluster.number(topic) is not None
                return "partitions", '{"partitions": 0, "deleted": false}' if there else None
            case ["namespaces", _]:
                return "namespaces", json.dumps(cluster.namespace_names())
            case ["bookies", "all"]:
                return "bookies", json.dumps({"bookies": [{"bookieId": cluster.bookie}]})
            case ["bookies", "racks-info"]:
                return "bookies", "{}"
            case _:
                return "others", None

    def _send(self, text: str, status: int = 200) -> None:
        body = text.encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _internal_info(cluster: Cluster, topic: str) -> str | None:
    number = cluster.number(topic)
    if number is None:
        return None
    entries, size = cluster.ledger_entries, cluster.ledger_bytes
    closed = [
        f'{{"ledgerId":{cluster.ledger_id(number, k)},"entries":{entries},"size":{size},'
        f'"timestamp":{cluster.closed_ms(k)},"isOffloaded":false}}'
        for k in range(cluster.ledgers - 1)
    ]
    last = cluster.ledger_id(number, cluster.ledgers - 1)
    closed.append(f'{{"ledgerId":{last},"timestamp":{cluster.now_ms},"isOffloaded":false}}')
    created = _instant(cluster.closed_ms(-1))
    return (
        f'{{"version":{cluster.ledgers},"creationDate":"{created}","modificationDate":"{created}",'
        f'"ledgers":[{",".join(closed)}],"cursors":{{}},"properties":{{}}}}'
    )


def _internal_stats(cluster: Cluster, topic: str, *, with_metadata: bool) -> str | None:
    number = cluster.number(topic)
    if number is None:
        return None
    entries, size = cluster.ledger_entries, cluster.ledger_bytes
    text = _METADATA % (size, entries - 1, cluster.bookie, cluster.bookie.replace("127.0.0.1", "localhost"))
    metadata = f',"metadata":"{text}"' if with_metadata else ""
    closed = [
        f'{{"ledgerId":{cluster.ledger_id(number, k)},"entries":{entries},"size":{size},"offloaded":false,'
        f'"underReplicated":{"true" if with_metadata else "false"}{metadata}}}'
        for k in range(cluster.ledgers - 1)
    ]
    last = cluster.ledger_id(number, cluster.ledgers - 1)
    closed.append(
        f'{{"ledgerId":{last},"entries":0,"size":0,"offloaded":false,"underReplicated":false{metadata}}}'
    )
    written = cluster.open_entries
    total = (cluster.ledgers - 1) * entries + written
    return (
        f'{{"entriesAddedCounter":{total},"numberOfEntries":{total},"totalSize":{total * size // entries},'
        f'"currentLedgerEntries":{written},"currentLedgerSize":{written * size // entries},'
        f'"lastLedgerCreatedTimestamp":"{_instant(cluster.closed_ms(cluster.ledgers - 2))}",'
        f'"waitingCursorsCount":0,"pendingAddEntriesCount":0,"lastConfirmedEntry":"{last}:{written - 1}",'
        f'"state":"LedgerOpened","ledgers":[{",".join(closed)}],"cursors":{{}},"schemaLedgers":[],'
        f'"compactedLedger":{{"ledgerId":-1,"entries":-1,"size":-1,"offloaded":false,"underReplicated":false}}}}'
    )


def _instant(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
