"""Names of topics: parse, print, and tell a partition from its topic.

Grammar (Pulsar `TopicName`): `{persistent|non-persistent}://tenant/namespace/local`, where a short
form `local` stands for `persistent://public/default/local` and `tenant/namespace/local` for the
persistent topic of that name. A partition of a topic is itself a topic named `<topic>-partition-<N>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark_pulsar.errors import TopicNameError

_PARTITION = re.compile(r"^(?P<topic>.+)-partition-(?P<index>\d+)$", re.DOTALL)
_NAME_PART = re.compile(r"^[-=:.\w]+$", re.ASCII)
_PARTS = 3  # tenant, namespace, local
_DOMAINS = ("persistent", "non-persistent")
_SYSTEM_TOPIC = re.compile(r"^__|__transaction_pending_ack$")


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """`tenant/namespace`."""

    tenant: str
    name: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class TopicName:
    """A full topic name; `local` may itself be the name of a partition."""

    domain: str
    namespace: Namespace
    local: str

    @classmethod
    def parse(cls, text: str) -> TopicName:
        """The full or short form. Raises `TopicNameError`."""
        domain, separator, rest = text.strip().partition("://")
        if not separator:
            domain, rest = "persistent", text.strip()
        if domain not in _DOMAINS:
            raise TopicNameError(
                f"topic {text!r}: expected a name that starts with persistent:// or non-persistent://, "
                f"got {domain}://"
            )
        parts = rest.split("/", 2)
        if len(parts) == 1 and not separator:
            parts = ["public", "default", rest]
        if len(parts) != _PARTS or not all(parts):
            raise TopicNameError(
                f"topic {text!r}: expected 'topic', 'tenant/namespace/topic' or "
                f"'persistent://tenant/namespace/topic'"
            )
        tenant, namespace, local = parts
        for kind, part in (("tenant", tenant), ("namespace", namespace)):
            if not _NAME_PART.match(part):
                raise TopicNameError(
                    f"topic {text!r}: the {kind} {part!r} may have letters, digits and - = : . _ only"
                )
        if "/" in local or any(character.isspace() for character in local):
            raise TopicNameError(f"topic {text!r}: the local name {local!r} may have neither '/' nor spaces")
        return cls(domain, Namespace(tenant, namespace), local)

    def __str__(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

    @property
    def is_persistent(self) -> bool:
        return self.domain == "persistent"

    @property
    def is_system(self) -> bool:
        """Topics that Pulsar keeps for itself (event, transaction and compaction bookkeeping)."""
        return bool(_SYSTEM_TOPIC.search(self.without_partition().local))

    @property
    def partition(self) -> int:
        """The partition index that the name ends in; -1 for a name without one."""
        match = _PARTITION.match(self.local)
        return int(match["index"]) if match else -1

    def without_partition(self) -> TopicName:
        match = _PARTITION.match(self.local)
        return TopicName(self.domain, self.namespace, match["topic"]) if match else self

    def with_partition(self, index: int) -> TopicName:
        return TopicName(self.domain, self.namespace, f"{self.local}-partition-{index}")


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One stream of entries: a topic that is not partitioned, or one partition of one that is.

    `topic` is the name without partition suffix; `partition` is -1 when the topic is not partitioned.
    """

    topic: TopicName
    partition: int

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        name = TopicName.parse(text)
        return cls(name.without_partition(), name.partition)

    @property
    def name(self) -> str:
        """The full topic name that brokers know this stream by."""
        return str(self.topic if self.partition < 0 else self.topic.with_partition(self.partition))

    def __str__(self) -> str:
        return self.name
