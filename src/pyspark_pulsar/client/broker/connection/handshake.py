"""The handshake on a connection: CONNECT, the broker's answer, and later answers to authentication challenges.

Protocol: the binary protocol specification, section "Connection establishment".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from pyspark_pulsar.client.broker.connection.commands import (
    AUTH_CHALLENGE,
    AUTH_RESPONSE,
    CONNECT,
    CONNECTED,
    ERROR,
    frame,
)
from pyspark_pulsar.client.broker.connection.server_error import AUTHENTICATION_ERROR, server_error
from pyspark_pulsar.client.broker.connection.transport import DEFAULT_MAX_MESSAGE_BYTES, Transport
from pyspark_pulsar.client.security.credentials import Credentials
from pyspark_pulsar.client.security.tls import connection_fault
from pyspark_pulsar.client.security.token_claims import expiry_hint
from pyspark_pulsar.client.time_limit import within
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, ProtocolError
from pyspark_pulsar.runtime import time

PROTOCOL_VERSION = 21
_MAX_CHALLENGES = 5
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class BrokerLimits:
    """Limits and features that a broker reports in CONNECTED."""

    max_message_bytes: int
    knows_scalable_topics: bool
    """True if the broker supports scalable topics. Other brokers close the connection after a scalable topic
    command."""


def shake_hands(transport: Transport, deadline: float, credentials: Credentials, data: bytes) -> BrokerLimits:
    """Run the handshake, and set the transport's message size limit to the limit of the broker.

    Args:
        transport: The connected transport. After an error, the transport is unusable.
        deadline: The time at which the last wait for the broker ends, on the clock of `time.monotonic`.
        credentials: The credentials for authentication challenges.
        data: The data of the credentials for CONNECT.

    Raises:
        ConnectionFailed: The broker closed the connection, or did not answer in time.
        TlsFailed: TLS failed.
        PermissionDenied: The broker refuses the credentials.
        ProtocolError: The broker answered with an unexpected command.

    """
    connect = _connect_command(transport, credentials, data)
    _send(transport, wire.BaseCommand(type=CONNECT, connect=connect), deadline)
    answer = _first_command(transport, deadline)
    for _ in range(_MAX_CHALLENGES):
        if answer.type != AUTH_CHALLENGE:
            break
        _send(transport, auth_response(credentials, _seconds_left(deadline)), deadline)
        answer = _first_command(transport, deadline)
    if answer.type == ERROR:
        message = answer.error.message.strip()
        if answer.error.error == AUTHENTICATION_ERROR:
            message += expiry_hint(data)
        raise server_error(answer.error.error, message, f"connecting to {transport.address}")
    if answer.type != CONNECTED:
        raise ProtocolError(
            f"{transport.address}: expected CONNECTED, got command type {answer.type}; check service.url"
        )
    limit, flags = answer.connected.max_message_size, answer.connected.feature_flags
    if limit > 0:
        transport.limit_messages(limit)
    return BrokerLimits(limit if limit > 0 else DEFAULT_MAX_MESSAGE_BYTES, flags.supports_scalable_topics)


def auth_response(credentials: Credentials, seconds: float) -> wire.BaseCommand:
    """Return the answer to AUTH_CHALLENGE. A broker sends this challenge to get a token that has not expired.

    Args:
        credentials: The credentials to renew.
        seconds: Time limit for the renewal, in seconds.

    Raises:
        DeadlineExceeded: The renewal takes longer than `seconds`.
        PulsarError: The renewal failed. `Credentials.data` lists the error classes.

    """
    data = within(seconds, lambda: credentials.data(renew=True), "renewing the credentials of authParams")
    response = wire.CommandAuthResponse(
        client_version=_client_version(),
        protocol_version=PROTOCOL_VERSION,
        response=wire.AuthData(auth_method_name=credentials.method, auth_data=data),
    )
    return wire.BaseCommand(type=AUTH_RESPONSE, authResponse=response)


def _connect_command(transport: Transport, credentials: Credentials, data: bytes) -> wire.CommandConnect:
    connect = wire.CommandConnect(
        client_version=_client_version(),
        protocol_version=PROTOCOL_VERSION,
        auth_method_name=credentials.method,
        feature_flags=wire.FeatureFlags(
            supports_auth_refresh=True,
            supports_broker_entry_metadata=True,
            supports_partial_producer=True,
            supports_get_partitioned_metadata_without_auto_creation=True,
        ),
    )
    if data:
        connect.auth_data = data
    if transport.address.proxy_to:
        connect.proxy_to_broker_url = transport.address.proxy_to
    return connect


def _seconds_left(deadline: float) -> float:
    return max(_LEAST_SECONDS, deadline - time.monotonic())


def _send(transport: Transport, command: wire.BaseCommand, deadline: float) -> None:
    try:
        transport.wait_at_most(_seconds_left(deadline))
        transport.send(frame(command))
    except OSError as fault:
        raise connection_fault(f"{transport.address}: the connection broke while sending", fault) from fault


def _first_command(transport: Transport, deadline: float) -> wire.BaseCommand:
    while True:
        try:
            transport.wait_at_most(_seconds_left(deadline))
            data = transport.receive()
            if time.monotonic() > deadline + _LEAST_SECONDS:
                raise TimeoutError("timed out")
        except OSError as fault:
            raise connection_fault(f"{transport.address}: no answer to CONNECT", fault) from fault
        if not data:
            raise ConnectionFailed(
                f"{transport.address}: the server closed the connection during the handshake; check that service.url "
                f"names a port for its protocol: pulsar:// (6650 by default), or pulsar+ssl:// (6651) for TLS"
            )
        commands = transport.commands(data)
        if commands:
            return wire.BaseCommand.FromString(commands[0])


@cache
def _client_version() -> str:
    """Return the name and version of this package. The result is cached, because reading the version takes 5 ms."""
    try:
        return f"pyspark-pulsar-{version('pyspark-pulsar')}"
    except PackageNotFoundError:
        return "pyspark-pulsar"
