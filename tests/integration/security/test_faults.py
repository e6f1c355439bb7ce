"""Faults of authentication and TLS: the driver reports them immediately, without secrets.

Most tests call the package's methods without Spark, because a Spark job would be slow.
"""

from __future__ import annotations

import json
import time
import traceback
from pathlib import Path

import pytest
from fixtures.certificates import Authority
from fixtures.identity_provider import TokenKey
from fixtures.secured_pulsar import ADMIN, NAMESPACE, PASSWORD, WORKER, SecuredPulsar
from integration.official import Refused
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.datasource import PulsarDataSource
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, PulsarError, TlsFailed
from pyspark_pulsar.options import ConnectionOptions, parse_options

# Less than the timeout of a client that retries.
_SOON_SECONDS = 20.0

Fault = tuple[dict[str, str], str, str, str]
"""Wrong options, the kind of the error, its text, and a secret that the error must not show."""


def _faults(secured: SecuredPulsar, folder: Path) -> dict[str, Fault]:
    token = secured.options(WORKER)
    tls = secured.options(WORKER, tls=True)
    by_certificate = tls | {"pulsar.client.authPluginClassName": "tls"}
    other = Authority(folder, "other")
    foreign = other.client(WORKER)
    forged = TokenKey(folder).token(WORKER)
    expired = secured.token(WORKER, seconds=-60)
    params = "pulsar.client.authParams"
    return {
        "nobody": (
            {"service.url": secured.service_url},
            "PermissionDenied",
            "pulsar.client.authPluginClassName",
            "",
        ),
        "a token of another key": (
            token | {params: f"token:{forged}"},
            "PermissionDenied",
            "AuthenticationError",
            forged,
        ),
        "a token that has ended": (
            token | {params: f"token:{expired}"},
            "PermissionDenied",
            "the token expired at",
            expired,
        ),
        "no token at all": (
            token | {params: "token:sesame"},
            "PermissionDenied",
            "AuthenticationError",
            "sesame",
        ),
        "a wrong password": (
            token
            | {
                "pulsar.client.authPluginClassName": "basic",
                params: json.dumps({"userId": WORKER, "password": "sesame"}),
            },
            "PermissionDenied",
            "AuthenticationError",
            "sesame",
        ),
        "an unknown authority": (
            tls | {"pulsar.client.tlsTrustCertsFilePath": other.trust},
            "TlsFailed",
            "tlsTrustCertsFilePath",
            tls[params],
        ),
        "another host name": (
            tls | {"service.url": tls["service.url"].replace("127.0.0.1", "localhost")},
            "TlsFailed",
            "tlsHostnameVerificationEnable",
            tls[params],
        ),
        "a certificate of another authority": (
            by_certificate | {params: f"tlsCertFile:{foreign.certificate},tlsKeyFile:{foreign.key}"},
            "TlsFailed",
            "tlsCertificateFilePath",
            "",
        ),
        "the plugin tls without TLS": (
            by_certificate
            | {
                "service.url": secured.service_url,
                params: f"tlsCertFile:{foreign.certificate},tlsKeyFile:{foreign.key}",
            },
            "OptionError",
            "pulsar+ssl://",
            "",
        ),
        "a file that is not there": (
            token | {params: f"file://{folder}/nowhere"},
            "OptionError",
            "nowhere on each machine that connects",
            "",
        ),
        "an unknown plugin": (
            token | {"pulsar.client.authPluginClassName": "org.example.AuthenticationMagic"},
            "OptionError",
            "AuthenticationOAuth2 (oauth2)",
            token[params],
        ),
    }


_NAMES = [
    "nobody", "a token of another key", "a token that has ended", "no token at all", "a wrong password",
    "an unknown authority", "another host name", "a certificate of another authority", "the plugin tls without TLS",
    "a file that is not there", "an unknown plugin",
]  # fmt: skip


