"""Requests to the admin REST API: hosts, authentication, redirects, retries, and the meaning of each status.

The other modules of this package contain the resources, by subject. This module never logs an answer, because answers
about offloading contain secrets.

A request reads the credentials, and follows redirects to the broker that owns the topic. Each attempt uses the next
host of `admin.url`. After a temporary failure, the client pauses and tries again, with growing pauses, until the time
limit `patience_ms` ends. Temporary failures are a missing connection or answer, a status in `_PASSING`, and a topic
that moves to another broker.

    status                    result
    200, 204                  success
    one of `expected`         the answer to a change, whose meaning the caller knows
    401, 403                  `PermissionDenied`
    404                       `TopicNotFoundError`, also for missing resources that are not topics
    409, 429, 500, 502-504    `ConnectionFailed`: retried
    412 "Can't find owner"    `ConnectionFailed`: retried, because the bundle of the topic moves
    any other                 `ProtocolError`
"""

from __future__ import annotations

import itertools
import json
import re
import ssl
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urljoin

import urllib3
from urllib3.exceptions import (
    HTTPError,
    MaxRetryError,
    SSLError as Urllib3SslError,
    TimeoutError as Urllib3Timeout,
)

from pyspark_pulsar.client.admin.paths import check_path
from pyspark_pulsar.client.retries import retry
from pyspark_pulsar.client.security.context import tls_of
from pyspark_pulsar.client.security.credentials import credentials_of
from pyspark_pulsar.client.security.tls import connection_fault
from pyspark_pulsar.client.security.token_claims import expiry_hint
from pyspark_pulsar.client.time_limit import within
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    OptionError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.runtime import Future, ThreadPoolExecutor, threading, time

