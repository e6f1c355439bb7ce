"""The location of a Delta table. delta-rs reads and writes the log; pyarrow reads and writes the data files.

The settings have the names of Iceberg (`s3.endpoint`, ...), so users configure tables of both formats in the same way.
Only settings that both delta-rs and pyarrow support are accepted. With any other setting, one library could write files
that the other library cannot read.

    setting                      delta-rs                         if absent
    s3.access-key-id             aws_access_key_id                the environment, an instance's role
    s3.secret-access-key         aws_secret_access_key
    s3.session-token             aws_session_token
    s3.region                    aws_region
    s3.endpoint                  aws_endpoint_url, and aws_allow_http for a URL with http:
    s3.proxy-uri                 proxy_url
    s3.role-arn                  aws_iam_role_arn
    s3.role-session-name         aws_iam_role_session_name
    s3.connect-timeout           connect_timeout                  10 s
    s3.request-timeout           timeout                          30 s
    s3.force-virtual-addressing  aws_virtual_hosted_style_request
    s3.anonymous                 aws_skip_signature

The keys, the token, the region and the role also accept the prefix `client.` instead of `s3.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from pyspark_pulsar.errors import ColumnsUnavailable, OptionError
from pyspark_pulsar.history.columnar.redaction import one_line, redact, secret_values
from pyspark_pulsar.history.columnar.storage import TableStorage, url_under

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG: Final = "_delta_log"
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_BUCKET: Final = re.compile(r"[0-9A-Za-z_.-]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SHARED_SETTINGS: Final = {
    "access-key-id": "aws_access_key_id",
    "secret-access-key": "aws_secret_access_key",
    "session-token": "aws_session_token",
    "region": "aws_region",
    "role-arn": "aws_iam_role_arn",
    "role-session-name": "aws_iam_role_session_name",
}
"""The settings that accept the prefixes `s3.` and `client.`, each with the name of its option in delta-rs."""
_S3_SETTINGS: Final = {
    "s3.endpoint": "aws_endpoint_url",
    "s3.proxy-uri": "proxy_url",
    "s3.force-virtual-addressing": "aws_virtual_hosted_style_request",
    "s3.anonymous": "aws_skip_signature",
}
_TIMES: Final = {"s3.connect-timeout": ("connect_timeout", 10.0), "s3.request-timeout": ("timeout", 30.0)}
_RETRIES: Final = {"max_retries": "3", "retry_timeout": "60s"}
KNOWN_SETTINGS: Final = frozenset(
    [
        *_S3_SETTINGS,
        *_TIMES,
        *(f"{prefix}.{name}" for prefix in ("s3", "client") for name in _SHARED_SETTINGS),
    ]
)


@dataclass(frozen=True, slots=True)
class TableLocation:
    """The location of a table, or of a folder of tables."""

    url: str
    """The URL without a final slash: `file:///folder` or `s3://bucket/prefix`."""
    storage: TableStorage
    options: Mapping[str, str] = field(repr=False)
    """The storage options in the form of delta-rs."""
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def from_path(cls, path: str, settings: Mapping[str, str]) -> TableLocation:
        """Return the location for a path to a local folder or to S3. Raises `OptionError` for another path."""
        parts = urlsplit(path)
        if _SCHEME.match(path) is None and Path(path).is_absolute():
            url = Path(path).as_uri()
        elif parts.scheme in _S3_SCHEMES and _BUCKET.fullmatch(parts.netloc) and not parts.query:
            url = f"s3://{parts.netloc}{parts.path}"
        elif parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
            url = f"file://{parts.path}"
        else:
            raise OptionError(
                f"option 'tierCatalog', property path: expected file:///folder or s3://bucket/prefix without user and "
                f"query, got {redact(path, secret_values(settings))!r}; correct the path"
            )
        is_local = url.startswith("file:")
        options = {} if is_local else delta_options(settings)
        return cls(url.rstrip("/"), TableStorage.from_properties(settings), options, secret_values(settings))

    def under(self, *names: str) -> TableLocation:
        """Return the location of a folder inside this location. Raises `OptionError` for invalid folder names."""
        for name in names:
            if not re.fullmatch(r"[\w-][\w.-]*", name):
                raise OptionError(
                    f"option 'tierTable': expected names of letters, digits, '_', '-' and '.', got {name!r}; choose "
                    f"another name"
                )
        return TableLocation("/".join([self.url, *names]), self.storage, self.options, self.secrets)

    def load(self) -> DeltaTable:
        """Load the table's present state.

        Raises the errors of delta-rs, such as `deltalake.exceptions.TableNotFoundError`.
        """
        from deltalake import DeltaTable

        return DeltaTable(self.url, storage_options=dict(self.options))

    def name_of(self, path: str) -> str:
        """Convert a path from the log to a name in the store, relative to the table. Absolute URLs stay unchanged."""
        return path if _SCHEME.match(path) else unquote(path)

    def url_of(self, name: str) -> str:
        """Convert the name of a file in the store to a URL."""
        return name if _SCHEME.match(name) else url_under(self.url, name)

    def name_at(self, url: str) -> str:
        """Convert the URL of a file of this table to the name in the store, as the inverse of `url_of`."""
        name = url.removeprefix(f"{self.url}/")
        return unquote(name) if self.url.startswith("file:") else name

    @contextmanager
    def translated_faults(self) -> Iterator[None]:
        """Convert errors of delta-rs and of the store to `ColumnsUnavailable`, without secrets in the text."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, pa.ArrowException) as fault:
            raise ColumnsUnavailable(
                f"table {self.url}: expected to reach its log and files, got {self.reason(fault)}; check the storage "
                f"and the settings of tierCatalog"
            ) from None

    def reason(self, fault: BaseException) -> str:
        """Return the text of an exception in one line, without secrets."""
        return f"{type(fault).__name__}: {one_line(fault, self.secrets) or 'no reason given'}"


def delta_options(settings: Mapping[str, str]) -> dict[str, str]:
    """Convert S3 settings to the options of delta-rs. Raises `OptionError` for a timeout that is not a number."""
    options = dict(_RETRIES)
    for name, option in _SHARED_SETTINGS.items():
        value = settings.get(f"s3.{name}") or settings.get(f"client.{name}")
        if value:
            options[option] = value
    options |= {option: settings[name] for name, option in _S3_SETTINGS.items() if settings.get(name)}
    endpoint = options.get("aws_endpoint_url", "")
    if endpoint and _SCHEME.match(endpoint) is None:
        options["aws_endpoint_url"] = f"https://{endpoint}"  # pyarrow also assumes HTTPS.
    elif endpoint.lower().startswith("http:"):
        options["aws_allow_http"] = "true"
    for name, (option, seconds) in _TIMES.items():
        try:
            milliseconds = round(float(settings.get(name, seconds)) * 1000)
        except ValueError:
            raise OptionError(
                f"option 'tierCatalog', property {name}: expected a number of seconds, got {settings[name]!r}; correct "
                f"the value"
            ) from None
        options[option] = f"{milliseconds}ms"
    return options
