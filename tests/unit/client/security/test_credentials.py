"""Credentials that the plugins make of `authParams`, without secrets in any output."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import pytest

from pyspark_pulsar.client.security.context import security_of
from pyspark_pulsar.client.security.credentials import (
    certificate_files,
    credentials_of,
    user_and_password,
)
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ConnectionOptions, ReadOptions, parse_options

SECRET = "eyJhbGciOi.c2VjcmV0.c2ln"
JAVA = "org.apache.pulsar.client.impl.auth."


def options(plugin: str, params: str | None = None, **more: str) -> ConnectionOptions:
    given = {"service.url": "pulsar+ssl://a:1", "pulsar.client.authPluginClassName": plugin}
    if params is not None:
        given["pulsar.client.authParams"] = params
    return parse_options(
        ConnectionOptions, given | {f"pulsar.client.{key}": text for key, text in more.items()}
    )


@pytest.mark.parametrize("plugin", ["token", f"{JAVA}AuthenticationToken"])
@pytest.mark.parametrize("params", [f"token:{SECRET}", json.dumps({"token": SECRET}), f" token: {SECRET}\n"])
def test_a_token_in_the_option(plugin: str, params: str) -> None:
    credentials = credentials_of(options(plugin, params))
    assert (credentials.method, credentials.data()) == ("token", SECRET.encode())
    assert credentials.headers() == {
        "Authorization": f"Bearer {SECRET}",
        "X-Pulsar-Auth-Method-Name": "token",
    }


@pytest.mark.parametrize("form", ["file:{}", "file://{}"])
def test_a_token_in_a_file_is_read_each_time(tmp_path: Path, form: str) -> None:
    file = tmp_path / "my token"
    credentials = credentials_of(options("token", form.format(str(file).replace(" ", "%20"))))
    for token in ("first", "second"):
        file.write_text(f"{token}\n")
        assert credentials.data() == token.encode()
    file.unlink()
    with pytest.raises(OptionError, match=r"my token on each machine .*No such file"):
        credentials.data()
    file.write_text("\n")
    with pytest.raises(OptionError, match="an empty file"):
        credentials.data()


def test_a_token_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = credentials_of(options("token", "env:THE_TOKEN"))
    with pytest.raises(OptionError, match="environment variable THE_TOKEN"):
        credentials.data()
    monkeypatch.setenv("THE_TOKEN", SECRET)
    assert credentials.data() == SECRET.encode()


@pytest.mark.parametrize("token", ["two words", "line\r\nX-Header: 1", "ünicode", "nul\0"])
def test_an_invalid_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(OptionError, match="one token without spaces") as caught:
        credentials_of(options("token", f"token:{token}")).headers()
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    "params",
    ['{"userId": "amy", "password": "p:w"}', '{"username": "amy", "password": "p:w"}'],
)
def test_user_and_password(params: str) -> None:
    credentials = credentials_of(options(f"{JAVA}AuthenticationBasic", params))
    assert (credentials.method, credentials.data()) == ("basic", b"amy:p:w")
    assert credentials.headers()["Authorization"] == "Basic " + base64.b64encode(b"amy:p:w").decode()


def test_user_and_password_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "amy.json"
    file.write_text('{"userId": "amy", "password": "first"}')
    credentials = credentials_of(options("basic", f"file://{file}"))
    assert credentials.data() == b"amy:first"
    file.write_text("amy:second")
    assert credentials.data() == b"amy:second"


@pytest.mark.parametrize(
    ("plugin", "params", "wanted"),
    [
        ("token", None, "parameters for the plugin in authPluginClassName"),
        ("basic", None, "parameters for the plugin in authPluginClassName"),
        ("token", "sesame", "begins with none of these prefixes"),
        ("basic", "sesame", "userId"),
        ("basic", "amy:sesame", "userId"),
        ("basic", '{"userId": "amy", "passwort": "sesame"}', "a text for 'password'"),
        ("token", '{"tokens": "sesame"}', "a text for 'token'"),
        ("oauth2", "sesame", "issuerUrl"),
        ("oauth2", '{"type": "password", "issuerUrl": "https://sesame"}', "with AuthenticationOAuth2"),
        ("oauth2", '{"issuerUrl": "ftp://sesame", "privateKey": "/k"}', "https://host in issuerUrl"),
        ("oauth2", '{"issuerUrl": "https://a:sesame@b", "privateKey": "/k"}', "https://host in issuerUrl"),
        ("oauth2", '{"issuerUrl": "https://host", "audience": "sesame"}', "a text for 'privateKey'"),
    ],
)
def test_parameters_that_are_not_understood_are_not_shown(
    plugin: str, params: str | None, wanted: str
) -> None:
    with pytest.raises(OptionError, match=wanted) as caught:
        credentials_of(options(plugin, params))
    assert "sesame" not in str(caught.value)


def test_an_unknown_plugin_is_refused_with_the_known_names() -> None:
    with pytest.raises(OptionError, match=r"AuthenticationToken \(token\).*AuthenticationOAuth2 \(oauth2\)"):
        options(f"{JAVA}AuthenticationAthenz", "{}")


def test_parameters_without_a_plugin() -> None:
    with pytest.raises(
        OptionError, match="authPluginClassName' is missing: expected it together with"
    ) as caught:
        parse_options(ConnectionOptions, {"service.url": "pulsar://a:1", "pulsar.client.authParams": SECRET})
    assert SECRET not in str(caught.value)


def test_without_a_plugin_there_are_no_credentials() -> None:
    credentials = credentials_of(parse_options(ConnectionOptions, {"service.url": "pulsar://a:1"}))
    assert (credentials.method, credentials.data(), credentials.headers()) == ("none", b"", {})


@pytest.mark.parametrize(
    "params",
    ["tlsCertFile:/c.pem,tlsKeyFile:/k.pem", '{"tlsCertFile": "/c.pem", "tlsKeyFile": "file:///k.pem"}'],
)
def test_certificate_of_the_plugin(params: str) -> None:
    given = options("tls", params, tlsCertificateFilePath="/other.pem", tlsKeyFilePath="/other-key.pem")
    assert certificate_files(given) == ("/c.pem", "/k.pem")
    assert credentials_of(given).method == "tls"


def test_certificate_of_the_tls_options() -> None:
    files = {"tlsCertificateFilePath": "/c.pem", "tlsKeyFilePath": "/k.pem"}
    assert certificate_files(options("tls", **files)) == ("/c.pem", "/k.pem")
    assert certificate_files(options("token", f"token:{SECRET}", **files)) == ("/c.pem", "/k.pem")
    assert certificate_files(options("token", f"token:{SECRET}")) is None
    with pytest.raises(OptionError, match="tlsCertificateFilePath"):
        certificate_files(options("tls"))
    with pytest.raises(OptionError, match="tlsKeyFilePath' is missing"):
        options("tls", tlsCertificateFilePath="/c.pem")


@pytest.mark.parametrize(
    ("plugin", "params"),
    [
        ("token", f"token:{SECRET}"),
        ("basic", json.dumps({"userId": "amy", "password": SECRET})),
        ("oauth2", json.dumps({"issuerUrl": "https://a", "privateKey": f"data:,{SECRET}"})),
    ],
)
def test_no_representation_shows_a_secret(plugin: str, params: str) -> None:
    given = parse_options(
        ReadOptions,
        {
            "service.url": "pulsar+ssl://a:1",
            "topic": "t",
            "pulsar.client.authPluginClassName": plugin,
            "pulsar.client.authParams": params,
        },
    )
    security = security_of(given)
    for shown in (repr(given), str(given), repr(security), repr(security.credentials)):
        assert SECRET not in shown
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize("key", ["service.url", "admin.url"])
def test_a_password_in_a_url_is_refused_and_not_shown(key: str) -> None:
    scheme = "pulsar" if key == "service.url" else "http"
    given = {"service.url": "pulsar://a:1", key: f"{scheme}://amy:sesame@host:1"}
    with pytest.raises(OptionError, match=key) as caught:
        parse_options(ConnectionOptions, given)
    assert "sesame" not in str(caught.value)


def test_a_proxy_needs_tls_and_its_protocol() -> None:
    given = {"service.url": "pulsar+ssl://a:1", "pulsar.client.proxyServiceUrl": "pulsar+ssl://p:2"}
    with pytest.raises(OptionError, match="proxyProtocol' is missing"):
        parse_options(ConnectionOptions, given)
    given["pulsar.client.proxyProtocol"] = "SNI"
    proxy = security_of(parse_options(ConnectionOptions, given)).proxy
    assert proxy is not None
    assert (proxy.host, proxy.port) == ("p", 2)
    with pytest.raises(OptionError, match=r"expected service\.url to begin with pulsar\+ssl://"):
        parse_options(ConnectionOptions, given | {"service.url": "pulsar://a:1"})


@pytest.mark.parametrize("content", ["", " \n", None])
def test_errors_about_a_file_name_the_option_that_names_it(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    with pytest.raises(OptionError, match=r"^option 'bookieAuthParams': expected .*secret"):
        user_and_password(f"file://{file}", "option 'bookieAuthParams'")
