"""Reads of objects and files in tiered storage, on the driver and on executors.

The package obstore reads object stores, and pyarrow reads folders. Error messages of obstore and pyarrow can contain
parts of the store's answers, such as key ids or signed requests. Therefore this module raises errors with its own
messages.
"""

from __future__ import annotations

import os
import queue
import re
from collections.abc import Callable, Generator
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.errors import (
    LedgerUnavailable,
    OptionError,
    PrerequisiteMissing,
    TieredStorageUnavailable,
)
from pyspark_pulsar.runtime import threading

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_T = TypeVar("_T")

STEP: Final = 4 << 20
"""The size of one request in bytes. Several small requests for a block of 64 MiB limit the memory of a reader."""
_CLIENT_SETTINGS: Final = frozenset(
    {
        *("allow_http", "allow_invalid_certificates", "connect_timeout", "http1_only", "http2_only"),
        *(
            "pool_idle_timeout",
            "pool_max_idle_per_host",
            "proxy_ca_certificate",
            "proxy_excludes",
            "proxy_url",
        ),
        *("randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent"),
    }
)
_FLAGS: Final = frozenset(
    {
        *("allow_http", "allow_invalid_certificates", "http1_only", "http2_only", "randomize_addresses"),
    }
)
_STATUS: Final = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z ]{0,40})?)")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
# The address of the metadata service that provides a cloud machine with credentials.
_MACHINE: Final = "169.254.169.254"
_CAUSES: Final = {
    "ConnectionRefused": "the connection was refused",
    "dns error": "the host name is unknown",
    "TimedOut": "no answer in time",
    "ConnectionReset": "the connection broke",
    "BadScheme": "an http:// endpoint, which needs allow_http=true in tieredStorageOptions",
    "InvalidCertificate": "the server's certificate is not trusted",
    "MissingAccount": "the setting account_name is missing",
    _MACHINE: "neither tieredStorageOptions nor the machine has credentials",
}


class StoredBytes(Protocol):
    """A bucket or folder of offloaded ledgers. All methods begin error messages with `where`: the ledger and the topic.

    All methods raise `LedgerUnavailable` if the object or file is missing or damaged, and `TieredStorageUnavailable` if
    the whole store is unavailable.
    """

    def size(self, name: str, where: str) -> int:
        """Return the size of an object or file in bytes."""

    def whole(self, name: str, where: str) -> bytes:
        """Return all bytes of a small object or file."""

    def read(self, name: str, start: int, end: int, where: str) -> bytes:
        """Return exactly the bytes from `start` to `end` (exclusive)."""


@lru_cache(maxsize=16)
def open_stored_bytes(store: TieredStore) -> StoredBytes:
    """Return the reader of a store. A process has one reader for each store, which connects at the first request.

    Raises:
        PrerequisiteMissing: The package obstore is not installed.
        OptionError: obstore does not know a setting, or a setting has an invalid value.
        TieredStorageUnavailable: The settings lack a value that this kind of store needs.

    """
    return _Folder(store) if store.is_folder else _Bucket(store)


class _Bucket:
    def __init__(self, store: TieredStore) -> None:
        self._url = store.url
        self._store = _object_store(store)

    def size(self, name: str, where: str) -> int:
        import obstore

        return int(self._request(lambda: obstore.head(self._store, name)["size"], name, where))

    def whole(self, name: str, where: str) -> bytes:
        import obstore

        return self._request(lambda: obstore.get(self._store, name).bytes().to_bytes(), name, where)

    def read(self, name: str, start: int, end: int, where: str) -> bytes:
        import obstore

        data = self._request(
            lambda: obstore.get_range(self._store, name, start=start, end=end).to_bytes(), name, where
        )
        return _check_length(data, start, end, f"{self._url}/{name}", where)

    def _request(self, request: Callable[[], _T], name: str, where: str) -> _T:
        from obstore.exceptions import BaseError

        try:
            return request()
        except (BaseError, OSError, ValueError) as fault:
            raise _failure(fault, where, f"{self._url}/{name}") from None


def _object_store(store: TieredStore) -> ObjectStore:
    try:
        from obstore.exceptions import BaseError, UnknownConfigurationKeyError
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise PrerequisiteMissing(
            f"tiered storage at {store.url}: reading needs the package obstore, on the driver and on every executor; "
            f"install obstore with `pip install 'pyspark-pulsar[tiered]'`"
        ) from None
    given = {key.lower(): value for key, value in store.settings}
    client: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=store.connect_seconds),
        "timeout": timedelta(seconds=store.patience_seconds),
        "allow_http": given.get("endpoint", "").startswith("http://"),
    }
    client |= {key: _flag(key, given.pop(key)) for key in _CLIENT_SETTINGS & set(given)}
    retries = {
        "max_retries": 10,
        "retry_timeout": timedelta(seconds=store.patience_seconds),
        "backoff": {"max_backoff": timedelta(seconds=2)},
    }
    make: Any = from_url
    try:
        opened: ObjectStore = make(store.url, config=given, client_options=client, retry_config=retries)
    except UnknownConfigurationKeyError as fault:
        unknown = [key for key in given if f"'{key}'" in str(fault)]
        raise OptionError(
            f"option 'tieredStorageOptions': expected settings of obstore for {urlsplit(store.url).scheme}://, got "
            f"unknown settings {', '.join(unknown)}; correct their names"
        ) from None
    except (BaseError, ValueError, TypeError) as fault:
        # One cause is an account name that is neither in the settings nor in the environment.
        raise TieredStorageUnavailable(
            f"tiered storage at {store.url}: expected all settings that this kind of store needs, got: "
            f"{_reason(fault)}; add the missing settings to tieredStorageOptions"
        ) from None
    return opened


