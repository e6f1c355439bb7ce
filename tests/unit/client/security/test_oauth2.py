"""Tokens from an identity provider: the requests, how long a token is kept, and refusals."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures.certificates import Authority
from fixtures.identity_provider import Client, IdentityProvider, TokenKey

from pyspark_pulsar.client.security import oauth2
from pyspark_pulsar.client.security.oauth2 import OAuth2Flow, access_token
from pyspark_pulsar.errors import ConnectionFailed, OptionError, PermissionDenied, ProtocolError, TlsFailed

CLIENTS = {"spark": Client("worker", "sesame")}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> TokenKey:
    return TokenKey(tmp_path_factory.mktemp("key"))


@pytest.fixture
def provider(key: TokenKey) -> Iterator[IdentityProvider]:
    with IdentityProvider(key, CLIENTS) as server:
        yield server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """`clock(seconds)` lets time pass."""
    passed = [1000.0]
    monkeypatch.setattr(oauth2.time, "monotonic", lambda: passed[0])

    def pass_time(seconds: float) -> None:
        passed[0] += seconds

    return pass_time


@pytest.fixture
def flow(provider: IdentityProvider, tmp_path: Path) -> OAuth2Flow:
    return OAuth2Flow(provider.url, key_file(tmp_path, "sesame"), "urn:pulsar", "read write")


def key_file(folder: Path, secret: str) -> str:
    file = folder / "client.json"
    file.write_text(json.dumps({"type": "client_credentials", "client_id": "spark", "client_secret": secret}))
    return f"file://{file}"


def subject(token: str) -> str:
    part = token.split(".")[1]
    return str(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["sub"])


def test_a_request_holds_the_grant_and_the_client(provider: IdentityProvider, flow: OAuth2Flow) -> None:
    assert subject(access_token(flow)) == "worker"
    assert provider.asked == [
        {
            "grant_type": "client_credentials",
            "client_id": "spark",
            "client_secret": "sesame",
            "audience": "urn:pulsar",
            "scope": "read write",
        }
    ]


def test_all_threads_share_one_request_for_a_token(provider: IdentityProvider, flow: OAuth2Flow) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: access_token(flow), range(32)))
    assert len(tokens) == 1
    assert len(provider.asked) == 1


def test_a_token_is_renewed_before_it_ends(
    provider: IdentityProvider, flow: OAuth2Flow, clock: Callable[[float], None]
) -> None:
    first = access_token(flow)
    clock(0.89 * provider.token_seconds)
    assert access_token(flow) == first
    clock(0.02 * provider.token_seconds)
    assert access_token(flow) != first


def test_a_challenge_renews_unless_that_was_just_now(
    flow: OAuth2Flow, clock: Callable[[float], None]
) -> None:
    first = access_token(flow)
    assert access_token(flow, renew=True) == first
    clock(2)
    assert access_token(flow, renew=True) != first


def test_a_provider_that_is_away_for_a_while(
    provider: IdentityProvider,
    flow: OAuth2Flow,
    clock: Callable[[float], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = access_token(flow)
    provider.failing = True
    clock(0.95 * provider.token_seconds)
    with caplog.at_level(logging.WARNING):
        assert access_token(flow) == first
    assert "until it expires, because its renewal failed" in caplog.text
    clock(0.06 * provider.token_seconds)
    with pytest.raises(ConnectionFailed, match="503"):
        access_token(flow)
    provider.failing = False
    assert access_token(flow) != first


def test_a_wrong_secret_is_no_passing_failure(flow: OAuth2Flow, tmp_path: Path) -> None:
    key_file(tmp_path, "open barley")
    with pytest.raises(
        PermissionDenied, match=r"401: invalid_client: the secret is another one; check"
    ) as caught:
        access_token(flow)
    assert "barley" not in str(caught.value)
    key_file(tmp_path, "sesame")
    assert subject(access_token(flow)) == "worker"


@pytest.mark.parametrize(
    "content", ["sesame", '{"client_id": "spark", "client_secrets": "sesame"}', '["sesame"]']
)
def test_a_file_of_another_kind_is_not_shown(flow: OAuth2Flow, tmp_path: Path, content: str) -> None:
    (tmp_path / "client.json").write_text(content)
    with pytest.raises(OptionError, match=r"client\.json, got something else \(not shown\)") as caught:
        access_token(flow)
    assert "sesame" not in str(caught.value)


def test_a_missing_file(flow: OAuth2Flow, tmp_path: Path) -> None:
    (tmp_path / "client.json").unlink()
    with pytest.raises(
        OptionError, match=r"client\.json on each machine that connects, got none \(No such file"
    ):
        access_token(flow)


@pytest.mark.parametrize("form", ["data:application/json;base64,{}", "data:application/json,{}"])
def test_id_and_secret_inline(flow: OAuth2Flow, form: str) -> None:
    document = '{"client_id":"spark","client_secret":"sesame"}'
    inline = base64.b64encode(document.encode()).decode() if "base64" in form else document
    assert subject(access_token(replace(flow, private_key=form.format(inline)))) == "worker"
    with pytest.raises(OptionError, match="in the file of privateKey"):
        access_token(replace(flow, private_key="data:application/json;base64,?"))


def test_a_provider_that_does_not_answer_fails_the_request(flow: OAuth2Flow) -> None:
    with pytest.raises(ConnectionFailed, match="identity provider cannot be reached"):
        access_token(replace(flow, issuer="http://127.0.0.1:1"))


def test_an_address_of_something_else(flow: OAuth2Flow) -> None:
    with pytest.raises(ProtocolError, match="404"):
        access_token(replace(flow, issuer=f"{flow.issuer}/elsewhere"))


def test_over_tls(key: TokenKey, flow: OAuth2Flow, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.server("provider", ("127.0.0.1",))
    with IdentityProvider(key, CLIENTS, certificate=(own.certificate, own.key)) as provider:
        trusting = replace(flow, issuer=provider.url, trust_certs=authority.trust)
        assert subject(access_token(trusting)) == "worker"
        with pytest.raises(TlsFailed, match=r"trustCertsFilePath in pulsar\.client\.authParams"):
            access_token(replace(trusting, trust_certs=None))