@pytest.mark.parametrize("name", _NAMES)
def test_the_fault_is_reported_immediately(
    secured: SecuredPulsar, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("pyspark_pulsar.client.broker.client._PLANNING_PATIENCE_MS", 30_000)
    options, kind, said, secret = _faults(secured, tmp_path)[name]
    for source in (lambda: _read(options, topic), lambda: _write(options, topic)):
        started = time.monotonic()
        with pytest.raises(PulsarError) as caught:
            source()
        assert type(caught.value).__name__ == kind
        assert said in str(caught.value)
        shown = "".join(traceback.format_exception(caught.value))
        assert not secret or secret.removeprefix("token:") not in shown
        assert time.monotonic() - started < _SOON_SECONDS


def test_the_fault_is_reported_in_a_spark_job(
    spark: SparkSession, secured: SecuredPulsar, topic: str, refused: Refused
) -> None:
    options = secured.options(WORKER) | {
        "pulsar.client.authParams": f"token:{secured.token(WORKER, seconds=-60)}"
    }
    told = refused(
        spark.read.format("pulsar").options(**options).option("topic", topic).load, "PermissionDenied"
    )
    assert "the token expired at" in told
    assert options["pulsar.client.authParams"].removeprefix("token:") not in told


def test_tls_and_plain_ports_confused_are_reported(secured: SecuredPulsar, topic: str) -> None:
    """The server closes the connection like a server that restarts, so the client retries for a while."""
    plain = secured.options(WORKER) | {"service.url": secured.tls_url.replace("+ssl", "")}
    tls = secured.options(WORKER, tls=True) | {"service.url": secured.service_url.replace(":", "+ssl:", 1)}
    for options, said in ((plain, r"pulsar\+ssl:// \(6651\) for TLS"), (tls, "its port is the one for TLS")):
        with pytest.raises(ConnectionFailed, match=said):
            _read(options, topic)


def test_an_unknown_listener_is_reported(secured: SecuredPulsar, topic: str) -> None:
    options = parse_options(
        ConnectionOptions, secured.options(WORKER) | {"pulsar.client.listenerName": "elsewhere"}
    )
    with BrokerClient(options, patience_ms=1_000) as client, pytest.raises(PulsarError, match="elsewhere"):
        client.retrying(lambda: client.owner_connection(topic))


def _read(options: dict[str, str], topic: str) -> None:
    PulsarDataSource({**options, "topic": topic}).schema()


def _write(options: dict[str, str], topic: str) -> None:
    schema = StructType([StructField("value", StringType())])
    PulsarDataSource({**options, "topic": topic}).writer(schema, overwrite=False)


def _admin_fault(options: dict[str, str]) -> PulsarError:
    with AdminClient(parse_options(ConnectionOptions, options)) as admin:
        started = time.monotonic()
        with pytest.raises(PulsarError) as caught:
            admin.get("clusters", "asking")
    assert time.monotonic() - started < _SOON_SECONDS
    return caught.value


def test_faults_at_the_admin_rest_api_are_reported(secured: SecuredPulsar, tmp_path: Path) -> None:
    good = secured.options(WORKER, tls=True, admin=True)
    other = Authority(tmp_path, "other").trust
    cases: list[tuple[dict[str, str], type[PulsarError], str]] = [
        (
            {"pulsar.client.authParams": f"token:{secured.token(WORKER, seconds=-60)}"},
            PermissionDenied,
            "the token expired at",
        ),
        (
            {
                "pulsar.client.authPluginClassName": "basic",
                "pulsar.client.authParams": json.dumps({"userId": WORKER, "password": "no"}),
            },
            PermissionDenied,
            "401",
        ),
        ({"pulsar.client.tlsTrustCertsFilePath": other}, TlsFailed, "tlsTrustCertsFilePath"),
        (
            {"admin.url": good["admin.url"].replace("127.0.0.1", "localhost")},
            TlsFailed,
            "HostnameVerification",
        ),
        ({"admin.url": secured.admin_url.replace("http:", "https:")}, TlsFailed, "port is the one for TLS"),
    ]
    for wrong, kind, said in cases:
        fault = _admin_fault(good | wrong)
        assert isinstance(fault, kind), fault
        assert said in str(fault)
        assert PASSWORD not in str(fault)
    loose = secured.options(ADMIN, tls=True, admin=True) | {
        "admin.url": good["admin.url"].replace("127.0.0.1", "localhost"),
        "pulsar.client.tlsHostnameVerificationEnable": "false",
    }
    with AdminClient(parse_options(ConnectionOptions, loose)) as admin:
        assert WORKER in admin.get(f"namespaces/{NAMESPACE}/permissions", "asking")
