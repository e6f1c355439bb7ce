"""A cache of the tokens that an OAuth 2.0 identity provider issues for a client id and secret.

If the cached token is missing or old, a process sends one request for all its tasks.

Source: RFC 6749, section 4.4. OpenID Connect Discovery defines the provider's addresses. The file with the client id
and secret has the format of Pulsar's Java client (`KeyFile`).
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError, SSLError as Urllib3SslError

from pyspark_pulsar.client.security.tls import OptionNames, certificate_fault, trusting_context
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    OptionError,
    PermissionDenied,
    ProtocolError,
)
from pyspark_pulsar.options.values.regular_file import read_regular_file
from pyspark_pulsar.runtime import Future, threading, time

_log: Final = logging.getLogger(__name__)

_CONNECT_SECONDS, _READ_SECONDS = 10.0, 30.0
_REQUEST_SECONDS: Final = 60.0
"""Maximum time for both requests to the provider together: for the configuration and for the token."""
_MOST_TOKENS: Final = 64
"""Maximum number of flows whose tokens this process caches. Each new secret is another flow and needs an entry."""
_FRESH_PART: Final = 0.9
"""Fraction of a token's lifetime after which this process renews the token, as Pulsar's Java client does."""
_UNKNOWN_LIFE_SECONDS: Final = 60.0
_JUST_NOW_SECONDS: Final = 1.0
"""Maximum age of a token that a renewal returns. Several connections often request a renewal at the same time."""
_ACCEPT: Final = {"Accept": "application/json"}
_OK: Final = 200
_REFUSED: Final = (400, 401, 403)
_PASSING: Final = 500
_SHOWN: Final = 300


@dataclass(frozen=True)
class OAuth2Flow:
    """The client credentials of an OAuth 2.0 flow.

    `private_key` is the location of the document with the client id and secret: a path or a `file:` URL. A `data:` URL
    contains the document itself.
    """

    issuer: str
    private_key: str = field(repr=False)
    audience: str = ""
    scope: str = ""
    trust_certs: str | None = None
    """Path of the certificates of authorities that can sign the provider's certificate. None trusts the system's
    authorities."""


@dataclass
class _CachedToken:
    lock: threading.Lock = field(default_factory=threading.Lock)
    token: str | None = field(default=None, repr=False)
    requested_at: float = 0.0
    received_at: float = 0.0
    lifetime: float = 0.0
    request: Future[str] | None = None
    """The request in progress, or None."""

    @property
    def age(self) -> float:
        return time.monotonic() - self.requested_at

    def serves(self, *, renew: bool) -> bool:
        if renew:
            return time.monotonic() - self.received_at < _JUST_NOW_SECONDS
        return self.age < _FRESH_PART * self.lifetime


_cached_tokens: Final[dict[OAuth2Flow, _CachedToken]] = {}
_cache_lock: Final = threading.Lock()


def access_token(flow: OAuth2Flow, *, renew: bool = False) -> str:
    """Return a token of the flow, from the cache or from the identity provider.

    If the provider is unreachable and `renew` is False, return the cached token until it expires.

    Args:
        flow: The client credentials.
        renew: True to request a new token, unless this process has received a token within the last second.

    Raises:
        OptionError: The file with the client id and secret cannot be used.
        PermissionDenied: The provider refuses the client id and secret.
        ConnectionFailed: The provider is unreachable. If the provider returned no token in time, the class is
            `DeadlineExceeded`.
        TlsFailed: TLS with the provider failed.
        ProtocolError: The provider's answer contains no usable token or address.

    """
    with _cache_lock:
        cached = _cached_tokens.pop(flow, None) or _CachedToken()
        while len(_cached_tokens) >= _MOST_TOKENS:
            del _cached_tokens[next(iter(_cached_tokens))]
        _cached_tokens[flow] = cached
    with cached.lock:
        if cached.token is not None and cached.serves(renew=renew):
            return cached.token
        if cached.request is None:
            cached.request = Future()
            threading.Thread(
                target=_renew, args=(flow, cached, cached.request), name="pulsar-token", daemon=True
            ).start()
        request = cached.request
    try:
        return request.result(_REQUEST_SECONDS)
    except TimeoutError:
        fault: ConnectionFailed = DeadlineExceeded(
            f"requesting a token from {flow.issuer}: expected an answer within {_REQUEST_SECONDS:.0f} s, got none; "
            f"check issuerUrl"
        )
    except ConnectionFailed as failed:
        fault = failed
    if renew or cached.token is None or cached.age >= cached.lifetime:
        raise fault
    _log.warning(
        "Using an old token until it expires, because its renewal failed (%s): %s", fault, flow.issuer
    )
    return cached.token


def _renew(flow: OAuth2Flow, cached: _CachedToken, request: Future[str]) -> None:
    """Request one token from the provider, for all threads that request a token before the provider answers."""
    requested_at = time.monotonic()
    try:
        token, lifetime = _request_token(flow)
    except BaseException as fault:  # noqa: BLE001 -- the waiting threads raise it
        with cached.lock:
            cached.request = None
        request.set_exception(fault)
        return
    with cached.lock:
        cached.token, cached.lifetime, cached.request = token, lifetime, None
        cached.requested_at, cached.received_at = requested_at, time.monotonic()
    request.set_result(token)


def _request_token(flow: OAuth2Flow) -> tuple[str, float]:
    """Request a new token. Return the token and its lifetime in seconds."""
    client_id, client_secret = _client(flow.private_key)
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
    form |= {name: value for name, value in (("audience", flow.audience), ("scope", flow.scope)) if value}
    with urllib3.PoolManager(
        timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        retries=urllib3.Retry(total=0, redirect=0),
        ssl_context=trusting_context(flow.trust_certs),
    ) as http:
        configuration = _request_json(http, "GET", f"{flow.issuer}/.well-known/openid-configuration", None)
        endpoint = configuration.get("token_endpoint")
        schemes = ("https",) if flow.issuer.startswith("https:") else ("https", "http")
        if not isinstance(endpoint, str) or urlsplit(endpoint).scheme not in schemes:
            raise ProtocolError(
                f"requesting a token from {flow.issuer}: expected the address of a token endpoint "
                f"({' or '.join(schemes)}), got none; check issuerUrl"
            )
        answer = _request_json(http, "POST", endpoint, form)
    token, lifetime = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(token, str) or not token:
        raise ProtocolError(
            f"requesting a token from {endpoint}: expected an access_token, got none; check issuerUrl"
        )
    try:
        return token, float(_UNKNOWN_LIFE_SECONDS if lifetime is None else lifetime)
    except (TypeError, ValueError):
        raise ProtocolError(
            f"requesting a token from {endpoint}: expected a number of seconds in expires_in, got another value; "
            f"check issuerUrl"
        ) from None


def _request_json(
    http: urllib3.PoolManager, method: str, url: str, form: dict[str, str] | None
) -> dict[str, Any]:
    where = f"requesting a token from {url}"
    try:
        if form is None:
            answer = http.request(method, url, headers=_ACCEPT)
        else:
            answer = http.request_encode_body(
                method, url, fields=form, encode_multipart=False, headers=_ACCEPT
            )
    except MaxRetryError as fault:
        raise _unreachable(where, fault.reason or fault) from None
    except HTTPError as fault:
        raise _unreachable(where, fault) from None
    try:
        document = json.loads(answer.data)
    except (ValueError, RecursionError):
        document = None
    if answer.status != _OK:
        text = f"{where}: the identity provider answered {answer.status}{_reason(document)}"
        if answer.status in _REFUSED:
            raise PermissionDenied(
                f"{text}; check these values in authParams: audience, scope, and the file of privateKey"
            )
        raise ConnectionFailed(text) if answer.status >= _PASSING else ProtocolError(text)
    if not isinstance(document, dict):
        raise ProtocolError(f"{where}: expected a JSON object, got another answer; check issuerUrl")
    return document


def _unreachable(where: str, fault: BaseException) -> Exception:
    cause = fault.args[0] if isinstance(fault, Urllib3SslError) and fault.args else None
    if isinstance(cause, ssl.SSLError):
        return certificate_fault(
            where, cause, OptionNames(trust="trustCertsFilePath in pulsar.client.authParams")
        )
    return ConnectionFailed(f"{where}: the identity provider cannot be reached: {fault}; check issuerUrl")


def _reason(document: Any) -> str:
    """Return the reason in the provider's answer, without the rest of the answer.

    RFC 6749 defines two fields for the reason: `error` and `error_description`.
    """
    if not isinstance(document, dict):
        return ""
    reasons = [document.get("error"), document.get("error_description")]
    text = ": ".join(reason.strip() for reason in reasons if isinstance(reason, str) and reason.strip())
    return f": {text[:_SHOWN]}" if text else ""


def _client(private_key: str) -> tuple[str, str]:
    """Read the client id and secret from the document. Error messages contain nothing of the document."""
    place = "the file of privateKey" if private_key.startswith("data:") else file_path(private_key)
    try:
        content = (
            _inline(private_key)
            if private_key.startswith("data:")
            else read_regular_file(file_path(private_key))
        )
        document = json.loads(content)
    except OSError as fault:
        raise OptionError(
            f"option 'pulsar.client.authParams': expected a readable file {place} on each machine that connects, got "
            f"none ({fault.strerror})"
        ) from None
    except (ValueError, RecursionError):
        document = None
    client = (
        [document.get(name) for name in ("client_id", "client_secret")] if isinstance(document, dict) else []
    )
    if len(client) != 2 or not all(isinstance(part, str) and part for part in client):  # noqa: PLR2004
        raise OptionError(
            f'option \'pulsar.client.authParams\': expected {{"client_id": "...", "client_secret": "..."}} in {place}, '
            f"got something else (not shown)"
        )
    return str(client[0]), str(client[1])


def _inline(url: str) -> bytes:
    """Decode a `data:` URL (RFC 2397). Raise ValueError if the URL is malformed."""
    kind, comma, data = url.partition(",")
    if not comma:
        raise ValueError
    try:
        return (
            base64.b64decode(unquote(data), validate=True)
            if kind.endswith(";base64")
            else unquote_to_bytes(data)
        )
    except binascii.Error:
        raise ValueError from None


def file_path(place: str) -> str:
    """Return the path of `/path`, `file:/path` or `file:///path`."""
    return unquote(urlsplit(place).path) if place.startswith("file:") else place
