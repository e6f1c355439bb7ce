"""Every method of authentication, and the rights of a role through the broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fixtures.identity_provider import Client, IdentityProvider
from fixtures.secured_pulsar import (
    ADMIN,
    BROKER_NAME,
    NAMESPACE,
    PASSWORD,
    PRODUCER,
    STRANGER,
    WORKER,
    SecuredPulsar,
)
from fixtures.sni_proxy import SniProxy
from integration.official import Refused
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar import plan, segments
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.parse import parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.tools.cli import cli

Options = dict[str, str]
_ROWS = [(1, "one"), (2, "two"), (3, "three")]


@pytest.fixture(scope="module")
def provider(secured: SecuredPulsar) -> Iterator[IdentityProvider]:
    own = secured.authority.server("provider", ("127.0.0.1",))
    clients = {"spark": Client(WORKER, "sesame")}
    with IdentityProvider(secured.key, clients, certificate=(own.certificate, own.key)) as server:
        yield server


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(_ROWS, "id int, name string")


def write(rows: DataFrame, topic: str, options: Options) -> None:
    rows.write.format("pulsar").options(**options).option("topic", topic).mode("append").save()


def read(spark: SparkSession, topic: str, options: Options) -> list[tuple[Any, ...]]:
    found = spark.read.format("pulsar").options(**options).option("topic", topic).load()
    return sorted(tuple(row) for row in found.select("id", "name").collect())


def by_token_in_a_file(secured: SecuredPulsar, provider: IdentityProvider) -> Options:
    file = secured.folder / "worker.jwt"
    file.write_text(secured.token(WORKER) + "\n")
    return {
        "service.url": secured.service_url,
        "pulsar.client.authPluginClassName": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "pulsar.client.authParams": f"file://{file}",
    }


def by_token_over_tls(secured: SecuredPulsar, provider: IdentityProvider) -> Options:
    return secured.options(WORKER, tls=True)


def by_password(secured: SecuredPulsar, provider: IdentityProvider) -> Options:
    return {
        "service.url": secured.service_url,
        "pulsar.client.authPluginClassName": "org.apache.pulsar.client.impl.auth.AuthenticationBasic",
        "pulsar.client.authParams": json.dumps({"userId": WORKER, "password": PASSWORD}),
    }


def by_certificate(secured: SecuredPulsar, provider: IdentityProvider) -> Options:
    own = secured.client_certificates[WORKER]
    return {
        "service.url": secured.tls_url,
        "pulsar.client.authPluginClassName": "org.apache.pulsar.client.impl.auth.AuthenticationTls",
        "pulsar.client.authParams": f"tlsCertFile:{own.certificate},tlsKeyFile:{own.key}",
        "pulsar.client.tlsTrustCertsFilePath": secured.authority.trust,
    }


def by_oauth2(secured: SecuredPulsar, provider: IdentityProvider) -> Options:
    file = secured.folder / "spark.json"
    file.write_text(json.dumps({"client_id": "spark", "client_secret": "sesame"}))
    params = {
        "type": "client_credentials",
        "issuerUrl": provider.url,
        "privateKey": f"file://{file}",
        "audience": "urn:pulsar",
        "trustCertsFilePath": secured.authority.trust,
    }
    return {
        "service.url": secured.tls_url,
        "pulsar.client.authPluginClassName": "org.apache.pulsar.client.impl.auth.oauth2.AuthenticationOAuth2",
        "pulsar.client.authParams": json.dumps(params),
        "pulsar.client.tlsTrustCertsFilePath": secured.authority.trust,
    }


Way = Callable[[SecuredPulsar, IdentityProvider], Options]


@pytest.mark.parametrize(
    "way", [by_token_in_a_file, by_token_over_tls, by_password, by_certificate, by_oauth2]
)
def test_consume_and_produce_are_enough_to_write_and_read(
    spark: SparkSession,
    rows: DataFrame,
    secured: SecuredPulsar,
    provider: IdentityProvider,
    topic: str,
    way: Way,
) -> None:
    options = way(secured, provider)
    write(rows, topic, options)
    assert read(spark, topic, options) == _ROWS


def test_consume_and_produce_are_enough_to_stream(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str, tmp_path: Path
) -> None:
    secured.request("PUT", f"persistent/{NAMESPACE}/{topic.rpartition('/')[2]}-source/partitions", 3)
    options = secured.options(WORKER, tls=True)
    write(rows, f"{topic}-source", options)
    stream = (
        spark.readStream.format("pulsar")
        .options(**options)
        .option("topicsPattern", f"{NAMESPACE}/{topic.rpartition('/')[2]}-sour.*")
        .option("startingOffsets", "earliest")
        .load()
        .select("id", "name")
    )
    query = (
        stream.writeStream.format("pulsar")
        .options(**options)
        .option("topic", f"{topic}-target")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    assert query.exception() is None
    assert read(spark, f"{topic}-target", options) == _ROWS


def test_a_role_without_admin_rights_reads_from_the_broker(
    spark: SparkSession,
    rows: DataFrame,
    secured: SecuredPulsar,
    topic: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    options = secured.options(WORKER, admin=True)
    write(rows, topic, options)
    assert {row.readers[0] for row in plan(spark, topic=topic, **options).collect()} == {"broker"}
    assert read(spark, topic, options) == _ROWS


@pytest.mark.parametrize("read_from", ["auto", "bookie"])
def test_a_role_without_the_right_to_consume_reads_no_bookie_or_table(
    spark: SparkSession,
    rows: DataFrame,
    secured: SecuredPulsar,
    topic: str,
    refused: Refused,
    read_from: str,
    tmp_path: Path,
) -> None:
    write(rows, topic, secured.options(PRODUCER))
    secured.request("PUT", f"{topic.replace('://', '/')}/unload")
    options = {**secured.options(PRODUCER, admin=True), "topic": topic, "readFrom": read_from}
    batch = spark.read.format("pulsar").options(**options).load()
    told = refused(batch.count, "PermissionDenied")
    assert "AuthorizationError" in told
    assert topic in told
    stream = spark.readStream.format("pulsar").options(**options).option("startingOffsets", "earliest").load()
    query = (
        stream.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(Exception, match="PermissionDenied"):
        query.awaitTermination(60)


def test_a_role_without_rights_is_refused(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str, refused: Refused
) -> None:
    write(rows, topic, secured.options(WORKER))
    options = secured.options(STRANGER)
    text = refused(lambda: read(spark, topic, options), "PermissionDenied")
    assert topic in text
    assert "grant the role the permission" in text
    refused(lambda: write(rows, topic, options), "PermissionDenied")
    pattern = spark.read.format("pulsar").options(**options).option("topicsPattern", f"{NAMESPACE}/.*")
    refused(pattern.load, "PermissionDenied")


def test_a_worker_shares_no_connection_between_roles(
    rows: DataFrame, secured: SecuredPulsar, topic: str
) -> None:
    """A process reads an administrator's splits with another role, while its caches hold the administrator's data."""
    write(rows, topic, secured.options(WORKER) | {"valueFormat": "avro"})

    def options(role: str) -> ReadOptions:
        given = secured.options(role, admin=True) | {"topic": topic}
        return parse_options(ReadOptions, given)

    plan = plan_batch(options(ADMIN))
    schema = resolve_source_schema(options(ADMIN))

    def count(role: str) -> int:
        return sum(batch.num_rows for batch in read_splits(options(role), schema, plan.splits))

    assert count(ADMIN) == len(_ROWS)
    for role in (STRANGER, PRODUCER):
        with pytest.raises(PermissionDenied):
            count(role)
    assert count(ADMIN) == len(_ROWS)


def test_the_right_to_produce_is_enough_to_write_with_a_schema(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str
) -> None:
    write(rows, topic, secured.options(WORKER))
    write(rows, topic, secured.options(PRODUCER))
    assert read(spark, topic, secured.options(WORKER)) == sorted(_ROWS * 2)


@pytest.mark.parametrize("way", ["token", "tls", "basic"])
def test_the_admin_rest_api_is_used_over_tls(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str, way: str
) -> None:
    write(rows, topic, secured.options(WORKER))
    options = secured.options(ADMIN, tls=True, admin=True)
    if way != "token":
        own = secured.client_certificates[ADMIN]
        options["pulsar.client.authPluginClassName"] = way
        options["pulsar.client.authParams"] = (
            json.dumps({"userId": ADMIN, "password": PASSWORD})
            if way == "basic"
            else f"tlsCertFile:{own.certificate},tlsKeyFile:{own.key}"
        )
    found = segments(spark, topic=topic, **options).collect()
    assert sum(row.entries for row in found) > 0
    secured.request("PUT", f"{topic.replace('://', '/')}/unload")
    assert read(spark, topic, {**options, "readFrom": "bookie", "bookieTls": "false"}) == _ROWS


@pytest.mark.parametrize("command", ["segments", "plan"])
def test_commands_authenticate(rows: DataFrame, secured: SecuredPulsar, topic: str, command: str) -> None:
    write(rows, topic, secured.options(WORKER))
    file = secured.folder / "admin.jwt"
    file.write_text(secured.token(ADMIN))
    given = secured.options(ADMIN, tls=True, admin=True) | {"pulsar.client.authParams": f"file://{file}"}
    settings = [word for key, text in given.items() for word in ("--option", f"{key}={text}")]
    result = CliRunner().invoke(cli, [command, topic, "--json", *settings], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert sum(line["entries"] for line in lines) > 0


def test_reads_and_writes_through_a_proxy_that_forwards_by_name(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str
) -> None:
    with SniProxy({BROKER_NAME: ("127.0.0.1", secured.tls_port)}) as proxy:
        options = secured.options(WORKER, tls=True) | {
            "service.url": f"pulsar+ssl://{BROKER_NAME}:6651",
            "pulsar.client.proxyServiceUrl": f"pulsar+ssl://127.0.0.1:{proxy.port}",
            "pulsar.client.proxyProtocol": "SNI",
        }
        write(rows, topic, options)
        assert read(spark, topic, options) == _ROWS
        assert set(proxy.wanted) == {BROKER_NAME}


def test_another_host_is_used_if_one_fails(
    spark: SparkSession, rows: DataFrame, secured: SecuredPulsar, topic: str
) -> None:
    alive = secured.tls_url.removeprefix("pulsar+ssl://")
    options = secured.options(WORKER, tls=True) | {"service.url": f"pulsar+ssl://127.0.0.1:1,{alive}"}
    write(rows, topic, options)
    assert read(spark, topic, options) == _ROWS
