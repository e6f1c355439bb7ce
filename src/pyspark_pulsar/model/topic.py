"""Names of topics: parsing, printing, and separating a partition index from the name of its topic.

Grammar (`TopicName`, `NamespaceName` and `NamedEntity` of Pulsar 4.0.8):
`{persistent|non-persistent}://tenant/namespace/local`. The short form `local` is `persistent://public/default/local`,
and `tenant/namespace/local` is `persistent://tenant/namespace/local`. Tenants and namespaces consist of ASCII
letters, digits and `- = : . _`. A local name can contain any character except a slash, including blanks, quotes, `%`
and control characters. A partition of a topic is itself a topic named `<topic>-partition-<N>`.

Pulsar 5 has two more domains. `topic://tenant/namespace/local` is a scalable topic, whose messages are in segments. A
segment is a topic named `segment://tenant/namespace/local/<first hash>-<last hash>-<id>`, and each hash has four
hexadecimal digits. Most modules do not support scalable topics and segments. Therefore the parser refuses their names
unless the caller allows scalable topics.

This package refuses some names that brokers accept. Names of Pulsar 1 are refused because these names have a cluster
between tenant and namespace. The names `.` and `..`, and names with a zero byte, are refused because the admin REST API
has no path for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.pages import page

_PARTITION: Final = re.compile(r"(?P<topic>.*)-partition-(?P<digits>\d{1,10})", re.DOTALL)
_MOST_PARTITION: Final = 2**31 - 1
_NAME_PART: Final = re.compile(r"[-=:.\w]+", re.ASCII)
# The characters for which Java's Character.isWhitespace is true, so a no-break space is not included.
_BLANK: Final = re.compile(r"[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]*")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_PARTS: Final = 3  # tenant, namespace, local
_DOMAINS: Final = ("persistent", "non-persistent")
_SCALABLE: Final = "topic"
_SEGMENT: Final = "segment"
_SEGMENT_NAME: Final = re.compile(
    r"segment://(?P<topic>.*)/(?P<first>[0-9a-f]{4})-(?P<last>[0-9a-f]{4})-(?P<id>0|[1-9]\d{0,17})",
    re.DOTALL | re.ASCII,
)
_SYSTEM_TOPIC: Final = re.compile(r"^__|__transaction_pending_ack$")
# In the path of a URL, these names mean the current and the parent folder, even if they are percent-encoded.
_FOLDERS: Final = (".", "..")
_HAS_CLUSTER: Final = (
    "expected tenant/namespace, got a name of Pulsar 1 with a cluster between tenant and namespace; "
    "have an administrator move the data to a namespace without a cluster"
)


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """A namespace, which consists of a tenant and a name."""

    tenant: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Namespace:
        """Parse `tenant/namespace`. Raise `TopicNameError` for other texts."""
        parts = text.split("/")
        if len(parts) == _PARTS and all(map(is_name, parts)):
            raise TopicNameError(f"namespace {text!r}: {_HAS_CLUSTER}")
        if len(parts) != _PARTS - 1:
            raise TopicNameError(
                f"namespace {text!r}: expected tenant/namespace, got another form; correct the name"
            )
        for kind, part in zip(("tenant", "namespace"), parts, strict=True):
            if not is_name(part):
                raise TopicNameError(
                    f"namespace {text!r}: expected a {kind} of ASCII letters, digits and - = : . _ that is not empty, "
                    f"'.' or '..', got {part!r}; correct the name"
                )
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.tenant}/{self.name}"


def is_name(text: str) -> bool:
    """Return whether the text is a valid name of a tenant, or of a namespace within its tenant."""
    return _NAME_PART.fullmatch(text) is not None and text not in _FOLDERS


@dataclass(frozen=True, slots=True, order=True)
class TopicName:
    """A full topic name, which can also be the name of a partition."""

    domain: str
    namespace: Namespace
    local: str

    @classmethod
    def parse(cls, text: str, *, scalable: bool = False) -> TopicName:
        """Parse the full or short form of a name. Leading and trailing blanks are a part of the name.

        Args:
            text: The name.
            scalable: Whether to accept the name of a scalable topic.

        Raises:
            TopicNameError: The text is not a valid name, or it is the name of a segment. The name of a scalable topic
                also raises if `scalable` is False.

        """
        domain, separator, rest = text.partition("://")
        if not separator:
            domain, rest = "persistent", text
        if domain in (_SCALABLE, _SEGMENT) and not (scalable and domain == _SCALABLE):
            raise TopicNameError(_refused(text, domain, rest))
        if domain not in _DOMAINS and domain != _SCALABLE:
            raise TopicNameError(
                f"topic {text!r}: expected a name that starts with persistent:// or non-persistent://, "
                f"got {domain}://; correct the name"
            )
        parts = rest.split("/", _PARTS)
        if len(parts) == 1 and not separator:
            parts = ["public", "default", rest]
        if len(parts) > _PARTS and separator and all(map(is_name, parts[:_PARTS])):
            raise TopicNameError(f"topic {text!r}: {_HAS_CLUSTER}")
        if len(parts) != _PARTS or not all(parts):
            raise TopicNameError(
                f"topic {text!r}: expected 'topic', 'tenant/namespace/topic' or "
                f"'persistent://tenant/namespace/topic', got another form; correct the name"
            )
        tenant, namespace, local = parts
        try:
            where = Namespace.parse(f"{tenant}/{namespace}")
        except TopicNameError as fault:
            raise TopicNameError(f"topic {text!r}: {fault}") from None
        expected = _fault(local)
        if domain == _SCALABLE and _split_partition(local)[1] >= 0:
            expected = "the name of a scalable topic, without the suffix of a partition"
        if expected is not None:
            raise TopicNameError(f"topic {text!r}: expected {expected}, got {local!r}; correct the name")
        return cls(domain, where, local)

    def __str__(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

    @property
    def is_persistent(self) -> bool:
        return self.domain == "persistent"

    @property
    def is_scalable(self) -> bool:
        return self.domain == _SCALABLE

    @property
    def as_scalable(self) -> TopicName:
        """Return the name of the scalable topic to which Pulsar migrates this topic."""
        return TopicName(_SCALABLE, self.namespace, self.local)

    @property
    def is_system(self) -> bool:
        """Return whether Pulsar uses the topic internally, for events, transactions or compaction."""
        return bool(_SYSTEM_TOPIC.search(self.without_partition().local))

    @property
    def partition(self) -> int:
        """Return the partition index at the end of the name, or -1 for a name without an index.

        Pulsar also accepts digits of other scripts, and assigns index 3 to a topic that ends in `-partition-\u0663`.
        However, such a topic is not partition 3 and has its own messages. Therefore this property returns -1.
        """
        return _split_partition(self.local)[1]

    def without_partition(self) -> TopicName:
        local, index = _split_partition(self.local)
        return self if index < 0 else TopicName(self.domain, self.namespace, local)

    def with_partition(self, index: int) -> TopicName:
        return TopicName(self.domain, self.namespace, f"{self.local}-partition-{index}")


def _refused(text: str, domain: str, rest: str) -> str:
    if domain == _SEGMENT:
        topic = rest.rpartition("/")[0]
        return (
            f"topic {text!r}: expected the name of a topic, got the name of a segment of a scalable topic; "
            f"name the topic: {_SCALABLE}://{topic}"
        )
    return (
        f"topic {text!r}: expected a name that starts with persistent:// or non-persistent://, got a scalable topic "
        "of Pulsar 5. A scalable topic can be read by a batch or a stream with option 'topic' or 'topics', but "
        f"supports no other operation ({page('scalable-topics')}); use a topic that starts with persistent:// for "
        "other operations"
    )


def _split_partition(local: str) -> tuple[str, int]:
    """Split a local name into the topic's local name and the partition index. Without a suffix, the index is -1."""
    topic, digits = _split_as_pulsar(local)
    return (topic, int(digits)) if digits and digits.isascii() else (local, -1)


