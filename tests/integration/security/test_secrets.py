"""Secret options: none appears in what Spark writes, logs, explains, shows or keeps."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pulsar
import pytest
from click.testing import CliRunner
from fixtures.secured_pulsar import WORKER, SecuredPulsar
from integration.official import open_client

from pyspark_pulsar.options import ReadOptions, WriteOptions, parse_options, secret_keys
from pyspark_pulsar.tools.cli import cli

_PROGRAM = Path(__file__).parents[2] / "programs" / "secret_queries.py"
_PLUGIN, _PARAMS = "pulsar.client.authPluginClassName", "pulsar.client.authParams"
_KEYS = "cryptoKeyReader"
_PEM = "-----BEGIN PRIVATE KEY-----\nopen {}\n-----END PRIVATE KEY-----"


class Planted:
    """A different secret in each option that may hold one, in each possible form."""

    def __init__(self, token: str, folder: Path) -> None:
        """Plant secrets in all options, with the topics' tables in `folder`."""
        self.words = [token]
        tables = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/tables",
            "s3.secret-access-key": self._word("buckwheat"),
        }
        self.options = {
            "tierCatalog": json.dumps(tables),
            "tierCatalogSecrets": json.dumps({"credential": f"spark:{self._word('quinoa')}"}),
            "tieredStorageSecrets": json.dumps({"account_key": self._word("rye")}),
            "tieredStorageOptions": json.dumps({"secret_access_key": self._word("oats")}),
        }
        login = {"username": "u", "password": self._word("sorghum")}
        self.options["bookkeeperClientAuthenticationPlugin"] = "sasl"
        self.options["bookkeeperClientAuthenticationParameters"] = json.dumps(login)
        key = base64.b64encode(b'{"client_id": "spark", "client_secret": "open wheat"}').decode()
        self.words += ["open wheat", key]
        oauth2 = {"issuerUrl": "http://127.0.0.1:1", "privateKey": f"data:application/json;base64,{key}"}
        basic = {"userId": WORKER, "password": self._word("barley")}
        self.others = [
            {_PLUGIN: "basic", _PARAMS: json.dumps(basic)},
            {_PLUGIN: "oauth2", _PARAMS: json.dumps(oauth2), "pulsar.client.operationTimeoutMs": "2000"},
        ]
        """Each replaces what it names in `options`."""
        self.refused = [
            {"tieredStorageOptions": json.dumps({"account_key": self._word("millet")})},
            {"tieredStorageOptions": json.dumps({"proxy_url": f"http://u:{self._word('teff')}@h"})},
            {"tierCatalog": json.dumps({"type": "rest", "credential": f"spark:{self._word('fonio')}"})},
            {
                "tierCatalog": json.dumps(
                    {"type": "sql", "uri": f"postgresql://u:{self._word('amaranth')}@h/d"}
                )
            },
            {"tieredStorageUrl": f"s3://{self._word('spelt')}@bucket"},
            {"tieredStorageUrl": f"az://container?sig={self._word('durum')}"},
            {"pulsar.client.tlsKeyFilePath": _PEM.format(self._word("emmer"))},
            {"bookkeeperTLSKeyFilePath": _PEM.format(self._word("einkorn"))},
        ]
        """Options that only a session from `configure` treats as secrets, because Spark itself does not."""
        for side in ("consumer", "reader"):
            inline = _PEM.format(self._word(f"corn of a {side}"))
            self.refused += [
                {f"pulsar.{side}.{_KEYS}.defaultPrivateKey": f"data:;base64,{inline}"},
                {f"pulsar.{side}.{_KEYS}.privateKeys": json.dumps({"k": inline})},
            ]

    def _word(self, word: str) -> str:
        self.words.append(f"open {word}")
        return self.words[-1]

    def keys(self) -> set[str]:
        return {key for each in (self.options, *self.others, *self.refused) for key in each}


def test_every_option_with_secrets_is_planted(tmp_path: Path) -> None:
    assert set(secret_keys(ReadOptions, WriteOptions)) - Planted("", tmp_path).keys() == set()


