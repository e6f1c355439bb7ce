"""Where a Delta table lies, and how it is reached: by delta-rs for its log, by pyarrow for its data files.

Users give settings by Iceberg's names (`s3.endpoint`, ...), so that one set serves both formats. Each is known to both
libraries: what one does not know, the other must not use, or a table could be written that cannot be read.

    given                        delta-rs                         otherwise
    s3.access-key-id             aws_access_key_id                the environment, an instance's role
    s3.secret-access-key         aws_secret_access_key
    s3.session-token             aws_session_token
    s3.region                    aws_region
    s3.endpoint                  aws_endpoint_url, and aws_allow_http where it begins with http:
    s3.proxy-uri                 proxy_url
    s3.role-arn                  aws_iam_role_arn
    s3.role-session-name         aws_iam_role_session_name
    s3.connect-timeout           connect_timeout                  10 s
    s3.request-timeout           timeout                          30 s
    s3.force-virtual-addressing  aws_virtual_hosted_style_request
    s3.anonymous                 aws_skip_signature

The first six, and `role-arn`, may also begin with `client.` instead of `s3.`, but for the endpoint and the proxy.
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
from pyspark_pulsar.history.columnar.redaction import one_line, redacted, secret_values
from pyspark_pulsar.history.columnar.storage import TableStorage, url_under

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG: Final = "_delta_log"
_S3_SCHEMES: Final = ("s3", "s3a", "s3n")
_BUCKET: Final = re.compile(r"[0-9A-Za-z_.-]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_EITHER: Final = {
    "access-key-id": "aws_access_key_id",
    "secret-access-key": "aws_secret_access_key",
    "session-token": "aws_session_token",
    "region": "aws_region",
    "role-arn": "aws_iam_role_arn",
    "role-session-name": "aws_iam_role_session_name",
}
"""With `s3.` or `client.` before them."""
_ONLY_S3: Final = {
    "s3.endpoint": "aws_endpoint_url",
    "s3.proxy-uri": "proxy_url",
    "s3.force-virtual-addressing": "aws_virtual_hosted_style_request",
    "s3.anonymous": "aws_skip_signature",
}
_TIMES: Final = {"s3.connect-timeout": ("connect_timeout", 10.0), "s3.request-timeout": ("timeout", 30.0)}
_RETRIES: Final = {"max_retries": "3", "retry_timeout": "60s"}
KNOWN_SETTINGS: Final = frozenset(
    [*_ONLY_S3, *_TIMES, *(f"{prefix}.{name}" for prefix in ("s3", "client") for name in _EITHER)]
)


@dataclass(frozen=True, slots=True)
class TableLocation:
    """Of one table, or of the folder that tables lie in."""

    url: str
    """Without slash at its end: `file:///folder` or `s3://bucket/prefix`."""
    storage: TableStorage
    options: Mapping[str, str] = field(repr=False)
    """For delta-rs."""
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, path: str, settings: Mapping[str, str]) -> TableLocation:
        """Raises `OptionError` for a location that is neither a folder nor S3."""
        parts = urlsplit(path)
        if _SCHEME.match(path) is None and Path(path).is_absolute():
            url = Path(path).as_uri()
        elif parts.scheme in _S3_SCHEMES and _BUCKET.fullmatch(parts.netloc) and not parts.query:
            url = f"s3://{parts.netloc}{parts.path}"
        elif parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
            url = f"file://{parts.path}"
        else:
            raise OptionError(
                f"option 'tierCatalog': expected as path file:///folder or s3://bucket/prefix without user and query, "
                f"got {redacted(path, secret_values(settings))!r}"
            )
        is_local = url.startswith("file:")
        options = {} if is_local else delta_options(settings)
        return cls(url.rstrip("/"), TableStorage.of(settings), options, secret_values(settings))

    def under(self, *names: str) -> TableLocation:
        """A location in this one. Raises `OptionError` for names that are no names of folders."""
        for name in names:
            if not re.fullmatch(r"[\w-][\w.-]*", name):
                raise OptionError(
                    f"option 'tierTable': expected names of letters, digits, '_', '-' and '.', got {name!r}"
                )
        return TableLocation("/".join([self.url, *names]), self.storage, self.options, self.secrets)

    def load(self) -> DeltaTable:
        """As it is now. Raises `deltalake.exceptions.TableNotFoundError`, and what `told` turns into other words."""
        from deltalake import DeltaTable

        return DeltaTable(self.url, storage_options=dict(self.options))

    def name_of(self, path: str) -> str:
        """The name in the store, relative to the table, of a file that the log calls `path`; absolute ones stay."""
        return path if _SCHEME.match(path) else unquote(path)

    def url_of(self, name: str) -> str:
        """Of a file by its name in the store."""
        return name if _SCHEME.match(name) else url_under(self.url, name)

    def name_at(self, url: str) -> str:
        """The name in the store of one of our files: `url_of` the other way round."""
        name = url.removeprefix(f"{self.url}/")
        return unquote(name) if self.url.startswith("file:") else name

    @contextmanager
    def told(self) -> Iterator[None]:
        """Faults of delta-rs and of the store in words of our own, without secrets. Raises `ColumnsUnavailable`."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, pa.ArrowException) as fault:
            raise ColumnsUnavailable(
                f"table {self.url}: expected to reach its log and files, got {self.reason(fault)}"
            ) from None

    def reason(self, fault: BaseException) -> str:
        """A fault in one line, without secrets."""
        return f"{type(fault).__name__}: {one_line(fault, self.secrets) or 'no reason given'}"


def delta_options(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings of S3 by delta-rs' names. Raises `OptionError` for a time that is no number."""
    options = dict(_RETRIES)
    for name, option in _EITHER.items():
        value = settings.get(f"s3.{name}") or settings.get(f"client.{name}")
        if value:
            options[option] = value
    options |= {option: settings[name] for name, option in _ONLY_S3.items() if settings.get(name)}
    endpoint = options.get("aws_endpoint_url", "")
    if endpoint and _SCHEME.match(endpoint) is None:
        options["aws_endpoint_url"] = f"https://{endpoint}"  # As pyarrow takes it.
    elif endpoint.lower().startswith("http:"):
        options["aws_allow_http"] = "true"
    for name, (option, seconds) in _TIMES.items():
        try:
            milliseconds = round(float(settings.get(name, seconds)) * 1000)
        except ValueError:
            raise OptionError(
                f"option 'tierCatalog': expected seconds as {name}, got {settings[name]!r}"
            ) from None
        options[option] = f"{milliseconds}ms"
    return options