def _split_as_pulsar(local: str) -> tuple[str, str]:
    """Split a local name into the topic and the digits of the index, as Pulsar's `getPartitionIndex` does.

    The digits are empty if the name has no index. An index has no leading zeros, so `01` is not an index. An index
    fits into a signed 32-bit number. The digits can be of any script whose digits have 16-bit code points.
    """
    match = _PARTITION.fullmatch(local)
    if match is None:
        return local, ""
    digits = match["digits"]
    index = int(digits)
    is_index = index <= _MOST_PARTITION and len(str(index)) == len(digits) and max(digits) <= "\uffff"
    return (match["topic"], digits) if is_index else (local, "")


def _fault(local: str) -> str | None:
    """Return None if a local name is valid, otherwise a description of the expected form."""
    if _BLANK.fullmatch(_split_as_pulsar(local)[0]):
        return "a local name that is not blank before the suffix of a partition"
    if local in _FOLDERS or "\0" in local:
        return "a local name that the admin REST API supports (neither '.' nor '..', and no zero bytes)"
    if _SURROGATE.search(local):
        return "a local name that can be encoded in UTF-8"
    return None


def parse_listed(texts: Iterable[str]) -> tuple[list[TopicName], list[str]]:
    """Parse a broker's list. Return its topics, and the names in the list that this package cannot use."""
    topics: list[TopicName] = []
    unusable: list[str] = []
    for text in texts:
        try:
            topics.append(TopicName.parse(text))
        except TopicNameError:
            unusable.append(text)
    return topics, unusable


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A stream of entries: a topic without partitions, a partition, or a segment of a scalable topic.

    Attributes:
        topic: The name of the topic, without the suffix of a partition.
        index: The index of the partition, or the id of the segment; -1 for a topic without partitions.
        hashes: The first and the last hash of the keys in a segment, both inclusive. The hashes are a part of the
            segment's name. None if the stream is not a segment.

    """

    topic: TopicName
    index: int
    hashes: tuple[int, int] | None = None

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Parse the name of a topic, a partition, a segment, or a whole scalable topic, whose index is -1.

        Raises:
            TopicNameError: The text is none of these names.

        """
        match = _SEGMENT_NAME.fullmatch(text)
        if match is not None:
            topic = TopicName.parse(f"{_SCALABLE}://{match['topic']}", scalable=True)
            return cls(topic, int(match["id"]), (int(match["first"], 16), int(match["last"], 16)))
        name = TopicName.parse(text, scalable=True)
        return cls(name.without_partition(), name.partition)

    @property
    def is_segment(self) -> bool:
        return self.hashes is not None

    @property
    def as_topic(self) -> TopicName:
        """Return the topic name by which brokers identify this stream."""
        if self.hashes is not None:
            first, last = self.hashes
            local = f"{self.topic.local}/{first:04x}-{last:04x}-{self.index}"
            return TopicName(_SEGMENT, self.topic.namespace, local)
        return self.topic if self.index < 0 else self.topic.with_partition(self.index)

    @property
    def name(self) -> str:
        """Return the full name of `as_topic`."""
        return str(self.as_topic)

    def __str__(self) -> str:
        return self.name
