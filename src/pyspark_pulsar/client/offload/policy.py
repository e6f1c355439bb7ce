"""Where a topic's offloaded ledgers lie, and under which names. Nothing here opens a connection by itself.

Names: Pulsar's jcloud offloader writes the objects `{uuid}-ledger-{ledger}` and `{uuid}-ledger-{ledger}-index`
(`DataBlockUtils`); its file system offloader a Hadoop MapFile, the folder
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
# Offload drivers as Pulsar calls them, with the scheme of a bucket there.
_SCHEMES: Final = {"aws-s3": "s3", "s3": "s3", "google-cloud-storage": "gs", "azureblob": "az"}
_FILE_SYSTEM: Final = "filesystem"
_PATIENCE_MS: Final = 8_000

_refused: Final[set[Namespace]] = set()
"""Whose policy could not be seen: told once in a process."""


@dataclass(frozen=True, slots=True)
class TieredStore:
    """A bucket or folder that offloaded ledgers lie in, and how to get at it. Travels to executors.

    Credentials are among `settings` only if the user gave them so.
    """

    url: str
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """By obstore's names; of no use for folders."""
    connect_seconds: float = 10.0
    patience_seconds: float = 30.0
    """How long one request may take, retries included."""

    @property
    def is_folder(self) -> bool:
        """Whether the file system offloader wrote it, not the one for object stores."""
        return urlsplit(self.url).scheme in FOLDERS

    def name_of(self, partition: TopicPartition, ledger: Ledger) -> str:
        """The ledger's data object, or its folder; relative to `url`. Its `offload_id` must be known."""
        if not self.is_folder:
            return f"{ledger.offload_id}-ledger-{ledger.id}"
        topic = partition.as_topic
        # As Java's URLEncoder writes it.
        local = quote_plus(topic.local, safe="*").replace("~", "%7E")
        return f"{topic.namespace}/{topic.domain}/{local}/{ledger.id}-{ledger.offload_id}"


def tiered_store(options: ReadOptions, rest: RestClient | None, topic: TopicName) -> TieredStore | None:
    """Where the topic's ledgers are offloaded to: what `tieredStorageUrl` says, else what the offload policy says
    that holds for the topic (its own, its namespace's, the brokers'). Driver only.

    None where neither says it, or the role may not see the policy. Raises `OptionError`, `ConnectionFailed`.
    """
    patience_ms = options.operation_timeout_ms
    if options.read_from == "auto":
        # Another place stands in for one that cannot be reached.
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
        # What is given is not repeated: it may hold a password.
        raise OptionError(
            "option 'tieredStorageUrl': expected s3://bucket, gs://bucket, az://container, file:///folder or "
            "hdfs://host:port/folder without user, query and fragment; credentials belong into "
            "tieredStorageOptions or the environment"
        )


def _policy(rest: RestClient, topic: TopicName) -> Mapping[str, Any]:
    """Holds the offloader's own credentials: never log it, never hand it on."""
    paths = (
        topic_resource(topic, "offloadPolicies", applied="true"),
        namespace_resource(topic.namespace, "offloadPolicies"),
    )
    refused = False
    for path in paths:
        # The first needs policies of topics, which brokers may have switched off.
        try:
            answer = rest.get(path, f"reading the offload policy of {topic}")
        except (PermissionDenied, ProtocolError, TopicNotFoundError) as fault:
            refused = refused or isinstance(fault, PermissionDenied)
            continue
        if isinstance(answer, dict) and answer.get("managedLedgerOffloadDriver"):
            return answer
    if refused and topic.namespace not in _refused:
        _refused.add(topic.namespace)
        _LOG.warning(
            "namespace %s: this role may not see its offload policy, so offloaded ledgers are read elsewhere; give "
            "tieredStorageUrl to read them where they are",
            topic.namespace,
        )
    return {}


def _place(policy: Mapping[str, Any], topic: TopicName) -> tuple[str | None, dict[str, str]]:
    """Bucket and settings; nothing else of the policy is looked at."""
    driver = str(policy.get("managedLedgerOffloadDriver") or "")
    if driver.lower() == _FILE_SYSTEM:
        return _folder(str(policy.get("fileSystemURI") or ""), topic), {}
    scheme = _SCHEMES.get(driver.lower())
    if scheme is None:
        if driver:
            _LOG.warning(
                "%s: its ledgers are offloaded by the driver %s; give tieredStorageUrl to read them there",
                topic,
                driver,
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
        "%s: its ledgers are offloaded to a file system that is named in files of the brokers only; give "
        "tieredStorageUrl to read them there",
        topic,
    )
    return None
