"""Names of topics: parse, print, and tell a partition from its topic.

Grammar (`TopicName`, `NamespaceName` and `NamedEntity` of Pulsar 4.0.8):
`{persistent|non-persistent}://tenant/namespace/local`, where a short form `local` stands for
`persistent://public/default/local` and `tenant/namespace/local` for the persistent topic of that name. Tenants and
namespaces have letters of ASCII, digits and `- = : . _`. A local name has any letters but a slash: blanks, quotes, `%`
and control characters too. A partition of a topic is itself a topic named `<topic>-partition-<N>`.

Pulsar 5 has two domains more. `topic://tenant/namespace/local` is a scalable topic; its messages lie in segments, each
a topic named `segment://tenant/namespace/local/<first hash>-<last hash>-<id>` (hashes in four hexadecimal digits). Most
of this package knows nothing of them, so names of theirs are refused where a caller does not ask for them.

Brokers know some names that this package refuses: those with a cluster between tenant and namespace, of Pulsar 1; and
`.`, `..` and names with a zero byte, for which the admin REST API has no path.
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
# What Java's Character.isWhitespace says of; a no-break space is a letter like others.
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
# A path of a URL takes them as this folder and the one above, quoted or not.
_FOLDERS: Final = (".", "..")
_OF_PULSAR_1: Final = (
    "a cluster is between tenant and namespace; names of Pulsar 1 with a cluster are not taken: "
    "let an administrator move its data to a namespace without one"
)


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """`tenant/namespace`."""

    tenant: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Namespace:
        """Raises `TopicNameError`."""
        parts = text.split("/")
        if len(parts) == _PARTS and all(map(is_name, parts)):
            raise TopicNameError(f"namespace {text!r}: {_OF_PULSAR_1}")
        if len(parts) != _PARTS - 1:
            raise TopicNameError(f"namespace {text!r}: expected tenant/namespace, got another form")
        for kind, part in zip(("tenant", "namespace"), parts, strict=True):
            if not is_name(part):
                raise TopicNameError(
                    f"namespace {text!r}: the {kind} {part!r} may have letters of ASCII, digits and - = : . _ only, "
                    f"and be neither empty nor '.' nor '..'"
                )
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.tenant}/{self.name}"


def is_name(text: str) -> bool:
    """Whether a tenant, or a namespace within its tenant, can be called so."""
    return _NAME_PART.fullmatch(text) is not None and text not in _FOLDERS


@dataclass(frozen=True, slots=True, order=True)
class TopicName:
    """A full topic name; `local` may itself be the name of a partition."""

    domain: str
    namespace: Namespace
    local: str

    @classmethod
    def parse(cls, text: str, *, scalable: bool = False) -> TopicName:
        """The full or short form, letter by letter: blanks at its ends belong to it. Raises `TopicNameError`.

        `scalable`: the caller can do with a scalable topic what it can do with others.
        """
        domain, separator, rest = text.partition("://")
        if not separator:
            domain, rest = "persistent", text
        if domain in (_SCALABLE, _SEGMENT) and not (scalable and domain == _SCALABLE):
            raise TopicNameError(_refused(text, domain, rest))
        if domain not in _DOMAINS and domain != _SCALABLE:
            raise TopicNameError(
                f"topic {text!r}: expected a name that starts with persistent:// or non-persistent://, "
                f"got {domain}://"
            )
        parts = rest.split("/", _PARTS)
        if len(parts) == 1 and not separator:
            parts = ["public", "default", rest]
        if len(parts) > _PARTS and separator and all(map(is_name, parts[:_PARTS])):
            raise TopicNameError(f"topic {text!r}: {_OF_PULSAR_1}")
        if len(parts) != _PARTS or not all(parts):
            raise TopicNameError(
                f"topic {text!r}: expected 'topic', 'tenant/namespace/topic' or "
                f"'persistent://tenant/namespace/topic'"
            )
        tenant, namespace, local = parts
        try:
            where = Namespace.parse(f"{tenant}/{namespace}")
        except TopicNameError as fault:
            raise TopicNameError(f"topic {text!r}: {fault}") from None
        expected = _expected(local)
        if domain == _SCALABLE and _apart(local)[1] >= 0:
            expected = "the name of a scalable topic, which has segments and no partitions"
        if expected is not None:
            raise TopicNameError(f"topic {text!r}: expected {expected}, got {local!r}")
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
        """The scalable topic that a topic of this name is migrated to."""
        return TopicName(_SCALABLE, self.namespace, self.local)

    @property
    def is_system(self) -> bool:
        """Topics that Pulsar keeps for itself (event, transaction and compaction bookkeeping)."""
        return bool(_SYSTEM_TOPIC.search(self.without_partition().local))

    @property
    def partition(self) -> int:
        """The partition index that the name ends in; -1 for a name without one.

        As Pulsar has it, but for digits of other scripts: to Pulsar a topic that ends in `-partition-\u0663` has the
        index 3 too, but it is not that partition, and has messages of its own.
        """
        return _apart(self.local)[1]

    def without_partition(self) -> TopicName:
        local, index = _apart(self.local)
        return self if index < 0 else TopicName(self.domain, self.namespace, local)

    def with_partition(self, index: int) -> TopicName:
        return TopicName(self.domain, self.namespace, f"{self.local}-partition-{index}")


def _refused(text: str, domain: str, rest: str) -> str:
    if domain == _SEGMENT:
        topic = rest.rpartition("/")[0]
        return (
            f"topic {text!r}: expected the name of a topic, got that of a segment, a part of a scalable topic; "
            f"name the topic: {_SCALABLE}://{topic}"
        )
    return (
        f"topic {text!r}: expected a name that starts with persistent:// or non-persistent://, got a scalable topic of "
        f"Pulsar 5. A scalable topic can be read, by a batch or a stream with option 'topic' or 'topics'; all else is "
        f"refused ({page('scalable-topics')} says why): use a topic that starts with persistent:// for it"
    )


def _apart(local: str) -> tuple[str, int]:
    """A local name without the suffix of a partition, and the index; the name and -1 without such a suffix."""
    topic, digits = _as_pulsar(local)
    return (topic, int(digits)) if digits and digits.isascii() else (local, -1)


def _as_pulsar(local: str) -> tuple[str, str]:
    """Pulsar's `getPartitionIndex`: the topic, and the index as it stands there, empty without one. It has no more
    digits than its number, so `01` is none, nor is what Java's int does not hold. Digits may be of any script that has
    them in 16 bits."""
    match = _PARTITION.fullmatch(local)
    if match is None:
        return local, ""
    digits = match["digits"]
    index = int(digits)
    is_index = index <= _MOST_PARTITION and len(str(index)) == len(digits) and max(digits) <= "\uffff"
    return (match["topic"], digits) if is_index else (local, "")


def _expected(local: str) -> str | None:
    """What is expected of a local name that has a fault; None for one that has none."""
    if _BLANK.fullmatch(_as_pulsar(local)[0]):
        return "a local name with more than blanks before what makes it a partition's"
    if local in _FOLDERS or "\0" in local:
        return "a local name that the admin REST API has a path for, which is neither '.' nor '..' and has no zero byte"
    if _SURROGATE.search(local):
        return "a local name that can be written in UTF-8"
    return None


def parse_listed(texts: Iterable[str]) -> tuple[list[TopicName], list[str]]:
    """The topics of a broker's list, and the names in it that this package cannot use."""
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
    """One stream of entries: a topic that is not partitioned, one partition of one that is, or one segment of a
    scalable topic.

    `topic` is the name without partition suffix; `index` is -1 when the topic is not partitioned, and the id of the
    segment of a scalable topic.
    """

    topic: TopicName
    index: int
    hashes: tuple[int, int] | None = None
    """Of a segment: the hashes of keys that it holds, both inclusive. They are a part of its name."""

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Also a segment, and a scalable topic as a whole, whose index is -1. Raises `TopicNameError`."""
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
        """What brokers know this stream as."""
        if self.hashes is not None:
            first, last = self.hashes
            local = f"{self.topic.local}/{first:04x}-{last:04x}-{self.index}"
            return TopicName(_SEGMENT, self.topic.namespace, local)
        return self.topic if self.index < 0 else self.topic.with_partition(self.index)

    @property
    def name(self) -> str:
        """The full name of `as_topic`."""
        return str(self.as_topic)

    def __str__(self) -> str:
        return self.name
