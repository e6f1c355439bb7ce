"""Requests to the admin REST API: hosts, authentication, redirects, retries, and what a status means.

What is asked of which resource stands in the modules beside this one, by subject. Answers are never logged: those
about offloading hold secrets.

One request: the path is checked, a host of `admin.url` is chosen in turn, and redirects are followed to the broker that
owns the topic, always with the credentials of this moment. What may pass (no connection, no answer in time, a status of
`_PASSING`, a topic that moves) is asked again after growing pauses, until `patience_ms` is over.

    status                    is
    200, 204                  the answer
    one of `expected`         the answer to a change; its caller knows what it means there
    401, 403                  `PermissionDenied`
    404                       `TopicNotFoundError`, whatever is not found
    409, 429, 500, 502-504    `ConnectionFailed`: asked again
    412 "Can't find owner"    `ConnectionFailed`: asked again, the bundle of the topic moves
    any other                 `ProtocolError`
"""

from __future__ import annotations

import itertools
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
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
from pyspark_pulsar.client.security.token_claims import why_refused
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

_REDIRECTS: Final = 20
_PIECE_BYTES: Final = 1 << 16
_OK, _NO_CONTENT = 200, 204
_UNKNOWN, _FORBIDDEN = 401, 403
_MOVED: Final = (301, 302, 303, 307, 308)
_NOT_FOUND: Final = 404
# Throttled, or a broker that starts, unloads the topic, or waits for its metadata store.
_PASSING: Final = frozenset({409, 429, 500, 502, 503, 504})
# Of a topic whose bundle moves; the same status says that a name is not valid, which no second question changes.
_PRECONDITION_FAILED, _MOVES = 412, ": Can't find owner"
_SHOWN: Final = 300
_FIRST_SECONDS: Final = 5.0
# What its errors begin with names the host by a class: HTTPConnection(host='localhost', port=8080):
_OF_URLLIB3: Final = re.compile(r"^HTTPS?Connection(Pool)?\([^)]*\): ")
_T = TypeVar("_T")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class RestResponse:
    """The answer to a change: `status` of HTTP, and the text, which need not be JSON. Never log the text."""

    status: int
    text: str
    date: str = ""
    """When it was given, by the server's clock, as HTTP writes it; empty where it does not say."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    data: bytes


class RestClient:
    """Safe to use from several threads. Close it, or use it as a context manager."""

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None, threads: int = 8) -> None:
        """Connects lazily. `patience_ms`: how long passing failures are retried; by default
        `pulsar.client.operationTimeoutMs`. `threads`: how many requests are made at once. Raises `OptionError` without
        `admin.url`."""
        if options.admin_url is None:
            raise OptionError(
                "option 'admin.url' is missing; what is asked for comes from the admin REST API"
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
        """A client of little patience until the first answer comes: a wrong address should fail a query or a statement
        that is being written at a desk within seconds. From then on `patience_ms` counts, as a broker may be started
        again."""
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
        """Does not wait for what `begin` has begun."""
        with self._lock:
            if self._own_threads is not None:
                self._own_threads.shutdown(wait=False, cancel_futures=True)
                self._own_threads = None
            if self._http is not None:
                self._http.clear()

    def begin(self, work: Callable[..., _T], *given: Any) -> Future[_T]:
        """`work(*given)` in a thread of this client's, as soon as one is free. It must not wait for `map`."""
        return self._workers().submit(work, *given)

    def map(self, work: Callable[[_Item], _T], items: Iterable[_Item]) -> Iterator[_T]:
        """`work` of each item, in their order, in this client's threads. Raises the first error; what has not begun
        by then never does."""
        return self._workers().map(work, items)

    def _workers(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._own_threads is None:
                self._own_threads = ThreadPoolExecutor(self._threads, thread_name_prefix="pulsar-admin")
            return self._own_threads

    def get(self, path: str, where: str, version: str = "v2") -> Any:
        """The JSON under `/admin/<version>/<path>`; None for an empty answer. `where` begins error messages.

        Raises `OptionError` for a path that `check_path` refuses, `PermissionDenied`, `TopicNotFoundError` (whatever
        is not found), `ConnectionFailed`, `TlsFailed`, `ProtocolError`, and the errors of `Credentials.headers`.
        """
        return self._retried(path, version, where, lambda url: self._got(url, where))

    def change(
        self, method: str, path: str, where: str, body: Any = None, *, expected: Collection[int] = ()
    ) -> RestResponse:
        """PUT, POST or DELETE `/admin/v2/<path>`, with `body` as JSON; None sends none. Retried as `get` is, so it must
        be a change that can be made twice.

        Statuses in `expected` are answers, and neither errors nor retried. Raises what `get` raises for any other
        status that is not a success.
        """
        sent = None if body is None else json.dumps(body)
        return self._retried(path, "v2", where, lambda url: self._changed(method, url, where, sent, expected))

    def _retried(self, path: str, version: str, where: str, once: Callable[[str], _T]) -> _T:
        check_path(path, where)
        hosts = itertools.cycle(self._hosts)

        def seconds(_: Exception) -> float:
            """An answer that arrives meanwhile, to any request, makes the client more patient."""
            return (
                self._patience_seconds if self._has_answered else min(_FIRST_SECONDS, self._patience_seconds)
            )

        return retry(lambda: once(f"{next(hosts)}/admin/{version}/{path}"), ConnectionFailed, seconds)

    def _changed(
        self, method: str, url: str, where: str, body: str | None, expected: Collection[int]
    ) -> RestResponse:
        answer = self._answer(method, url, where, body)
        if answer.status not in (_OK, _NO_CONTENT, *expected):
            raise self._refused(answer, where)
        date = answer.headers.get("Date", "")
        return RestResponse(answer.status, answer.data.decode(errors="replace"), date)

    def _got(self, url: str, where: str) -> Any:
        answer = self._answer("GET", url, where, None)
        if answer.status == _NO_CONTENT or (answer.status == _OK and not answer.data.strip()):
            return None
        if answer.status != _OK:
            raise self._refused(answer, where)
        try:
            return json.loads(answer.data)
        except (ValueError, RecursionError):
            raise ProtocolError(
                f"{where}: expected JSON, got something else; check that admin.url names the admin REST API of "
                f"Pulsar (port 8080 by default)"
            ) from None

    def _refused(self, answer: _Answer, where: str) -> PulsarError:
        doubt = why_refused(self._credentials.data()) if answer.status == _UNKNOWN else ""
        return _error_of(answer.status, answer.data, where, doubt)

    def _answer(self, method: str, url: str, where: str, body: str | None) -> _Answer:
        """Goes where brokers send us, to the one that owns the topic, and says there as well who we are."""
        said = within(
            self._connect_seconds,
            self._credentials.headers,
            f"{where}: getting the credentials of pulsar.client.authParams",
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
                    f"{where}: the admin REST API sends us from https to another protocol; not followed"
                )
            url = target
        raise ConnectionFailed(
            f"{where}: expected an answer within {_REDIRECTS} redirects, got more redirects"
        )

    def _read(self, answer: urllib3.BaseHTTPResponse, where: str) -> _Answer:
        """Read all of an answer. Its deadline is for the whole: the timeouts of sockets are for each piece."""
        deadline = time.monotonic() + self._answer_seconds
        pieces = []
        while piece := answer.read1(_PIECE_BYTES):
            pieces.append(piece)
            if time.monotonic() > deadline:
                answer.close()
                raise DeadlineExceeded(
                    f"{where}: expected the whole answer of the admin REST API within {self._answer_seconds:g} s "
                    f"(pulsar.client.operationTimeoutMs), got {sum(map(len, pieces))} bytes of it"
                )
        answer.release_conn()
        return _Answer(answer.status, answer.headers, b"".join(pieces))

    def _pool(self, url: str) -> urllib3.PoolManager:
        """Another when the files of TLS have changed."""
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
    """`http://a:1,b:2/x` stands for `http://a:1/x` and `http://b:2/x`."""
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
        f"{where}: the admin REST API cannot be reached at {host}: {_OF_URLLIB3.sub('', str(fault))}; check admin.url "
        f"(port 8080 by default), and that Pulsar runs there"
    )


def _error_of(status: int, body: bytes, where: str, doubt: str) -> PulsarError:
    reason = _shown_reason(body)
    text = f"{where}: the admin REST API answered {status}{reason}{doubt}"
    if status == _UNKNOWN:
        return PermissionDenied(
            f"{text}; check pulsar.client.authPluginClassName and pulsar.client.authParams"
        )
    if status == _FORBIDDEN:
        return PermissionDenied(f"{text}; ask for the right to do that, or leave admin.url out")
    if status == _NOT_FOUND:
        return TopicNotFoundError(
            f"{text}; check the name, and that admin.url and service.url are one cluster"
        )
    is_passing = status in _PASSING or (status == _PRECONDITION_FAILED and reason.startswith(_MOVES))
    return ConnectionFailed(text) if is_passing else ProtocolError(text)


def _shown_reason(body: bytes) -> str:
    """What the broker gives as `reason`; nothing of any other answer is shown."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    reason = document.get("reason") if isinstance(document, dict) else None
    return f": {reason.strip()[:_SHOWN]}" if isinstance(reason, str) and reason.strip() else ""
