"""The location of Delta tables: names, settings for two libraries, and errors that show no secrets."""

from __future__ import annotations

import pickle

import pytest

from pyspark_pulsar.errors import ColumnsUnavailable, OptionError
from pyspark_pulsar.history.columnar.delta.table import DeltaFolder
from pyspark_pulsar.history.columnar.delta.table_location import TableLocation, delta_options
from pyspark_pulsar.history.columnar.redaction import one_line, secret_values
from pyspark_pulsar.history.columnar.topic_tables import table_catalog

S3 = {
    "s3.endpoint": "http://127.0.0.1:1",
    "s3.access-key-id": "my-access-key",
    "s3.secret-access-key": "my-secret-key",
    "s3.region": "eu-west-1",
    "s3.connect-timeout": "0.5",
}


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/a b/c/", "file:///a%20b/c"),
        ("file:///a%20b/c/", "file:///a%20b/c"),
        ("s3://bucket/prefix/", "s3://bucket/prefix"),
        ("s3a://bucket", "s3://bucket"),
    ],
)
def test_places(path: str, url: str) -> None:
    assert TableLocation.from_path(path, {}).url == url


@pytest.mark.parametrize(
    "path",
    [
        "relative",
        "file://host/folder",
        "s3://",
        "s3://user:my-secret-key@bucket/x",
        "gs://bucket",
        "s3://b/x?y=1",
    ],
)
def test_places_that_are_none(path: str) -> None:
    with pytest.raises(
        OptionError, match="property path: expected file:///folder or s3://bucket/prefix"
    ) as told:
        TableLocation.from_path(path, S3)
    assert "my-secret-key" not in str(told.value)


def test_a_table_is_in_a_folder_of_its_namespace() -> None:
    place = TableLocation.from_path("/tables", {})
    assert place.under("public_default", "t").url == "file:///tables/public_default/t"
    for name in ("..", ".", "a/b", "", "_delta_log/x"):
        with pytest.raises(OptionError, match="option 'tierTable'"):
            place.under("ns", name)


def test_names_in_the_log_in_the_store_and_in_urls() -> None:
    for root in ("/my tables/t", "s3://bucket/t"):
        place = TableLocation.from_path(root, {})
        name = "data-1/item=a%20b/0-1-0.parquet"
        assert place.name_of("data-1/item=a%2520b/0-1-0.parquet") == name
        assert place.name_at(place.url_of(name)) == name
        _, path = place.storage.locate(place.url_of(name))
        assert path == f"{root.removeprefix('s3://')}/{name}"
        assert place.url_of(place.name_of("s3://other/x%20y")) == "s3://other/x%20y"


def test_settings_of_iceberg_by_the_names_of_delta_rs() -> None:
    assert delta_options(S3) == {
        "aws_endpoint_url": "http://127.0.0.1:1",
        "aws_allow_http": "true",
        "aws_access_key_id": "my-access-key",
        "aws_secret_access_key": "my-secret-key",
        "aws_region": "eu-west-1",
        "connect_timeout": "500ms",
        "timeout": "30000ms",
        "max_retries": "3",
        "retry_timeout": "60s",
    }
    others = {
        "client.region": "r", "client.session-token": "t", "s3.role-arn": "arn", "s3.proxy-uri": "p",
        "s3.force-virtual-addressing": "true", "s3.anonymous": "true", "s3.endpoint": "host:9000",
    }  # fmt: skip
    told = delta_options(others)
    assert "aws_allow_http" not in told
    assert told["aws_endpoint_url"] == "https://host:9000"
    assert told["aws_region"] == "r"
    assert told["aws_session_token"] == "t"
    assert told["aws_iam_role_arn"] == "arn"
    assert told["proxy_url"] == "p"
    assert told["aws_virtual_hosted_style_request"] == told["aws_skip_signature"] == "true"
    with pytest.raises(
        OptionError, match=r"property s3\.request-timeout: expected a number of seconds, got 'soon'"
    ):
        delta_options({"s3.request-timeout": "soon"})


@pytest.mark.parametrize("settings", [{}, {"path": "/x", "uri": "sqlite://"}, {"path": "/x", "s3.typo": "y"}])
def test_settings_that_a_folder_does_not_have(settings: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="expected the property path, and settings such as"):
        table_catalog((("type", "delta"), *settings.items()), ())


def test_a_store_that_is_away_is_reported_without_secrets() -> None:
    folder = DeltaFolder.open({"type": "delta", "path": "s3://bucket/tables", **S3})
    for ask in (lambda: folder.load("ns.t"), lambda: folder.present(["ns.t"])):
        with pytest.raises(ColumnsUnavailable, match="s3://bucket/tables") as told:
            ask()
        text = str(told.value)
        assert "my-secret-key" not in text
        assert "\x1b" not in text
        assert len(text.splitlines()) == 1


def test_a_place_shows_no_secrets_and_travels() -> None:
    place = TableLocation.from_path("s3://bucket/tables", S3)
    assert "my-secret-key" not in repr(place)
    assert pickle.loads(pickle.dumps(place.storage)) == place.storage


def test_texts_of_others_in_one_line() -> None:
    assert secret_values({"uri": "postgresql://u:hush-hush@h/d", "header.Authorization": "Bearer b"}) == (
        "Bearer b",
        "hush-hush",
    )
    secrets = secret_values({"s3.secret-access-key": "abcd", "token": "xyz", "uri": "http"})
    assert secrets == ("abcd",)
    assert one_line(OSError("a\n\x1b[31m↳\x1b[0m abcd b"), secrets) == "a *** b"
    assert len(one_line(OSError("x" * 1000), ())) == 400
