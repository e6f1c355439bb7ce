"""The references of these tests: the official clients and the admin REST API of the server."""

from __future__ import annotations

import base64
import datetime as dt
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pulsar as official_client
import urllib3
from fixtures.java_programs import java_programs

ONE_RECORD = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]}],
    }
)

Refused = Callable[[Callable[[], Any], str], str]
"""The fixture `refused`: `refused(action, kind)` returns the error text of the action."""

SPECIAL_MESSAGES = "SpecialMessages"
_WAIT_SECONDS = 60.0
_CLIENT_LOG = tempfile.NamedTemporaryFile(prefix="pulsar-client-", suffix=".log")  # noqa: SIM115
_PASSING = (412, 500, 502, 503, 504)
_CONFLICT = 409


class Admin:
    """The requests to the admin REST API that tests need; raises AssertionError for an unexpected status."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = urllib3.PoolManager()

    def request(
        self, method: str, path: str, body: Any = None, *, version: str = "v2"
    ) -> urllib3.BaseHTTPResponse:
        return self._http.request(method, f"{self._url}/admin/{version}/{path}", json=body, redirect=True)

    def _must(self, method: str, path: str, body: Any = None) -> Any:
        """Repeat a request that a broker cannot answer yet: the topic moves or loads, or a request by the
        broker timed out.
        """
        deadline, expected = time.monotonic() + _WAIT_SECONDS, set(range(200, 300))
        while (answer := self.request(method, path, body)).status in _PASSING and time.monotonic() < deadline:
            # It may be done, whatever the broker has answered: then the next answer is that it is there already.
            expected.add(_CONFLICT)
            time.sleep(0.5)
        assert answer.status in expected, f"{method} {path}: {answer.status} {answer.data!r}"
        return json.loads(answer.data) if answer.data else None

    def create(self, topic: str) -> None:
        self._must("PUT", _path("persistent", topic))

    def create_partitioned(self, topic: str, partitions: int) -> None:
        self._must("PUT", _path("persistent", topic) + "/partitions", partitions)

    def update_partitions(self, topic: str, partitions: int) -> None:
        self._must("POST", _path("persistent", topic) + "/partitions", partitions)

    def delete(self, topic: str) -> None:
        self._must("DELETE", _path("persistent", topic) + "?force=true")

    def delete_partitioned(self, topic: str) -> None:
        self._must("DELETE", _path("persistent", topic) + "/partitions?force=true")

    def unload(self, topic: str) -> None:
        """Close the topic on its broker, with all its consumers and producers; the next lookup loads it."""
        self._must("PUT", _path("persistent", topic) + "/unload")

    def unload_namespace(self, namespace: str) -> None:
        """Close all topics of the namespace on their brokers; the next lookup loads them."""
        self._must("PUT", f"namespaces/{namespace}/unload")

    def truncate(self, topic: str) -> None:
        """Remove all ledgers but the one that is written to."""
        self._must("DELETE", _path("persistent", topic) + "/truncate")

    def make_namespace(self, namespace: str) -> None:
        """Create the namespace with the server's default policies."""
        self._must("PUT", f"namespaces/{namespace}")

    def retain_nothing(self, topic: str) -> None:
        """Let the topic's namespace keep only what subscriptions have not acknowledged; remove the rest."""
        path = _path("persistent", topic)
        namespace = "/".join(path.split("/")[1:3])
        nothing = {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}
        self._must("POST", f"namespaces/{namespace}/retention", nothing)
        self._must("POST", path + "/trim")

    def keep_for(self, topic: str, minutes: int) -> None:
        """Let the topic's namespace keep acknowledged messages for this duration."""
        namespace = "/".join(_path("persistent", topic).split("/")[1:3])
        kept = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": -1}
        self._must("POST", f"namespaces/{namespace}/retention", kept)

    def trim(self, topic: str, *, to_ledgers: int) -> None:
        """Set the retention of the topic's namespace to nothing; wait until only this number of ledgers is
        left.
        """
        path = _path("persistent", topic)
        self.retain_nothing(topic)

        def trimmed() -> bool:
            self._must("POST", path + "/trim")
            return len(self._must("GET", path + "/internalStats")["ledgers"]) == to_ledgers

        await_true("trimming", trimmed)

    def compact(self, topic: str) -> None:
        """Compact the topic up to its present end, and wait until that is done."""
        path = _path("persistent", topic) + "/compaction"
        self._must("PUT", path)
        await_true("compaction", lambda: self._must("GET", path)["status"] == "SUCCESS")

    def terminate(self, topic: str) -> None:
        """Let the topic accept no more messages."""
        self._must("POST", _path("persistent", topic) + "/terminate")

    def topics(self, namespace: str = "public/default") -> set[str]:
        """Return all topics of a namespace, partitions and partitioned topics alike."""
        plain = self._must("GET", f"persistent/{namespace}")
        return set(plain) | set(self._must("GET", f"persistent/{namespace}/partitioned"))

    def entries(self, topic: str) -> int:
        """Return the number of entries ever added to one topic partition."""
        stats = self._must("GET", _path("persistent", topic) + "/internalStats")
        return int(stats["numberOfEntries"])

    def stats(self, topic: str) -> dict[str, Any]:
        """Return the statistics of one topic partition, with the exact backlog of each subscription in
        entries.
        """
        return dict(self._must("GET", _path("persistent", topic) + "/stats?getPreciseBacklog=true"))

    def subscriptions(self, topic: str) -> list[str]:
        return list(self._must("GET", _path("persistent", topic) + "/subscriptions"))

    def schema(self, topic: str) -> dict[str, Any] | None:
        answer = self.request("GET", _path("schemas", topic) + "/schema")
        return None if answer.status == 404 else dict(json.loads(answer.data))

    def register(self, topic: str, kind: str, document: str = "", **properties: str) -> None:
        body = {"type": kind, "schema": document, "properties": properties}
        self._must("POST", _path("schemas", topic) + "/schema", body)