_REDIRECTS: Final = 20
_PIECE_BYTES: Final = 1 << 16
_OK, _NO_CONTENT = 200, 204
_UNKNOWN, _FORBIDDEN = 401, 403
_MOVED: Final = (301, 302, 303, 307, 308)
_NOT_FOUND: Final = 404
# A broker returns these statuses if it throttles requests, is starting, unloads the topic, or waits for metadata.
_PASSING: Final = frozenset({409, 429, 500, 502, 503, 504})
# The status and reason for a topic whose bundle moves. For an invalid name, the same status has another reason.
_PRECONDITION_FAILED, _MOVING = 412, ": Can't find owner"
_SHOWN: Final = 300
_FIRST_SECONDS: Final = 5.0
# The beginning of urllib3's error messages, such as: HTTPConnection(host='localhost', port=8080):
_URLLIB3_PREFIX: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")
_T = TypeVar("_T")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class RestResponse:
    """The answer to a change. The text is not always JSON. Never log the text."""

    status: int
    text: str
    date: str = ""
    """The value of the HTTP header `Date`, by the server's clock. Empty if the server sent no date."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    data: bytes


class RestClient:
    """A client of the admin REST API. Instances are safe to use from several threads.

    Close an instance, or use an instance as a context manager.
    """

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None, threads: int = 8) -> None:
        """Store the settings, without connecting.

        Args:
            options: The address, credentials and timeouts.
            patience_ms: The time limit for retries of temporary failures, in milliseconds. The default is the option
                `pulsar.client.operationTimeoutMs`.
            threads: The maximum number of concurrent requests.

        Raises:
            OptionError: `admin.url` is missing.

        """
        if options.admin_url is None:
            raise OptionError(
                "option 'admin.url' is missing; set admin.url, because this operation needs the admin REST API"
            )
        self._hosts = _hosts(options.admin_url)
        self._patience_seconds = (patience_ms or options.operation_timeout_ms) / 1000
        self._connect_seconds = options.connection_timeout_ms / 1000
        self._answer_seconds = options.operation_timeout_ms / 1000
        self._timeout = urllib3.Timeout(connect=self._connect_seconds, read=self._answer_seconds)
        self._has_answered = True
        self._threads = threads
        self._credentials = credentials_of(options)
        self._tls = tls_of(options)
        self._lock = threading.Lock()
        self._own_threads: ThreadPoolExecutor | None = None
        self._http: urllib3.PoolManager | None = None
        self._context: ssl.SSLContext | None = None

    @classmethod
    def for_planning(
        cls, options: ConnectionOptions, patience_ms: int | None = None, threads: int = 8
    ) -> Self:
        """Return a client that retries for at most 5 s until the first answer arrives.

        An interactive query with a wrong address therefore fails within seconds. After the first answer, the time limit
        is `patience_ms`, because the address is right, and a broker can restart. The constructor describes the
        arguments and errors.
        """
        client = cls(options, patience_ms, threads)
        client._has_answered = False
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release threads and connections, and cancel calls that have not started. Do not wait for running calls."""
        with self._lock:
            if self._own_threads is not None:
                self._own_threads.shutdown(wait=False, cancel_futures=True)
                self._own_threads = None
            if self._http is not None:
                self._http.clear()

    def begin(self, work: Callable[..., _T], *given: Any) -> Future[_T]:
        """Start `work(*given)` when a thread of this client is free. `work` must not call `map`, which can deadlock."""
        return self._workers().submit(work, *given)

    def map(self, work: Callable[[_Item], _T], items: Iterable[_Item]) -> Iterator[_T]:
        """Apply `work` to each item on threads of this client, and yield the results in the order of the items.

        The iterator raises the first error. Calls that have not started at the time of the error never start.
        """
        return self._workers().map(work, items)

    def _workers(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._own_threads is None:
                self._own_threads = ThreadPoolExecutor(self._threads, thread_name_prefix="pulsar-admin")
            return self._own_threads

    def get(self, path: str, where: str, version: str = "v2") -> Any:
        """Return the parsed JSON at `/admin/<version>/<path>`, or None if the answer is empty.

        Args:
            path: The path, built by the module `paths`.
            where: The beginning of error messages.
            version: The version of the admin REST API.

        Raises:
            OptionError: `check_path` refuses the path, or the credentials are unreadable.
            PermissionDenied: The broker refuses the credentials or the request.
            TopicNotFoundError: The resource does not exist. The resource is not always a topic.
            ConnectionFailed: Temporary failures continued until the time limit.
            TlsFailed: The TLS handshake with the server failed.
            ProtocolError: The answer is not JSON, or has an unexpected status.

        """
        return self._retry(path, version, where, lambda url: self._get_json(url, where))

    def change(
        self, method: str, path: str, where: str, body: Any = None, *, expected: Collection[int] = ()
    ) -> RestResponse:
        """Send a change to `/admin/v2/<path>`, with the same retries as `get`.

        A retry can send the change twice, so the change must be idempotent.

        Args:
            method: The HTTP method, such as PUT, POST or DELETE.
            path: The path, built by the module `paths`.
            where: The beginning of error messages.
            body: The body, which is sent as JSON. None sends no body.
            expected: Further statuses to return. These statuses cause neither an error nor a retry.

        Raises:
            PulsarError: The status is neither a success nor expected. `get` lists the error classes.

        """
        sent = None if body is None else json.dumps(body)
        return self._retry(
            path, "v2", where, lambda url: self._send_change(method, url, where, sent, expected)
        )

    def _retry(self, path: str, version: str, where: str, once: Callable[[str], _T]) -> _T:
        check_path(path, where)
        hosts = itertools.cycle(self._hosts)

        def seconds(_: Exception) -> float:
            """Return the time limit of retries in seconds. The first answer to any request extends the limit."""
            return (
                self._patience_seconds if self._has_answered else min(_FIRST_SECONDS, self._patience_seconds)
            )

        return retry(lambda: once(f"{next(hosts)}/admin/{version}/{path}"), ConnectionFailed, seconds)

    def _send_change(
        self, method: str, url: str, where: str, body: str | None, expected: Collection[int]
    ) -> RestResponse:
        answer = self._request(method, url, where, body)
        if answer.status not in (_OK, _NO_CONTENT, *expected):
            raise self._refusal(answer, where)
        date = answer.headers.get("Date", "")
        return RestResponse(answer.status, answer.data.decode(errors="replace"), date)

    def _get_json(self, url: str, where: str) -> Any:
        answer = self._request("GET", url, where, None)
        if answer.status == _NO_CONTENT or (answer.status == _OK and not answer.data.strip()):
            return None
        if answer.status != _OK:
            raise self._refusal(answer, where)
        try:
            return json.loads(answer.data)
        except (ValueError, RecursionError):
            raise ProtocolError(
                f"{where}: expected JSON, got another answer; check that admin.url names the admin REST API of "
                f"Pulsar (port 8080 by default)"
            ) from None

    def _refusal(self, answer: _Answer, where: str) -> PulsarError:
        hint = expiry_hint(self._credentials.data()) if answer.status == _UNKNOWN else ""
        return _error_of(answer.status, answer.data, where, hint)

    def _request(self, method: str, url: str, where: str, body: str | None) -> _Answer:
        """Send a request, and follow redirects to the owner of the topic. All requests have the same credentials."""
        said = within(
            self._connect_seconds,
            self._credentials.headers,
            f"{where}: reading the credentials of pulsar.client.authParams",
        )
        headers = {"Accept": "application/json", **said}
        if method != "GET":
            headers["Content-Type"] = "application/json"
        for _ in range(_REDIRECTS):
            try:
                answer = self._read(
                    self._pool(url).request(
                        method,
                        url,
                        headers=headers,
                        body=body,
                        redirect=False,
                        retries=False,
                        preload_content=False,
                    ),
                    where,
                )
            except MaxRetryError as fault:
                raise _unreachable(where, url, fault.reason or fault) from None
            except HTTPError as fault:
                raise _unreachable(where, url, fault) from None
            self._has_answered = True
            target = answer.headers.get("Location")
            if answer.status not in _MOVED or not target:
                return answer
            target = urljoin(url, target)
            if not target.startswith(("https:", url.partition(":")[0] + ":")):
                raise ProtocolError(
                    f"{where}: expected the admin REST API to redirect to HTTPS, got a redirect to another protocol; "
                    f"check webServicePortTls in the broker.conf of each broker"
                )
            url = target
        raise ConnectionFailed(
            f"{where}: expected an answer within {_REDIRECTS} redirects, got more redirects; check admin.url"
        )

    def _read(self, answer: urllib3.BaseHTTPResponse, where: str) -> _Answer:
        """Read a whole answer within a time limit, because a socket's timeout applies only to each single piece."""
        deadline = time.monotonic() + self._answer_seconds
        pieces = []
        while piece := answer.read1(_PIECE_BYTES):
            pieces.append(piece)
            if time.monotonic() > deadline:
                answer.close()
                raise DeadlineExceeded(
                    f"{where}: expected the whole answer of the admin REST API within {self._answer_seconds:g} s, "
                    f"got {sum(map(len, pieces))} bytes; raise pulsar.client.operationTimeoutMs"
                )
        answer.release_conn()
        return _Answer(answer.status, answer.headers, b"".join(pieces))

    def _pool(self, url: str) -> urllib3.PoolManager:
        """Return the connection pool. If the TLS files have changed, replace the pool first."""
        with self._lock:
            context = self._tls.context() if url.startswith("https:") else self._context
            if self._http is None or context is not self._context:
                checked: dict[str, Any] = {} if self._tls.verifies_hostname else {"assert_hostname": False}
                self._http = urllib3.PoolManager(
                    timeout=self._timeout, maxsize=self._threads, ssl_context=context, **checked
                )
                self._context = context
            return self._http


def _hosts(url: str) -> tuple[str, ...]:
    """Split a URL with several hosts: `http://a:1,b:2/x` becomes `http://a:1/x` and `http://b:2/x`."""
    scheme, _, rest = url.partition("://")
    hosts, slash, path = rest.partition("/")
    return tuple(f"{scheme}://{host.strip()}{slash}{path}" for host in hosts.split(","))


def _unreachable(where: str, url: str, fault: BaseException) -> PulsarError:
    cause = fault.args[0] if isinstance(fault, Urllib3SslError) and fault.args else None
    if isinstance(cause, ssl.SSLError):
        return connection_fault(f"{where}: connecting to the admin REST API (admin.url)", cause)
    kind = DeadlineExceeded if isinstance(fault, Urllib3Timeout) else ConnectionFailed
    host = url.split("/")[2].rpartition("@")[2]
    return kind(
        f"{where}: the admin REST API cannot be reached at {host}: {_URLLIB3_PREFIX.sub('', str(fault))}; check "
        f"admin.url (port 8080 by default), and that Pulsar runs there"
    )


def _error_of(status: int, body: bytes, where: str, hint: str) -> PulsarError:
    reason = _shown_reason(body)
    text = f"{where}: the admin REST API answered {status}{reason}{hint}"
    if status == _UNKNOWN:
        return PermissionDenied(
            f"{text}; check pulsar.client.authPluginClassName and pulsar.client.authParams"
        )
    if status == _FORBIDDEN:
        return PermissionDenied(
            f"{text}; grant the role the missing permission, or remove the option admin.url"
        )
    if status == _NOT_FOUND:
        return TopicNotFoundError(
            f"{text}; check the name, and that admin.url and service.url belong to one cluster"
        )
    is_passing = status in _PASSING or (status == _PRECONDITION_FAILED and reason.startswith(_MOVING))
    return ConnectionFailed(text) if is_passing else ProtocolError(text)


def _shown_reason(body: bytes) -> str:
    """Return the answer's field `reason`. The rest of the answer can contain secrets, so it is not shown."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    reason = document.get("reason") if isinstance(document, dict) else None
    return f": {reason.strip()[:_SHOWN]}" if isinstance(reason, str) and reason.strip() else ""
