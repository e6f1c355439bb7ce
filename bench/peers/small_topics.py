"""Many small topics: three messages in each of 300."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import pulsar as official
import queries
from benchmark import Bench
from competitors import PEER, PRODUCT, source
from turns import in_turn, measured

_NAMESPACE: Final = "public/small"
_TOPICS: Final = 300
_MESSAGES: Final = 3
MEASURE: Final = f"{_TOPICS} topics, {_TOPICS * _MESSAGES} rows"
_QUERY: Final = "SELECT count(*) AS rows, sum(length(value)) AS bytes, count(__topic) AS topics FROM messages"


def measure_small_topics(bench: Bench) -> dict[str, Any]:
    _fill(bench)
    count = _TOPICS * _MESSAGES
    jobs = {}
    for name in (PEER, PRODUCT):
        job = source(name, bench.sessions.server, "")
        del job["options"]["topic"]
        job["options"]["topicsPattern"] = f"persistent://{_NAMESPACE}/t.*"
        jobs[name] = {"do": "query", "query": _QUERY} | job
    runs = in_turn({name: partial(bench.sessions.run, name, job) for name, job in jobs.items()}, bench.repeat)
    for number in range(bench.repeat + 1):
        queries.check_answers(
            "small topics", {name: each[number]["answer"] for name, each in runs.items()}, count
        )
    return {MEASURE: measured(MEASURE, count, runs) | {"query": _QUERY, "answers": "equal"}}


def _fill(bench: Bench) -> None:
    server = bench.sessions.server
    server.admin.make_namespace(_NAMESPACE)
    client = official.Client(server.service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    for number in range(_TOPICS):
        topic = f"persistent://{_NAMESPACE}/t{number:04}"
        server.create(topic, 1)
        if number == 0:
            server.keep(topic)
        producer = client.create_producer(topic)
        for message in range(_MESSAGES):
            producer.send_async(f"{number}-{message}".encode(), None)
        producer.flush()
        producer.close()
    client.close()
