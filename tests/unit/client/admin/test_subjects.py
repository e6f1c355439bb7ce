"""Tests of the subjects of the admin client. The test server is not Pulsar, and sends fixed status codes and texts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.schemas import document_for_rest, schema_from_rest
from pyspark_pulsar.errors import PermissionDenied, SchemaError, TopicExistsError
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join

Answer = tuple[int, bytes]
Serve = Callable[[Callable[[str, str, str], Answer]], AdminClient]
TOPIC = TopicName.parse("t/n/a b%2F".replace(" ", "ü"))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server with answers from `answer(method, path, body)`, and returns a client."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[str, str, str], Answer]) -> AdminClient:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                status, text = answer(self.command, self.path, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}"
        return AdminClient(ConnectionOptions(service_url="pulsar://x:6650", admin_url=url))

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_change_is_made_again_after_a_passing_failure(serve: Serve) -> None:
    left = iter([503, 429])
    admin = serve(lambda *_: (next(left, 204), b""))
    admin.topics.set_partitions(TOPIC, 3)
    assert next(left, None) is None


def test_an_answer_without_json_is_still_an_answer(serve: Serve) -> None:
    seen = []

    def answer(*asked: str) -> Answer:
        seen.append(asked)
        return 200, b"the value it had"

    serve(answer).namespaces.remove_property(Namespace("t", "n"), "a/b")
    assert seen == [("DELETE", "/admin/v2/namespaces/t/n/property/a%2Fb", "")]


def test_a_topic_that_exists_is_reported_without_a_second_request(serve: Serve) -> None:
    asked = []

    def answer(method: str, path: str, body: str) -> Answer:
        asked.append((method, path, body))
        return 409, b'{"reason":"This topic already exists"}'

    with pytest.raises(TopicExistsError, match="t/n"):
        serve(answer).topics.create(TOPIC, 3)
    assert asked == [("PUT", "/admin/v2/persistent/t/n/a%C3%BCb%252F/partitions", "3")]


def test_a_refused_schema_names_the_reason_in_one_line(serve: Serve) -> None:
    text = "Unable to read schema: \n{\n  &quot;type&quot; : &quot;record&quot;}"
    admin = serve(lambda *_: (409, json.dumps({"message": text}).encode()))
    with pytest.raises(SchemaError, match=r'Unable to read schema: \{ "type" : "record"\}'):
        admin.schemas.register(TOPIC, SchemaInfo("x", SchemaType.AVRO, b"{}"))


def test_permissions_are_requested(serve: Serve) -> None:
    admin = serve(lambda *_: (403, b'{"reason":"no admin"}'))
    with pytest.raises(PermissionDenied, match="no admin"):
        admin.topics.create(TOPIC, 0)


def test_partitions_of_partitioned_topics_are_not_topics(serve: Serve) -> None:
    answers = {
        "/admin/v2/namespaces/t/n/topics": ["x", "p-partition-0", "alone-partition-3", "a b", "__change_events"],
        "/admin/v2/persistent/t/n/partitioned": ["p", "lazy"],
        "/admin/v2/non-persistent/t/n/partitioned": [],
    }  # fmt: skip

    def answer(_: str, path: str, body: str) -> Answer:
        names = answers[path.partition("?")[0]]
        return 200, json.dumps([f"persistent://t/n/{name}" for name in names]).encode()

    admin = serve(answer)
    found = {topic.local for topic in admin.topics.of_namespace(Namespace("t", "n"))}
    assert found == {"x", "p", "lazy", "alone-partition-3", "a b"}
    assert len(admin.topics.of_namespace(Namespace("t", "n"), system=True)) == len(found) + 1


def test_a_pair_of_schemas_is_read_as_it_was_registered() -> None:
    document = '{"type":"record","name":"R","fields":[{"name":"ä","type":"int"}]}'.encode()
    key, value = SchemaInfo("K", SchemaType.STRING), SchemaInfo("V", SchemaType.JSON, document)
    info = join(KeyValueSchemas(key, value, separated=True))
    asked = {"type": "KEY_VALUE", "data": document_for_rest(info, TOPIC), "properties": dict(info.properties)}
    found = schema_from_rest(TOPIC, {**asked, "version": 3})
    assert (found.document, found.properties) == (info.document, info.properties)
    assert found.version == (3).to_bytes(8, "big")
