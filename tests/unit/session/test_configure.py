"""Settings of a builder for the catalog; tests with a running session check their effect."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing, SessionStarted
from pyspark_pulsar.options import ReadOptions, WriteOptions, secret_keys
from pyspark_pulsar.session import configure as configure_module, environment
from pyspark_pulsar.session.checkpoints import FILE_MANAGER_CLASS, FILE_SYSTEM_CLASS
from pyspark_pulsar.session.configure import catalog_jar, catalog_settings, configure, session_conf

URL = "pulsar://h:6650"
CLASS = "org.pysparkpulsar.catalog.PulsarCatalog"
EXTENSIONS = "org.pysparkpulsar.catalog.PulsarExtensions"
PREFIX = "spark.sql.catalog.pulsar"
HIDDEN = list(dict.fromkeys(key.rpartition(".")[2].lower() for key in secret_keys(ReadOptions, WriteOptions)))
"""Names of secret options that Spark would show without its setting for redaction."""


@pytest.fixture(autouse=True)
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A wheel's jar, in a process where Spark was never started and that has no settings of its own."""
    path = tmp_path / "pyspark-pulsar-catalog.jar"
    path.touch()
    monkeypatch.setattr(configure_module, "catalog_jar", lambda: path)
    for name in (
        "PYSPARK_SUBMIT_ARGS",
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "SPARK_REMOTE",
        "PYSPARK_GATEWAY_PORT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(environment, "_session_settings", lambda: None)
    monkeypatch.setattr(environment, "_has_jvm", lambda: False)
    return str(path)


def builder(**conf: str) -> SparkSession.Builder:
    made = SparkSession.Builder()
    for key, value in conf.items():
        made.config(key.replace("__", "."), value)
    return made


def settings_of(configured: SparkSession.Builder) -> dict[str, str]:
    return dict(configured._options)


def running_session(monkeypatch: pytest.MonkeyPatch, **conf: str) -> None:
    found = {key.replace("__", "."): value for key, value in conf.items()}
    monkeypatch.setattr(environment, "_session_settings", lambda: found.get)


def test_the_error_hook_is_an_argument(jar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    configure(builder(), URL, error_hook=False)
    configure(builder().remote("sc://h"), URL, error_hook=False)
    assert sys.excepthook is sys.__excepthook__
    configure(builder(), URL)
    assert sys.excepthook is not sys.__excepthook__


def test_a_plain_builder(jar: str) -> None:
    made = builder()
    assert configure(made, URL, "http://h:8080") is made
    assert settings_of(made) == {
        "spark.jars": jar,
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp",
        "spark.pyspark.python": sys.executable,
        "spark.redaction.regex": f"(?i)secret|password|token|access[.]?key|{'|'.join(HIDDEN)}",
        f"{PREFIX}.python": sys.executable,
        PREFIX: CLASS,
        f"{PREFIX}.service.url": URL,
        f"{PREFIX}.admin.url": "http://h:8080",
        "spark.hadoop.fs.pulsar+checkpoint.impl": FILE_SYSTEM_CLASS,
        "spark.hadoop.fs.pulsar+checkpoint.impl.disable.cache": "true",
        "spark.hadoop.fs.pulsar+checkpoint.catalog": "pulsar",
        "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER_CLASS,
    }
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_settings_of_the_builder_are_kept(jar: str) -> None:
    made = builder(
        spark__jars="a.jar, b.jar",
        spark__sql__extensions="io.delta.X",
        spark__sql__python__filterPushdown__enabled="false",
        spark__redaction__regex="(?i)mine",
        spark__pyspark__python="/opt/python",
    )
    found = settings_of(configure(made, URL))
    assert found["spark.jars"] == f"a.jar,b.jar,{jar}"
    assert found["spark.sql.extensions"] == f"io.delta.X,{EXTENSIONS}"
    assert found["spark.sql.python.filterPushdown.enabled"] == "false"
    assert found["spark.redaction.regex"] == "(?i)mine|" + "|".join(f"(?i:{name})" for name in HIDDEN)
    assert found["spark.pyspark.python"] == os.environ["PYSPARK_PYTHON"] == "/opt/python"


def test_sockets_between_spark_and_its_workers(jar: str) -> None:
    """A user's own choice is kept, also a folder."""
    enabled, folder = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
    for value in ("false", "true"):
        conf = session_conf(URL, present={enabled: value})
        assert not {enabled, folder} & conf.keys()
    conf = session_conf(URL, present={folder: "/run/spark"})
    assert (conf[enabled], conf[folder]) == ("true", "/run/spark")


def test_two_catalogs_share_what_is_shared(jar: str) -> None:
    made = configure(configure(builder(), URL), "pulsar://other:6650", catalog="other")
    found = settings_of(made)
    assert (found["spark.jars"], found["spark.sql.extensions"]) == (jar, EXTENSIONS)
    assert found["spark.redaction.regex"].count("authparams") == 1
    assert found[f"{PREFIX}.service.url"] == URL
    assert found["spark.sql.catalog.other.service.url"] == "pulsar://other:6650"


def test_checkpoints_take_their_connection_from_the_first_catalog(jar: str) -> None:
    found = settings_of(configure(configure(builder(), URL), "pulsar://other:6650", catalog="other"))
    assert found["spark.hadoop.fs.pulsar+checkpoint.catalog"] == "pulsar"


def test_settings_for_all_checkpoints_are_set_on_request(jar: str) -> None:
    streaming = "spark.sql.streaming"
    checksums, provider = (
        f"{streaming}.checkpoint.fileChecksum.enabled",
        f"{streaming}.stateStore.providerClass",
    )
    state_format = f"{streaming}.stateStore.checkpointFormatVersion"
    plain = settings_of(configure(builder(), URL))
    assert not plain.keys() & {checksums, provider, state_format}
    with_default = settings_of(configure(builder(), URL, checkpoints="default"))
    assert with_default[checksums] == "false"
    assert not with_default.keys() & {provider, state_format}
    with_rocksdb = settings_of(configure(builder(), URL, checkpoints="rocksdb"))
    assert with_rocksdb[checksums] == "false"
    assert with_rocksdb[provider].endswith(".RocksDBStateStoreProvider")
    assert with_rocksdb[state_format] == "2"
    given = builder(spark__sql__streaming__checkpointFileManagerClass="my.Own")
    assert settings_of(configure(given, URL))[f"{streaming}.checkpointFileManagerClass"] == "my.Own"
    other = builder(spark__sql__streaming__stateStore__providerClass="my.Provider")
    with pytest.raises(OptionError, match="only RocksDB has state in format 2"):
        configure(other, URL, checkpoints="rocksdb")
    with pytest.raises(OptionError, match="'default' or 'rocksdb', got 'hdfs'"):
        configure(builder(), URL, checkpoints="hdfs")


def test_settings_are_names_of_options() -> None:
    found = catalog_settings(
        URL,
        catalog="p",
        readFrom="broker",
        failOnDataLoss=False,
        pollTimeoutMs=5,
        mode=None,
        options={"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": "file:///t"},
    )
    assert found == {
        "spark.sql.catalog.p": CLASS,
        "spark.sql.catalog.p.service.url": URL,
        "spark.sql.catalog.p.readFrom": "broker",
        "spark.sql.catalog.p.failOnDataLoss": "false",
        "spark.sql.catalog.p.pollTimeoutMs": "5",
        "spark.sql.catalog.p.pulsar.client.authPluginClassName": "token",
        "spark.sql.catalog.p.pulsar.client.authParams": "file:///t",
    }


def test_settings_that_are_refused() -> None:
    with pytest.raises(OptionError, match=r"did you mean 'pollTimeoutMs'\?"):
        catalog_settings(URL, polTimeoutMs=1)
    with pytest.raises(OptionError, match=r"'service\.url' and 'Service\.Url' have the same meaning"):
        catalog_settings(URL, options={"Service.Url": URL})
    with pytest.raises(OptionError, match="'serviceUrl'"):
        catalog_settings(URL, serviceUrl=URL)
    for name in ("a.b", "", "spark_catalog", "a b"):
        with pytest.raises(OptionError, match="expected a name of letters"):
            catalog_settings(URL, catalog=name)
    secret = "s3cr3t"
    with pytest.raises(OptionError) as caught:
        catalog_settings(URL, options={"pulsar.client.authParams": secret})
    assert secret not in str(caught.value)
    # The rest may be in spark-defaults.conf.
    assert catalog_settings() == {PREFIX: CLASS}


def test_the_environment_selects_the_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/env/python")
    assert settings_of(configure(builder(), URL))["spark.pyspark.python"] == "/env/python"
    assert settings_of(configure(builder(), URL))[f"{PREFIX}.python"] == sys.executable


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ("--jars a.jar pyspark-shell", "--jars a.jar,{jar} pyspark-shell"),
        ("--jars=a.jar,b.jar pyspark-shell", "--jars=a.jar,b.jar,{jar} pyspark-shell"),
        ("--conf spark.jars=a.jar pyspark-shell", "--conf spark.jars=a.jar,{jar} pyspark-shell"),
        ("--conf=spark.jars=a.jar pyspark-shell", "--conf=spark.jars=a.jar,{jar} pyspark-shell"),
        ("--driver-memory 2g pyspark-shell", "--driver-memory 2g pyspark-shell"),
    ],
)
def test_jars_of_submit_arguments(
    arguments: str, changed: str, jar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    for _ in range(2):
        found = settings_of(configure(builder(), URL))
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == changed.format(jar=jar)
    assert found["spark.jars"].split(",") == [*re.findall(r"[ab]\.jar", arguments), jar]


def test_settings_outside_of_the_program_are_added_to(
    jar: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# a comment\nspark.sql.extensions   io.delta.X\nspark.jars=d.jar\n\nspark.app.name  two words \n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = settings_of(configure(builder(), URL))
    assert found["spark.sql.extensions"] == f"io.delta.X,{EXTENSIONS}"
    assert found["spark.jars"] == f"d.jar,{jar}"
    assert "spark.app.name" not in found
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.extensions=E pyspark-shell")
    assert settings_of(configure(builder(), URL))["spark.sql.extensions"] == f"E,{EXTENSIONS}"


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_connect_client_gets_the_catalogs_settings_alone(
    by_variable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = builder()
    if by_variable:
        monkeypatch.setenv("SPARK_REMOTE", "sc://h")
    else:
        made.remote("sc://h")
    found = settings_of(configure(made, URL))
    found.pop("spark.remote", None)
    assert found == {PREFIX: CLASS, f"{PREFIX}.service.url": URL}
    assert "PYSPARK_PYTHON" not in os.environ


def test_a_connect_server_that_starts_here_gets_all(jar: str) -> None:
    found = settings_of(configure(builder().remote("local[2]"), URL))
    assert found["spark.jars"] == jar


def test_a_session_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    running_session(monkeypatch)
    with pytest.raises(
        SessionStarted, match="a Spark session runs without the extension of the catalog pulsar"
    ):
        configure(builder(), URL)
    configure(builder().remote("sc://h"), URL)
    extended = {"spark__sql__extensions": f"other.X,{EXTENSIONS}"}
    running_session(monkeypatch, **extended)
    configure(builder(), URL)
    has = extended | {"spark__sql__catalog__pulsar": CLASS, "spark__sql__catalog__pulsar__service__url": URL}
    running_session(monkeypatch, **has)
    configure(builder(), URL)
    for made in (builder(), builder().remote("sc://h")):
        with pytest.raises(SessionStarted, match=r"other values of spark.sql.catalog.pulsar.service.url:"):
            configure(made, "pulsar://other:6650")


def test_a_jvm_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_has_jvm", lambda: True)
    monkeypatch.setattr(environment, "_jvm_has", lambda _: False)
    with pytest.raises(SessionStarted, match="Spark's JVM runs without the catalog's jar"):
        configure(builder(), URL)


def test_a_package_without_its_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(configure_module, "__file__", str(tmp_path / "session" / "configure.py"))
    with pytest.raises(PrerequisiteMissing, match="pip install"):
        catalog_jar()


def test_one_function_returns_all_settings(jar: str) -> None:
    found = session_conf(URL, python="/there/python", present={"spark.jars": "a.jar"})
    assert found["spark.jars"] == f"a.jar,{jar}"
    assert found["spark.pyspark.python"] == found[f"{PREFIX}.python"] == "/there/python"


def test_secrets_are_not_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A builder's settings are `--conf` of the JVM that it starts; a file is not."""
    (tmp_path / "spark-defaults.conf").write_text("spark.app.name mine")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    secret = "token:a\\b"
    settings = {"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": secret}
    made = configure(builder(), URL, options=settings)
    other = configure(made, URL, catalog="other", options={"tieredStorageSecrets": '{"account_key": "k"}'})
    assert not [value for value in settings_of(other).values() if "a\\b" in value or "account_key" in value]
    words = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert (words[0], words[-1], len(words)) == ("--properties-file", "pyspark-shell", 3)
    assert (Path(words[1]).stat().st_mode & 0o077) == 0
    lines = Path(words[1]).read_text().splitlines()
    assert "spark.app.name mine" in lines
    assert f"{PREFIX}.pulsar.client.authParams token:a\\\\b" in lines
    assert 'spark.sql.catalog.other.tieredStorageSecrets {"account_key": "k"}' in lines


def test_what_only_says_where_a_secret_is_stays_with_the_builder() -> None:
    settings = {"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": "file:///t"}
    assert (
        settings_of(configure(builder(), URL, options=settings))[f"{PREFIX}.pulsar.client.authParams"]
        == "file:///t"
    )
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ
