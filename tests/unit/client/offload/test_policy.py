"""Tests of the location of offloaded ledgers, from options and from the offload policy."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload import policy as offload_policy
from pyspark_pulsar.client.offload.policy import TieredStore, find_tiered_store
from pyspark_pulsar.errors import OptionError, PermissionDenied, ProtocolError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions

TOPIC = TopicName.parse("tenant/space/t")
LEDGER = Ledger(12, 10, 1000, None, 1, "0000-11")
SECRETS = {
    "s3ManagedLedgerOffloadCredentialId": "AKID",
    "s3ManagedLedgerOffloadCredentialSecret": "SECRET",
    "gcsManagedLedgerOffloadServiceAccountKeyFile": "/secret/file",
}


class Answers:
    """A client with fixed answers for topic paths and namespace paths. The client raises an answer that is an error."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def get(self, path: str, where: str) -> Any:
        self.asked.append(path)
        answer = self._answers["topic" if path.startswith("persistent/") else "namespace"]
        if isinstance(answer, Exception):
            raise answer
        return answer


def store(policy: dict[str, str] | None, **options: Any) -> TieredStore | None:
    return find_tiered_store(read_options(**options), Answers(topic=policy), TOPIC)


def read_options(**options: Any) -> ReadOptions:
    return ReadOptions(service_url="pulsar://host:6650", topic=str(TOPIC), **options)


@pytest.mark.parametrize(
    ("policy", "url", "settings"),
    [
        (
            {
                "managedLedgerOffloadDriver": "aws-s3",
                "s3ManagedLedgerOffloadBucket": "b",
                "s3ManagedLedgerOffloadRegion": "eu-west-1",
            },
            "s3://b",
            {"region": "eu-west-1"},
        ),
        (
            {
                "managedLedgerOffloadDriver": "S3",
                "managedLedgerOffloadBucket": "b",
                "s3ManagedLedgerOffloadBucket": "",
                "managedLedgerOffloadServiceEndpoint": "http://store:9000",
            },
            "s3://b",
            {"endpoint": "http://store:9000"},
        ),
        (
            {
                "managedLedgerOffloadDriver": "google-cloud-storage",
                "gcsManagedLedgerOffloadBucket": "b",
                "gcsManagedLedgerOffloadRegion": "europe-west3",
            },
            "gs://b",
            {},
        ),
        ({"managedLedgerOffloadDriver": "azureblob", "managedLedgerOffloadBucket": "c"}, "az://c", {}),
        (
            {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "hdfs://name:9000/"},
            "hdfs://name:9000",
            {},
        ),
        (
            {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "/mnt/offloaded"},
            "file:///mnt/offloaded",
            {},
        ),
    ],
)
def test_the_policy_names_the_location_and_never_its_credentials(
    policy: dict[str, str], url: str, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = store(policy | SECRETS)
    assert found is not None
    assert (found.url, dict(found.settings)) == (url, settings)
    assert not [text for text in SECRETS.values() if text in caplog.text or text in str(found.settings)]


@pytest.mark.parametrize(
    "policy",
    [
        None,
        {},
        {"managedLedgerOffloadDriver": "aws-s3"},
        {"managedLedgerOffloadDriver": "aliyun-oss", "managedLedgerOffloadBucket": "b"},
        {"managedLedgerOffloadDriver": "filesystem"},
        {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "ftp://host/x"},
    ],
)
def test_a_place_that_the_policy_does_not_name_is_none(policy: dict[str, str] | None) -> None:
    assert find_tiered_store(read_options(), Answers(topic=policy, namespace=policy), TOPIC) is None


def test_the_policy_of_the_topic_comes_before_that_of_the_namespace() -> None:
    own = {"managedLedgerOffloadDriver": "S3", "managedLedgerOffloadBucket": "own"}
    other = {"managedLedgerOffloadDriver": "S3", "managedLedgerOffloadBucket": "other"}
    answers = Answers(topic=own, namespace=other)
    found = find_tiered_store(read_options(), answers, TOPIC)
    assert found is not None
    assert (found.url, answers.asked) == (
        "s3://own",
        ["persistent/tenant/space/t/offloadPolicies?applied=true"],
    )
    for refusal in (PermissionDenied("no"), ProtocolError("405: topic level policies are disabled"), None):
        found = find_tiered_store(read_options(), Answers(topic=refusal, namespace=other), TOPIC)
        assert found is not None
        assert found.url == "s3://other"
    assert (
        find_tiered_store(
            read_options(), Answers(topic=PermissionDenied(""), namespace=ProtocolError("")), TOPIC
        )
        is None
    )
    assert find_tiered_store(read_options(), None, TOPIC) is None


def test_the_users_values_are_used_and_not_shown() -> None:
    policy = {
        "managedLedgerOffloadDriver": "S3",
        "managedLedgerOffloadBucket": "b",
        "managedLedgerOffloadRegion": "r1",
    }
    keys = (("region", "r2"), ("secret_access_key", "SECRET"))
    found = store(policy, tiered_storage_options=keys, operation_timeout_ms=1500)
    assert found is not None
    assert (dict(found.settings), found.patience_seconds) == (dict(keys), 1.5)
    assert "SECRET" not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found
    elsewhere = Answers()
    found = find_tiered_store(
        read_options(tiered_storage_url="gs://mine/prefix/", tiered_storage_options=keys), elsewhere, TOPIC
    )
    assert found is not None
    assert (found.url, dict(found.settings), elsewhere.asked) == ("gs://mine/prefix", dict(keys), [])


@pytest.mark.parametrize(
    "url", ["bucket", "s3://", "http://host/x", "s3://KEY:SECRET@bucket", "az://c?sig=SECRET", "file:///"]
)
def test_an_invalid_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(OptionError, match=r"tieredStorageUrl.*expected s3://bucket") as refused:
        find_tiered_store(read_options(tiered_storage_url=url), None, TOPIC)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("topic", "folder"),
    [
        ("tenant/space/t", "tenant/space/persistent/t"),
        ("tenant/space/t-partition-3", "tenant/space/persistent/t-partition-3"),
        ("a/b/x=y:z~w*é", "a/b/persistent/x%3Dy%3Az%7Ew*%C3%A9"),
    ],
)
def test_names_are_those_of_the_offloaders(topic: str, folder: str) -> None:
    partition = TopicPartition.parse(topic)
    assert TieredStore("s3://b").name_of(partition, LEDGER) == "0000-11-ledger-12"
    assert TieredStore("file:///f").name_of(partition, LEDGER) == f"{folder}/12-0000-11"


def test_a_refused_policy_is_reported_once_for_a_namespace(caplog: pytest.LogCaptureFixture) -> None:
    offload_policy._refused_namespaces.clear()
    refused = PermissionDenied("no")
    for _ in range(2):
        assert find_tiered_store(read_options(), Answers(topic=refused, namespace=refused), TOPIC) is None
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "tenant/space" in told[0]
    assert "tieredStorageUrl" in told[0]
