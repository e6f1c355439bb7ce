"""URLs and settings with which Spark reads a table's Parquet files from Hadoop's file systems. Pure.

Local folders and HDFS need no settings. S3 needs Hadoop's S3A (https://hadoop.apache.org/docs/stable/hadoop-aws), which
PySpark from pip does not contain. Iceberg's settings for S3 are converted to Hadoop's settings. For all other stores,
Hadoop's own configuration must contain the settings.
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
_OTHER_S3_SETTINGS: Final = {
    "anonymous", "connect-timeout", "force-virtual-addressing", "request-timeout", "resolve-region",
    "retry-strategy-impl", "server-side-encryption", "sse-kms-key-id",
}  # fmt: skip
"""S3 settings that have no fixed equivalent in S3A. `_s3a` converts some of these settings. The other settings do not
affect reads.
"""
_PROVIDER: Final = "fs.s3a.aws.credentials.provider"
_PROVIDERS: Final = "org.apache.hadoop.fs.s3a."


def hadoop_url(url: str) -> str:
    """Convert a URL to Hadoop's form. Local paths are unescaped."""
    if url.startswith(_FILE):
        path = url.removeprefix(_FILE)
        # The URL can contain a host name, which is always the local host.
        path = path[path.find("/", 2) :] if path.startswith("//") else path
        return f"{_FILE}//{unquote(path)}"
    scheme, separator, place = url.partition("://")
    if not separator:
        return f"{_FILE}//{url}"
    return f"s3a://{place}" if scheme in _S3_SCHEMES else url


def hadoop_settings(storage: TableStorage, url: str) -> dict[str, str]:
    """Return Hadoop's settings for the store of `url`. The settings can contain secrets.

    Raises:
        NotScannable: Hadoop has no equivalent of a setting.

    """
    iceberg_settings = dict(storage.settings)
    scheme = urlsplit(url).scheme
    if scheme in ("", "file"):
        return {}
    if scheme in _S3_SCHEMES:
        return _s3a(iceberg_settings)
    if any(key.startswith(f"{prefix}.") for key in iceberg_settings for prefix in _prefixes(scheme)):
        raise NotScannable(
            f"the table's catalog has settings for {scheme}:// that have no equivalent in Hadoop"
        )
    return {}


def _prefixes(scheme: str) -> tuple[str, ...]:
    return {"gs": ("gcs",), "abfs": ("adls", "abfs"), "abfss": ("adls", "abfs")}.get(scheme, (scheme,))


def _s3a(iceberg_settings: Mapping[str, str]) -> dict[str, str]:
    own = {key.partition(".")[2]: text for key, text in iceberg_settings.items() if key.startswith("client.")}
    own |= {key.partition(".")[2]: text for key, text in iceberg_settings.items() if key.startswith("s3.")}
    unknown = sorted(own.keys() - _S3.keys() - _OTHER_S3_SETTINGS)
    if unknown:
        raise NotScannable(
            f"the table's catalog has the S3 settings {', '.join(unknown)}, which have no equivalent in Hadoop"
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
