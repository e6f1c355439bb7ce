"""What Hadoop's file systems, with which Spark reads Parquet, must be told to reach a table's files. Pure.

Folders and HDFS need nothing. S3 needs Hadoop's S3A (https://hadoop.apache.org/docs/stable/hadoop-aws), which pip's
PySpark does not have; Iceberg's settings of it become Hadoop's. Of any other place Hadoop has to know by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.history.columnar.table_files import NotScannable

_FILE: Final = "file:"
_S3_SCHEMES: Final = ("s3", "s3n", "s3a")
_S3: Final = {
    "endpoint": "fs.s3a.endpoint",
    "access-key-id": "fs.s3a.access.key",
    "secret-access-key": "fs.s3a.secret.key",
    "session-token": "fs.s3a.session.token",
    "region": "fs.s3a.endpoint.region",
}
_ELSEWHERE: Final = {
    "anonymous", "connect-timeout", "force-virtual-addressing", "request-timeout", "resolve-region",
    "retry-strategy-impl", "server-side-encryption", "sse-kms-key-id",
}  # fmt: skip
"""Told below, or not about what is read."""
_PROVIDER: Final = "fs.s3a.aws.credentials.provider"
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a."


def hadoop_url(url: str) -> str:
    """As Hadoop takes it, which knows no escapes in paths."""
    if url.startswith(_FILE):
        path = url.removeprefix(_FILE)
        # A host may stand before the path; it is this one.
        path = path[path.find("/", 2) :] if path.startswith("//") else path
        return f"{_FILE}//{unquote(path)}"
    scheme, separator, place = url.partition("://")
    if not separator:
        return f"{_FILE}//{url}"
    return f"s3a://{place}" if scheme in _S3_SCHEMES else url


def hadoop_settings(storage: TableStorage, url: str) -> dict[str, str]:
    """For the place of `url`; they hold secrets. Raises `NotScannable` for settings that Hadoop has no equal for."""
    given = dict(storage.settings)
    scheme = urlsplit(url).scheme
    if scheme in ("", "file"):
        return {}
    if scheme in _S3_SCHEMES:
        return _s3a(given)
    if any(key.startswith(f"{prefix}.") for key in given for prefix in _prefixes(scheme)):
        raise NotScannable(f"its catalog has settings for {scheme}:// which Hadoop is not told")
    return {}


def _prefixes(scheme: str) -> tuple[str, ...]:
    return {"gs": ("gcs",), "abfs": ("adls", "abfs"), "abfss": ("adls", "abfs")}.get(scheme, (scheme,))


def _s3a(given: Mapping[str, str]) -> dict[str, str]:
    own = {key.partition(".")[2]: text for key, text in given.items() if key.startswith("client.")}
    own |= {key.partition(".")[2]: text for key, text in given.items() if key.startswith("s3.")}
    unknown = sorted(own.keys() - _S3.keys() - _ELSEWHERE)
    if unknown:
        raise NotScannable(
            f"its catalog has the settings {', '.join(unknown)} of S3, which Hadoop is not told"
        )
    settings = {_S3[key]: text for key, text in own.items() if key in _S3}
    is_virtual = own.get("force-virtual-addressing", "").strip().lower() == "true"
    if "endpoint" in own:
        settings["fs.s3a.path.style.access"] = "false" if is_virtual else "true"
        settings["fs.s3a.connection.ssl.enabled"] = str(not own["endpoint"].startswith("http://")).lower()
    if own.get("anonymous", "").strip().lower() == "true":
        settings[_PROVIDER] = f"{_PROVIDERS}AnonymousAWSCredentialsProvider"
    elif "session-token" in own:
        settings[_PROVIDER] = f"{_PROVIDERS}TemporaryAWSCredentialsProvider"
    elif "access-key-id" in own:
        settings[_PROVIDER] = f"{_PROVIDERS}SimpleAWSCredentialsProvider"
    return settings