def _path(kind: str, topic: str) -> str:
    tenant, namespace, local = topic.removeprefix("persistent://").split("/", 2)
    return f"{kind}/{tenant}/{namespace}/{quote(local, safe='')}"


class JavaServer(Protocol):
    """The addresses of the server, and the folder of its distribution."""

    @property
    def service_url(self) -> str: ...
    @property
    def home(self) -> Path: ...


class JavaClient:
    """Runs jobs of a program in tests/java/jobs, with the jars of the server's distribution."""

    def __init__(self, server: JavaServer, program: str = "OfficialClient") -> None:
        self._server = server
        self._program = program

    def run(self, *jobs: dict[str, Any], seconds: float = 120) -> list[list[dict[str, Any]]]:
        programs = java_programs(self._server.home)
        text = json.dumps(jobs)
        return list(
            json.loads(programs.run(self._program, self._server.service_url, text=text, seconds=seconds))
        )

    def produce(self, topic: str, schema: str, messages: list[dict[str, Any]], **job: Any) -> None:
        self.run({"do": "produce", "topic": topic, "schema": schema, "messages": messages, **job})

    def read(self, topic: str, schema: str) -> list[dict[str, Any]]:
        return self.run({"do": "read", "topic": topic, "schema": schema})[0]


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def instant(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC) + dt.timedelta(
        milliseconds=milliseconds % 1000
    )


def messages_of(
    client: official_client.Client, topic: str, schema: official_client.schema.Schema | None = None
) -> Iterator[official_client.Message]:
    """Yield all messages of a topic, partitioned or not, through the official Reader; partitions are interleaved."""
    reader = client.create_reader(
        topic,
        official_client.MessageId.earliest,
        schema=schema or official_client.schema.BytesSchema(),
        receiver_queue_size=5000,
    )
    try:
        while _has_message(reader):
            yield reader.read_next(timeout_millis=30_000)
    finally:
        reader.close()


def _has_message(reader: official_client.Reader) -> bool:
    """Return whether there is a message; repeat the request after a timeout.

    The official client loses a request when its topic moves to another connection.
    """
    try:
        return reader.has_message_available()
    except official_client.Timeout:
        return reader.has_message_available()


def open_client(service_url: str, **settings: Any) -> official_client.Client:
    """Open the official Python client. Its warnings and errors are in `end_of_client_log`.

    The client uses the first logger of a process for all clients, so all tests share one.
    """
    logger = official_client.FileLogger(official_client.LoggerLevel.Warn, _CLIENT_LOG.name)
    return official_client.Client(service_url, logger=logger, **settings)


def end_of_client_log(lines: int = 60) -> str:
    """Return the last lines that the official Python clients of this process logged."""
    return "\n".join(Path(_CLIENT_LOG.name).read_text().splitlines()[-lines:])


@contextmanager
def python_client(service_url: str, seconds: int = 90) -> Iterator[official_client.Client]:
    """Yield the official Python client, which repeats requests that fail for a passing reason."""
    client = open_client(service_url, operation_timeout_seconds=seconds)
    yield client
    client.close()


def send_entries(service_url: str, topic: str, values: range, size: int = 0) -> None:
    """Send each number in an entry of its own, with its text filled up to `size` bytes with blanks."""
    client = open_client(service_url)
    producer = client.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
    for number in values:
        producer.send_async(str(number).encode().ljust(size), lambda *_: None)
    producer.flush()
    client.close()


def await_true(what: str, condition: Callable[[], bool], seconds: float = _WAIT_SECONDS) -> None:
    """Return as soon as `condition` holds; fail naming `what` when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: did not come true within {seconds:.0f} s"
        time.sleep(0.05)