def _flag(key: str, value: str) -> str | bool:
    if key not in _FLAGS:
        return value
    if value.lower() not in ("true", "false"):
        raise OptionError(
            f"option 'tieredStorageOptions': expected true or false for {key}, got another value"
        )
    return value.lower() == "true"


class _Folder:
    """A folder. Each call has its own time limit, because libhdfs waits for minutes if a server is down."""

    def __init__(self, store: TieredStore) -> None:
        self._url = store.url
        self._seconds = store.patience_seconds
        self._system_and_folder: tuple[Any, str] | None = None

    def size(self, name: str, where: str) -> int:
        def fetch() -> int:
            system, folder = self._system()
            info = system.get_file_info(f"{folder}/{name}")
            if info.size is None:
                raise FileNotFoundError(name)
            return int(info.size)

        return self._within(fetch, name, where)

    def whole(self, name: str, where: str) -> bytes:
        return self.read(name, 0, self.size(name, where), where)

    def read(self, name: str, start: int, end: int, where: str) -> bytes:
        def fetch() -> bytes:
            system, folder = self._system()
            with system.open_input_file(f"{folder}/{name}") as file:
                return bytes(file.read_at(end - start, start))

        return _check_length(self._within(fetch, name, where), start, end, f"{self._url}/{name}", where)

    def _system(self) -> tuple[Any, str]:
        if self._system_and_folder is None:
            from pyarrow.fs import FileSystem

            system, folder = FileSystem.from_uri(self._url)
            self._system_and_folder = system, folder.rstrip("/")
        return self._system_and_folder

    def _within(self, request: Callable[[], _T], name: str, where: str) -> _T:
        answers: queue.SimpleQueue[tuple[_T | None, Exception | None]] = queue.SimpleQueue()

        def fetch() -> None:
            try:
                answers.put((request(), None))
            except Exception as fault:  # noqa: BLE001 - `_within` raises the error below
                answers.put((None, fault))

        # A call can hang forever. The thread is a daemon, so such a call does not prevent the process from exiting.
        threading.Thread(target=fetch, name="pulsar-stored-bytes", daemon=True).start()
        place = f"{self._url}/{name}"
        try:
            answer, fault = answers.get(timeout=self._seconds)
        except queue.Empty:
            raise TieredStorageUnavailable(
                _text(where, place, f"no answer within {self._seconds:g} s")
            ) from None
        if fault is not None:
            raise _failure(fault, where, place) from None
        return answer  # type: ignore[return-value]


def read_in_steps(read: Callable[[int, int], bytes], start: int, end: int) -> Generator[bytes, None, None]:
    """Yield the bytes from `start` to `end` (exclusive) in pieces of `STEP` bytes. The last piece can be shorter.

    A thread fetches the next piece while the caller processes the current piece. The generator raises errors of `read`.
    """
    fetched: queue.Queue[bytes | Exception | None] = queue.Queue(maxsize=1)
    stopped = threading.Event()

    def fetch() -> None:
        try:
            for at in range(start, end, STEP):
                fetched.put(read(at, min(at + STEP, end)))
                if stopped.is_set():
                    return
            fetched.put(None)
        except Exception as fault:  # noqa: BLE001 - the generator raises the error
            fetched.put(fault)

    threading.Thread(target=fetch, name="pulsar-tiered", daemon=True).start()
    try:
        while (piece := fetched.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece
    finally:
        # The thread can put one more piece into the emptied queue without waiting, and then sees `stopped`.
        stopped.set()
        while not fetched.empty():
            fetched.get_nowait()


def _check_length(data: bytes, start: int, end: int, place: str, where: str) -> bytes:
    if len(data) != end - start:
        got = f"{len(data)} bytes from byte {start} on instead of {end - start}"
        raise LedgerUnavailable(_text(where, place, got))
    return data


def _failure(fault: Exception, where: str, place: str) -> LedgerUnavailable:
    elsewhere = ("NoSuchBucket", _MACHINE)
    gone = isinstance(fault, FileNotFoundError) and not any(sign in str(fault) for sign in elsewhere)
    kind = LedgerUnavailable if gone else TieredStorageUnavailable
    return kind(_text(where, place, _reason(fault)))


def _text(where: str, place: str, got: str) -> str:
    return (
        f"{where}: expected a copy in tiered storage at {place}, got: {got}; check tieredStorageUrl and "
        f"tieredStorageOptions, or read from another location (readFrom=auto, bookie or broker)"
    )


def _reason(fault: Exception) -> str:
    message = str(fault)
    status, code = _STATUS.search(message), _CODE.search(message)
    causes = [text for sign, text in _CAUSES.items() if sign in message]
    if isinstance(fault, FileNotFoundError) and _MACHINE not in message:
        causes.insert(0, "the copy does not exist")
    if isinstance(fault, OSError) and fault.errno is not None:
        causes.append(os.strerror(fault.errno))
    if "libhdfs" in message or "libjvm" in message:
        causes.append("libhdfs cannot be loaded without correct HADOOP_HOME, JAVA_HOME and CLASSPATH")
    kind = type(fault).__name__.removesuffix("Error")
    refused = {
        "PermissionDenied": "no permission to read the copy",
        "Unauthenticated": "the store refused the credentials",
    }
    if kind in refused:
        causes.insert(0, refused[kind])
    details = [match[1] for match in (status, code) if match is not None]
    return " ".join(
        [", ".join(dict.fromkeys(causes)) or kind, f"({', '.join(details)})" if details else ""]
    ).strip()
