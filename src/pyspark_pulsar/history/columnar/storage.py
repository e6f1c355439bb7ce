"""Access to data files with pyarrow's file systems, on the driver and on executors.

The settings are the properties of the table's catalog, with Iceberg's names (`s3.endpoint`, `s3.access-key-id`, ...). A
catalog can add credentials for one table. Local folders and S3 need no other library. pyiceberg opens all other
locations, so such locations need pyiceberg on executors too.
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
"""Characters that are not escaped in URLs of files."""
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_CONNECT_SECONDS: Final = 10.0
_REQUEST_SECONDS: Final = 30.0
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class TableStorage:
    """The settings for opening a table's files. Picklable; `repr` shows no secrets."""

    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> TableStorage:
        """Return the settings in the properties of a catalog or a table that affect storage."""
        chosen = {key: str(value) for key, value in properties.items() if key.startswith(_PREFIXES)}
        return cls(tuple(sorted(chosen.items())))

    def open_input(self, url: str) -> Any:
        """Open a file for reads at any offset.

        Raises:
            OSError: The file cannot be opened.
            OptionError: The settings do not describe a file system.
            PrerequisiteMissing: The location needs pyiceberg, which is not installed.

        """
        system, path = self.locate(url)
        return system.open_input_file(path)

    def open_output(self, url: str) -> Any:
        """Open a new file for sequential writing.

        In an object store, the file exists only after the caller closes the stream. Raises the errors of `open_input`.
        """
        system, path = self.locate(url)
        if isinstance(system, fs.LocalFileSystem):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        return system.open_output_stream(path)

    def locate(self, url: str) -> tuple[Any, str]:
        """Return the file system of a URL, and the path in the file system.

        Raises:
            OptionError: The settings do not describe a file system.
            PrerequisiteMissing: The location needs pyiceberg, which is not installed.

        """
        place = urlsplit(url)
        if place.scheme in ("", _FILE):
            return fs.LocalFileSystem(), unquote(place.path) if place.scheme else url
        if place.scheme in _S3_SCHEMES:
            return _s3_file_system(self.settings), f"{place.netloc}{place.path}"
        return _pyiceberg_file_system(
            self.settings, place.scheme, place.netloc
        ), f"{place.netloc}{place.path}"


def url_under(folder: str, name: str) -> str:
    """Return the URL of a file in a folder, for `TableStorage.locate`.

    Args:
        folder: The URL of the folder.
        name: The path of the file relative to the folder, without escapes.

    """
    return f"{folder}/{quote(name, safe=_SAFE) if urlsplit(folder).scheme == _FILE else name}"


@lru_cache(maxsize=16)
def _s3_file_system(settings: tuple[tuple[str, str], ...]) -> Any:
    """Return the file system for S3. Calls with the same settings share one file system, and reuse its connections."""
    chosen_settings = dict(settings)

    def setting(name: str) -> str | None:
        return chosen_settings.get(f"s3.{name}") or chosen_settings.get(f"client.{name}")

    arguments = {
        "access_key": setting("access-key-id"),
        "secret_key": setting("secret-access-key"),
        "session_token": setting("session-token"),
        "region": setting("region"),
        "endpoint_override": chosen_settings.get("s3.endpoint"),
        "proxy_options": chosen_settings.get("s3.proxy-uri"),
        "role_arn": setting("role-arn"),
        "session_name": setting("role-session-name"),
    }
    try:
        return fs.S3FileSystem(
            **{name: value for name, value in arguments.items() if value},
            connect_timeout=float(chosen_settings.get("s3.connect-timeout", _CONNECT_SECONDS)),
            request_timeout=float(chosen_settings.get("s3.request-timeout", _REQUEST_SECONDS)),
            force_virtual_addressing=_is_true(chosen_settings.get("s3.force-virtual-addressing")),
            anonymous=_is_true(chosen_settings.get("s3.anonymous")),
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        )
    except (ValueError, TypeError) as fault:
        raise OptionError(
            f"option 'tierCatalog': expected a valid combination of settings for S3 (s3.*, client.*), got an invalid "
            f"one ({fault}); correct the settings"
        ) from None


@lru_cache(maxsize=16)
def _pyiceberg_file_system(settings: tuple[tuple[str, str], ...], scheme: str, netloc: str) -> Any:
    try:
        from pyiceberg.io.pyarrow import PyArrowFileIO
    except ImportError:
        raise PrerequisiteMissing(
            f"data files at {scheme}://{netloc}: expected the package pyiceberg, on the driver and on every executor, "
            f"got none; run `pip install 'pyspark-pulsar[iceberg]'`"
        ) from None
    try:
        return PyArrowFileIO(dict(settings)).fs_by_scheme(scheme, netloc)
    except (ValueError, ImportError) as fault:
        raise OptionError(
            f"data files at {scheme}://{netloc}: expected a location that pyiceberg supports, got another ({fault}); "
            f"move the table, or install pyiceberg's extra for the location"
        ) from None


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
