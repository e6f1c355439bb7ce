"""The location and the names of a topic's offloaded ledgers, from options or the offload policy.

Pulsar's offloader for object stores writes the objects `{uuid}-ledger-{ledger}` and `{uuid}-ledger-{ledger}-index`
(`DataBlockUtils`). Pulsar's file system offloader writes a Hadoop MapFile: the folder
`{tenant}/{namespace}/persistent/{topic}/{ledger}-{uuid}` with the files `data` and `index`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote_plus, urlsplit

from pyspark_pulsar.client.admin.paths import namespace_resource, topic_resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError, PermissionDenied, ProtocolError, TopicNotFoundError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions

_LOG = logging.getLogger(__name__)

OBJECT_STORES: Final = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")
FOLDERS: Final = ("file", "hdfs")
# The URL scheme of buckets, by Pulsar's name of the offload driver.
_SCHEMES: Final = {"aws-s3": "s3", "s3": "s3", "google-cloud-storage": "gs", "azureblob": "az"}
_FILE_SYSTEM: Final = "filesystem"
_PATIENCE_MS: Final = 8_000

_refused_namespaces: Final[set[Namespace]] = set()
"""Namespaces whose offload policy this role is not allowed to read. A process logs each namespace once."""


@dataclass(frozen=True, slots=True)
class TieredStore:
    """A bucket or folder with offloaded ledgers, and settings for access. The driver sends instances to executors.

    `settings` contains credentials only if the user has set the credentials in options.
    """

    url: str
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Settings with obstore's names. Folders ignore all settings."""
    connect_seconds: float = 10.0
    patience_seconds: float = 30.0
    """The time limit of one request in seconds, including the retries of the request."""

    @property
    def is_folder(self) -> bool:
        """Return whether the ledgers are in a folder of the file system offloader, and not in an object store."""
        return urlsplit(self.url).scheme in FOLDERS

    def name_of(self, partition: TopicPartition, ledger: Ledger) -> str:
        """Return the name of the ledger's data object or folder, relative to `url`. `offload_id` must not be None."""
        if not self.is_folder:
            return f"{ledger.offload_id}-ledger-{ledger.id}"
        topic = partition.as_topic
        # The offloader encodes the topic's name with Java's URLEncoder.
        local = quote_plus(topic.local, safe="*").replace("~", "%7E")
        return f"{topic.namespace}/{topic.domain}/{local}/{ledger.id}-{ledger.offload_id}"


def find_tiered_store(options: ReadOptions, rest: RestClient | None, topic: TopicName) -> TieredStore | None:
    """Return the location of the topic's offloaded ledgers. Only the driver calls this function.

    The option `tieredStorageUrl` takes precedence over the effective offload policy, which an operator sets for the
    topic, the namespace or the brokers.

    Args:
        options: The options of the read.
        rest: The client for the offload policy, or None if the options name no admin REST API.
        topic: The topic.

    Returns:
        The location. None if neither source names a location, or if the role is not allowed to read the policy.

    Raises:
        OptionError: `tieredStorageUrl` has an invalid form.
        ConnectionFailed: The admin REST API is unreachable.

    """
    patience_ms = options.operation_timeout_ms
    if options.read_from == "auto":
        # Fail fast, because the reader falls back to another location if this location is unreachable.
        patience_ms = min(patience_ms, _PATIENCE_MS)
    url, settings = options.tiered_storage_url, dict[str, str]()
    if url is not None:
        _check(url)
    elif rest is not None:
        url, settings = _place(_policy(rest, topic), topic)
    if url is None:
        return None
    return TieredStore(
        url.rstrip("/"),
        tuple(
            {
                **settings,
                **dict(options.tiered_storage_options),
                **dict(options.tiered_storage_secrets),
            }.items()
        ),
        min(options.connection_timeout_ms, patience_ms) / 1000,
        patience_ms / 1000,
    )


def _check(url: str) -> None:
    place = urlsplit(url)
    plain = not place.query and not place.fragment and "@" not in place.netloc
    if (
        not plain
        or place.scheme not in OBJECT_STORES + FOLDERS
        or not (place.netloc or place.path.strip("/"))
    ):
        # The message does not quote the URL, because the URL can contain a password.
        raise OptionError(
            "option 'tieredStorageUrl': expected s3://bucket, gs://bucket, az://container, file:///folder or "
            "hdfs://host:port/folder without user, query and fragment, got another form (not shown); set credentials "
            "in tieredStorageOptions or the environment"
        )


def _policy(rest: RestClient, topic: TopicName) -> Mapping[str, Any]:
    """Return the offload policy. Never log or forward a policy, because it contains the offloader's credentials."""
    paths = (
        topic_resource(topic, "offloadPolicies", applied="true"),
        namespace_resource(topic.namespace, "offloadPolicies"),
    )
    refused = False
    for path in paths:
        # The first path fails if an operator has disabled topic policies in the brokers.
        try:
            answer = rest.get(path, f"reading the offload policy of {topic}")
        except (PermissionDenied, ProtocolError, TopicNotFoundError) as fault:
            refused = refused or isinstance(fault, PermissionDenied)
            continue
        if isinstance(answer, dict) and answer.get("managedLedgerOffloadDriver"):
            return answer
    if refused and topic.namespace not in _refused_namespaces:
        _refused_namespaces.add(topic.namespace)
        _LOG.warning(
            "Reading offloaded ledgers from other locations, because this role cannot read the offload policy (set "
            "tieredStorageUrl to read from tiered storage): namespace %s",
            topic.namespace,
        )
    return {}


def _place(policy: Mapping[str, Any], topic: TopicName) -> tuple[str | None, dict[str, str]]:
    """Return the URL of the bucket or folder, and settings without credentials, from the policy."""
    driver = str(policy.get("managedLedgerOffloadDriver") or "")
    if driver.lower() == _FILE_SYSTEM:
        return _folder(str(policy.get("fileSystemURI") or ""), topic), {}
    scheme = _SCHEMES.get(driver.lower())
    if scheme is None:
        if driver:
            _LOG.warning(
                "Reading offloaded ledgers from other locations, because the offload driver %s is unsupported "
                "(set tieredStorageUrl to read them from tiered storage): %s",
                driver,
                topic,
            )
        return None, {}
    older = {"s3": "s3ManagedLedgerOffload", "gs": "gcsManagedLedgerOffload"}.get(scheme, "")

    def setting(name: str) -> str:
        return str(policy.get(f"managedLedgerOffload{name}") or policy.get(f"{older}{name}") or "")

    bucket = setting("Bucket")
    settings = {"region": setting("Region"), "endpoint": setting("ServiceEndpoint")} if scheme == "s3" else {}
    return f"{scheme}://{bucket}" if bucket else None, {
        key: value for key, value in settings.items() if value
    }


def _folder(uri: str, topic: TopicName) -> str | None:
    folder = f"file://{uri}" if uri.startswith("/") else uri
    if urlsplit(folder).scheme in FOLDERS:
        return folder
    _LOG.warning(
        "Reading offloaded ledgers from other locations, because the offload policy names no supported file system "
        "(set tieredStorageUrl to read them from tiered storage): %s",
        topic,
    )
    return None
