"""Tokens end while queries run: the broker asks again, and the same connection goes on with a new one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from fixtures.identity_provider import Client, IdentityProvider
from fixtures.secured_pulsar import NAMESPACE, REFRESH_CHECK_SECONDS, WORKER, SecuredPulsar
from integration.official import await_true

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ConnectionOptions, parse_options

# Three clients connect meanwhile.
_LIFE_SECONDS = 30
_TOPIC = TopicName.parse(f"persistent://{NAMESPACE}/no-such-topic")


def _client(secured: SecuredPulsar, plugin: str, params: str) -> BrokerClient:
    given = {
        "service.url": secured.service_url,
        "pulsar.client.authPluginClassName": plugin,
        "pulsar.client.authParams": params,
    }
    return BrokerClient(parse_options(ConnectionOptions, given))


def test_tokens_that_end_are_renewed_on_the_same_connection(secured: SecuredPulsar, tmp_path: Path) -> None:
    renewed, left, key = tmp_path / "renewed.jwt", tmp_path / "left.jwt", tmp_path / "client.json"
    for file in (renewed, left):
        file.write_text(secured.token(WORKER, seconds=_LIFE_SECONDS))
    key.write_text(json.dumps({"client_id": "spark", "client_secret": "sesame"}))
    provider = IdentityProvider(secured.key, {"spark": Client(WORKER, "sesame")}, token_seconds=_LIFE_SECONDS)
    with (
        provider,
        _client(secured, "token", f"file://{renewed}") as from_file,
        _client(secured, "token", f"file://{left}") as forgotten,
        _client(
            secured, "oauth2", json.dumps({"issuerUrl": provider.url, "privateKey": f"file://{key}"})
        ) as from_provider,
    ):
        kept = [each.service_connection() for each in (from_file, from_provider)]
        lost = forgotten.service_connection()
        renewed.write_text(secured.token(WORKER, seconds=3600))
        # Two tokens end, the broker asks for another one after each, and looks whether it has got one.
        await_true(
            "a third token, and the end of the connection whose token is not renewed",
            lambda: len(provider.asked) >= 3 and not lost.is_open,
            240,
        )
        time.sleep(REFRESH_CHECK_SECONDS)
        assert [each.is_open for each in kept] == [True, True]
        for client, connection in zip((from_file, from_provider), kept, strict=True):
            assert client.schema(_TOPIC) is None
            assert client.service_connection() is connection
        assert len(provider.asked) >= 3
        assert not lost.is_open
        with pytest.raises(PermissionDenied, match="the token ended at"):
            forgotten.schema(_TOPIC)
