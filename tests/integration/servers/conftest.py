"""A server of the version that `PULSAR_VERSION` names, and the official clients that fill and check it.

What is named as in the other tests is not meant: those have their one server of the usual version, and
a fixture of a whole run is made once.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, python_client
from integration.servers.results import Results
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import NEWEST_VERSION, LocalPulsar, fetch_server

NO_CONTENT = 204
VERSION = os.environ.get("PULSAR_VERSION", NEWEST_VERSION)


@dataclass(frozen=True)
class JavaReference:
    """A server that is asked by the Java client of the usual version, whatever the server's is."""

    service_url: str
    home: Path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    with LocalPulsar(version=VERSION, data=tmp_path_factory.mktemp("versioned")) as started:
        yield started


@pytest.fixture(scope="session")
def named_bookies(server: LocalPulsar, server_admin: Admin) -> None:
    """Bookies whose ids are no addresses, as the local Pulsar 5 has one, are written down with theirs, as operators do.

    The port is a free one at each start. The bookie's log tells it.
    """
    (port,) = set(re.findall(r"\[BookieJournal-(\d+)\]", server.log_file.read_text(encoding="utf-8")))
    for bookie in json.loads(server_admin.request("GET", "bookies/all").data)["bookies"]:
        if ":" not in bookie["bookieId"]:
            path = f"bookies/racks-info/{bookie['bookieId']}?group=default"
            answer = server_admin.request("POST", path, {"rack": "/r", "hostname": f"127.0.0.1:{port}"})
            assert answer.status == NO_CONTENT, answer.data


@pytest.fixture(scope="session")
def client(server: LocalPulsar) -> Iterator[official_client.Client]:
    with python_client(server.service_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def server_admin(server: LocalPulsar) -> Admin:
    return Admin(server.admin_url)


@pytest.fixture(scope="session")
def protobuf_client(server: LocalPulsar) -> JavaClient:
    return JavaClient(JavaReference(server.service_url, fetch_server()), "ProtobufClient")


@pytest.fixture
def read(spark: SparkSession, server: LocalPulsar) -> ReadTopic:
    """`read(topic, **options)`: a batch DataFrame of the topic."""

    def of(topic: str, **options: Any) -> DataFrame:
        where = {"service.url": server.service_url, "admin.url": server.admin_url, "topic": topic}
        return spark.read.format("pulsar").options(**where, **options).load()

    return of


@pytest.fixture
def catalog(spark: SparkSession, server: LocalPulsar) -> Iterator[str]:
    """The name of a catalog of the session, which is about the server."""
    where = {"service.url": server.service_url, "admin.url": server.admin_url, "python": sys.executable}
    settings = catalog_settings(catalog="versioned", options=where)
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield "versioned"
    for key in settings:
        spark.conf.unset(key)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the outcomes in the file that `SERVER_RESULTS` names, if it does."""
    file = os.environ.get("SERVER_RESULTS")
    if file:
        config.pluginmanager.register(Results(Path(file), VERSION))
