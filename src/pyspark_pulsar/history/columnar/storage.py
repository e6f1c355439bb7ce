"""Opens data files, on the driver and on executors, by pyarrow's file systems.

The settings are those of the table's catalog, by Iceberg's names (`s3.endpoint`, `s3.access-key-id`, ...); a catalog
may add credentials that hold for this table only. Folders and S3 need nothing else. Any other place is opened by
pyiceberg, which then must be installed on executors too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from pyarrow import fs

from pyspark_pulsar.errors import OptionError, PrerequisiteMissing

_PREFIXES: Final = ("s3.", "client.", "gcs.", "adls.", "abfs.", "hdfs.")
_FILE: Final = "file"
_SAFE: Final = "/="
"""Letters that URLs of files have as they are."""
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_CONNECT_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 30.0
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class TableStorage:
    """How the files of a table are reached. Picklable; holds secrets, and shows none."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> TableStorage:
        """Those of a catalog's or a table's properties that are about storage."""
        chosen = {key: str(value) for key, value in properties.items() if key.startswith(_PREFIXES)}
        return cls(tuple(sorted(chosen.items())))

    def open_input(self, url: str) -> Any:
        """The file, to read from anywhere in it. Raises `OSError`, `OptionError`, `PrerequisiteMissing`."""
        system, path = self.located(url)
        return system.open_input_file(path)

    def open_output(self, url: str) -> Any:
        """A new file, to write from its begin to its end. What is not closed is not there in an object store. Raises as
        `open_input`."""
        system, path = self.located(url)
        if isinstance(system, fs.LocalFileSystem):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        return system.open_output_stream(path)

    def located(self, url: str) -> tuple[Any, str]:
        """The file system and the path in it. Raises `OptionError`, `PrerequisiteMissing`."""
        place = urlsplit(url)
        if place.scheme in ("", _FILE):
            return fs.LocalFileSystem(), unquote(place.path) if place.scheme else url
        if place.scheme in _S3_SCHEMES:
            return _s3(self.settings), f"{place.netloc}{place.path}"
        return _by_pyiceberg(self.settings, place.scheme, place.netloc), f"{place.netloc}{place.path}"


def url_under(folder: str, name: str) -> str:
    """The URL of what is called `name` in the store, relative to the folder of that URL: `located` finds it."""
    return f"{folder}/{quote(name, safe=_SAFE) if urlsplit(folder).scheme == _FILE else name}"


@lru_cache(maxsize=16)
def _s3(settings: tuple[tuple[str, str], ...]) -> Any:
    """One for each process and settings: it keeps connections."""
    given = dict(settings)

    def setting(name: str) -> str | None:
        return given.get(f"s3.{name}") or given.get(f"client.{name}")

    arguments = {
        "access_key": setting("access-key-id"),
        "secret_key": setting("secret-access-key"),
        "session_token": setting("session-token"),
        "region": setting("region"),
        "endpoint_override": given.get("s3.endpoint"),
        "proxy_options": given.get("s3.proxy-uri"),
        "role_arn": setting("role-arn"),
        "session_name": setting("role-session-name"),
    }
    try:
        return fs.S3FileSystem(
            **{name: value for name, value in arguments.items() if value},
            connect_timeout=float(given.get("s3.connect-timeout", _CONNECT_SECONDS)),
            request_timeout=float(given.get("s3.request-timeout", _REQUEST_SECONDS)),
            force_virtual_addressing=_is_true(given.get("s3.force-virtual-addressing")),
            anonymous=_is_true(given.get("s3.anonymous")),
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        )
    except (ValueError, TypeError) as fault:
        raise OptionError(
            f"option 'tierCatalog': expected settings of S3 that belong together, got others ({fault})"
        ) from None


@lru_cache(maxsize=16)
def _by_pyiceberg(settings: tuple[tuple[str, str], ...], scheme: str, netloc: str) -> Any:
    try:
        from pyiceberg.io.pyarrow import PyArrowFileIO
    except ImportError:
        raise PrerequisiteMissing(
            f"data files at {scheme}://{netloc}: opening them needs the package pyiceberg, on the driver and on every "
            f"executor; pip install 'pyspark-pulsar[iceberg]'"
        ) from None
    try:
        return PyArrowFileIO(dict(settings)).fs_by_scheme(scheme, netloc)
    except (ValueError, ImportError) as fault:
        raise OptionError(
            f"data files at {scheme}://{netloc}: expected a place that pyiceberg knows, got another ({fault})"
        ) from None


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