@pytest.mark.parametrize("configured", ["configured", ""])
def test_no_file_log_page_or_plan_of_spark_shows_a_secret(
    configured: str, secured: SecuredPulsar, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    token = secured.token(WORKER)
    planted = Planted(token, tmp_path)
    options = secured.options(WORKER) | {_PARAMS: f"token:{token}"} | planted.options
    # The options have the last value of each; one view has all of them, because each view starts a process.
    refused = {key: text for each in reversed(planted.refused) for key, text in each.items()}
    others = [*planted.others, refused] if configured else planted.others
    command = [
        sys.executable,
        str(_PROGRAM),
        json.dumps(options),
        json.dumps(others),
        topic,
        str(tmp_path),
        configured,
    ]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    for said in ("done", "on purpose", "AuthenticationError", "identity provider", "did you mean"):
        assert said in ran.stdout
    if configured:
        for said in (
            "rows of the table: 3",
            "TABLE_OR_VIEW_NOT_FOUND",
            "not shown, because it may hold secrets",
        ):
            assert said in ran.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts for path in files)
    assert any("checkpoint" in path.parts for path in files) == (not configured)
    assert any(path.name.startswith("arguments-") for path in files)
    (tmp_path / "printed").write_text(ran.stdout)
    shown = {
        (word, path.relative_to(tmp_path).as_posix())
        for path in [*files, tmp_path / "printed"]
        for word in planted.words
        if word.encode() in path.read_bytes()
    }
    assert shown == set()


def test_commands_and_objects_show_no_secret(
    secured: SecuredPulsar, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = secured.token(WORKER)
    planted = Planted(token, tmp_path)
    given = secured.options(WORKER, admin=True) | {_PARAMS: f"token:{token}"} | planted.options
    secured.request("PUT", f"{topic.replace('://', '/')}")
    shown = repr(parse_options(ReadOptions, {**given, "topic": topic}))

    def run(*command: str, **changed: str) -> int:
        nonlocal shown
        arguments = [f"--option={key}={value}" for key, value in {**given, **changed}.items()]
        ran = CliRunner().invoke(cli, [*command, topic, *arguments])
        shown += f"{ran.output}{ran.exception!r}"
        return ran.exit_code

    for command in (
        ["plan"],
        ["plan", "--json"],
        ["segments"],
        ["segments", "--json"],
        ["segments", "--html", "page"],
    ):
        assert run(*command) == 0, shown
    for changed in (*planted.others, *planted.refused):
        assert run("plan", **changed) != 0, changed
    shown += _tiered(planted, given, secured, topic, tmp_path)
    shown += "".join(
        path.read_text() for path in tmp_path.iterdir() if path.suffix != ".db" and path.is_file()
    )
    assert [word for word in planted.words if word in shown] == []


def _tiered(planted: Planted, given: dict[str, str], secured: SecuredPulsar, topic: str, folder: Path) -> str:
    """Return the output of tier commands, and the contents of the folder with the topic's table."""
    given = dict(given)
    catalog = folder / "catalog.json"
    catalog.write_text(
        json.dumps(json.loads(given.pop("tierCatalog")) | json.loads(given.pop("tierCatalogSecrets")))
    )
    addresses = [f"--service-url={given.pop('service.url')}", f"--admin-url={given.pop('admin.url')}"]
    arguments = [*addresses, *(f"--option={key}={text}" for key, text in given.items())]
    client = open_client(
        secured.service_url, authentication=pulsar.AuthenticationToken(secured.token(WORKER))
    )
    try:
        producer = client.create_producer(topic)
        for number in range(5):
            producer.send(f"{number}".encode())
    finally:
        client.close()
    secured.request("PUT", f"{topic.replace('://', '/')}/unload")
    shown = ""
    for command in (["run"], ["run", "--json"], ["status"], ["status", "--json"], ["compact"]):
        ran = CliRunner().invoke(cli, ["tier", *command, topic, f"--catalog={catalog}", *arguments])
        assert ran.exit_code == 0, (command, ran.output)
        shown += ran.output
    away = json.dumps({"type": "rest", "uri": "http://127.0.0.1:1", "token": planted.words[-1]})
    ran = CliRunner().invoke(cli, ["tier", "run", topic, f"--catalog={away}", *arguments])
    assert ran.exit_code != 0
    shown += f"{ran.output}{ran.exception!r}"
    assert "5 rows in 1 file" in shown
    catalog.unlink()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".parquet" for path in files)
    return shown + "".join(path.read_bytes().decode("latin-1") for path in files)
