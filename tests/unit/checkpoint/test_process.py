"""The first answer of the process, names of checkpoints, and settings."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.clients import ClusterSettings
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.process.service import CheckpointService
from pyspark_pulsar.errors import DeadlineExceeded, OptionError
from pyspark_pulsar.spark.service import serve

HERE = "pulsar+checkpoint://t/n/c"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({}, "settings of the cluster"),
        ({"settings": {}}, "service.url"),
        ({"settings": {"service.url": "http://x"}}, "service.url"),
        ({"settings": {"service.url": "pulsar://x:1", "servce.url": "y"}}, "did you mean"),
    ],
)
def test_wrong_settings_end_the_process_with_an_answer(first: dict[str, Any], said: str) -> None:
    answers: list[Any] = []
    serve(
        CheckpointService(),
        iter([(first, b""), ({"id": 1}, b"")]).__next__,
        lambda header, body: answers.append((header, body)),
    )
    assert len(answers) == 1
    error = answers[0][0]["error"]
    assert error["kind"] == "Invalid"
    assert said in error["message"]


def test_settings_of_the_catalog_are_taken_as_they_are() -> None:
    settings = ClusterSettings.parse(
        {
            "service.url": "pulsar://x:1",
            "ADMIN.url": "http://y:2",
            "defaultNamespace": "a/b",
            "tenants": "a",
            "systemTopics": "true",
            "deliveryGuarantee": "exactly-once",
            "pulsar.client.operationTimeoutMs": "5000",
        }
    )
    assert settings.options.service_url == "pulsar://x:1"
    assert settings.options.admin_url == "http://y:2"
    assert settings.options.operation_timeout_ms == 5000


def test_names_of_checkpoints() -> None:
    path = parse_path(f"{HERE}/state/0/a b%20\u00e9")
    assert path.parts == ("state", "0", "a b%20\u00e9")
    assert str(path.checkpoint) == HERE
    assert str(path.checkpoint.index) == "persistent://t/n/c-index"
    assert str(path.checkpoint.content) == "persistent://t/n/c-content"
    assert str(path) == f"{HERE}/state/0/a b%20\u00e9"
    assert parse_path(f"{HERE}//x/") == parse_path(f"{HERE}/x")
    assert parse_path(HERE).parts == ()


@pytest.mark.parametrize(
    "text",
    ["", "file:///x", "pulsar+checkpoint://t/n", "pulsar+checkpoint://t", f"{HERE}/../x", f"{HERE}/./x",
     "pulsar+checkpoint://t t/n/c", "pulsar+checkpoint:///n/c"],
)  # fmt: skip
def test_a_path_without_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"expected|may have"):
        parse_path(text)


def test_an_expired_deadline_names_its_purpose() -> None:
    assert Deadline.after(5).seconds_left("x") > 4
    with pytest.raises(DeadlineExceeded, match=r"reading it: expected .* within 0 s.*last attempt: no route"):
        Deadline.after(0).seconds_left("reading it", "no route")
