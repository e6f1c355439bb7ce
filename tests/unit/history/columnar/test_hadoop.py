"""Iceberg's settings of storage in the words of Hadoop."""

from __future__ import annotations

import pytest

from pyspark_pulsar.history.columnar.scan.hadoop import hadoop_settings, hadoop_url
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table_files import NotScannable

S3 = {"s3.endpoint": "http://h:9000", "s3.access-key-id": "id", "client.secret-access-key": "hidden"}


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///a%20b/c.parquet", "file:///a b/c.parquet"),
        ("file:/a/c.parquet", "file:///a/c.parquet"),
        ("file://localhost/a/c.parquet", "file:///a/c.parquet"),
        ("/a b/c.parquet", "file:///a b/c.parquet"),
        ("s3://bucket/a b.parquet", "s3a://bucket/a b.parquet"),
        ("s3n://bucket/a", "s3a://bucket/a"),
        ("hdfs://name/a", "hdfs://name/a"),
    ],
)
def test_urls(url: str, told: str) -> None:
    assert hadoop_url(url) == told


def test_folders_need_nothing() -> None:
    assert hadoop_settings(TableStorage.from_properties(S3), "file:///a") == {}


def test_s3() -> None:
    settings = hadoop_settings(TableStorage.from_properties(S3), "s3://bucket/a")
    assert settings == {
        "fs.s3a.endpoint": "http://h:9000",
        "fs.s3a.access.key": "id",
        "fs.s3a.secret.key": "hidden",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    assert "hidden" not in repr(TableStorage.from_properties(S3))


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        (S3 | {"s3.session-token": "t"}, "TemporaryAWSCredentialsProvider"),
        ({"s3.anonymous": "true"}, "AnonymousAWSCredentialsProvider"),
    ],
)
def test_kinds_of_credentials(given: dict[str, str], provider: str) -> None:
    settings = hadoop_settings(TableStorage.from_properties(given), "s3://bucket/a")
    assert settings["fs.s3a.aws.credentials.provider"].endswith(provider)


def test_settings_that_hadoop_has_no_equal_for() -> None:
    with pytest.raises(NotScannable, match="role-arn"):
        hadoop_settings(TableStorage.from_properties(S3 | {"s3.role-arn": "a"}), "s3://bucket/a")
    with pytest.raises(NotScannable, match="gs://"):
        hadoop_settings(TableStorage.from_properties({"gcs.oauth2.token": "t"}), "gs://bucket/a")
