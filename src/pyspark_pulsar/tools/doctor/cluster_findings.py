"""Checks of brokers, topics, permissions and the admin REST API, from this machine.

The checks send the same requests as a query.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.cluster_parts import BrokerVersion
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.security.url import PLAIN, TLS, parse_service_url
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.security import NO_PLUGIN
from pyspark_pulsar.read.bounds.topics import discover_partitions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.tools.doctor.finding import NOT_ASKED, OK, WARNING, Finding, check, count_of, from_error

MOST_SKEW_SECONDS: Final = 5.0
_LEAST_VERSION: Final = (3, 0)
_NO_ADMIN: Final = (
    "not set: ledgers are unknown, so all messages are read from brokers, and lag is not counted in messages"
)


def brokers(options: ReadOptions) -> list[Finding]:
    """Return a finding for each host of `service.url`."""
    scheme = TLS if options.uses_tls else PLAIN
    try:
        hosts = parse_service_url(options.service_url)
    except PulsarError as fault:
        return [from_error("broker", fault)]
    found = []
    for host in hosts:
        shown = f"[{host.host}]:{host.port}" if ":" in host.host else f"{host.host}:{host.port}"
        one = replace(options, service_url=f"{scheme}{shown}")
        found.append(check(f"broker {shown}", partial(_connect, one)))
    return found


def _connect(options: ReadOptions) -> str:
    with BrokerClient(options) as client:
        client.service_connection()
    how = "TLS" if options.uses_tls else "no TLS"
    who = "role authorized" if options.auth_plugin != NO_PLUGIN else "without authentication"
    return f"answers; {how}, {who}"


def topics(
    client: BrokerClient, names: Sequence[TopicName], known: dict[TopicName, TopicPartition], *, writes: bool
) -> Iterator[Finding]:
    """Check that topics exist, and that the role is allowed to read the topics. Checks create no topic.

    With `writes`, also check that the role is allowed to write to the topics.

    `known` receives the first partition of each topic that exists.
    """
    for name in names:
        partitions: list[TopicPartition] = []
        yield check(f"topic {name}", partial(_partitions, client, name, partitions))
        if partitions:
            known[name] = partitions[0]
        rights = [("read", _consume)] + ([("write", _produce)] if writes else [])
        for verb, use in rights:
            if name.is_scalable and verb == "write":
                yield Finding(f"right to write {name}", NOT_ASKED, "scalable topics can only be read")
                continue
            subject = f"right to {verb} {name}"
            if partitions:
                yield check(subject, partial(use, client, partitions[0]))
            else:
                yield Finding(subject, NOT_ASKED, "the topic was not found")


def _partitions(client: BrokerClient, name: TopicName, found: list[TopicPartition]) -> str:
    found += discover_partitions(client, [name])
    if name.is_scalable:
        return count_of(len(found), "segment")
    is_whole = len(found) == 1 and found[0].as_topic == name
    return "not partitioned" if is_whole else count_of(len(found), "partition")


def _consume(client: BrokerClient, partition: TopicPartition) -> str:
    """Request the end of the log, which brokers return only to roles that are allowed to consume."""
    with closing(LogEnds(client)) as log_ends:
        end = log_ends.ends([partition], is_repeated=True)[partition]
    return f"granted; {partition.as_topic.local} ends at {end}"


def _produce(client: BrokerClient, partition: TopicPartition) -> str:
    producer = Producer(client, partition.name, 1, client.schema(partition.topic), client.request_seconds)
    producer.open()
    producer.close()
    return "granted; nothing was sent"


def administration(admin: AdminClient | None, partitions: Sequence[TopicPartition]) -> Iterator[Finding]:
    """Check the admin REST API, its version and clock, and the permissions of the role.

    If the API refuses some information, queries run without this information.
    """
    if admin is None:
        yield Finding("admin REST API", WARNING, _NO_ADMIN, "set --admin-url (option admin.url)")
        return
    began = time.time()
    try:
        version = admin.brokers.version()
    except PulsarError as fault:
        yield from_error("admin REST API", fault)
        yield Finding("right to see ledgers", NOT_ASKED, "the admin REST API could not be reached")
        return
    yield Finding("admin REST API", OK, "answers")
    yield server(version)
    yield clock(version.clock, began, time.time())
    for partition in partitions:
        yield check(
            f"right to see ledgers of {partition}",
            partial(_ledgers, admin, partition),
            WARNING,
            "let the role read the topic's stats, because otherwise all messages are read from brokers",
        )


def _ledgers(admin: AdminClient, partition: TopicPartition) -> str:
    ledgers = fetch_ledgers(admin, [partition])[partition].ledgers
    offloaded = sum(ledger.offload_id is not None for ledger in ledgers)
    return f"granted; {count_of(len(ledgers), 'ledger')}" + (
        f", {offloaded} of them offloaded" if offloaded else ""
    )


def server(version: BrokerVersion) -> Finding:
    """Return a finding about the brokers' version.

    A version before 3.0 causes a warning, because this package is not tested with such versions.
    """
    numbers = tuple(int(number) for number in re.findall(r"\d+", version.text)[:2])
    if numbers < _LEAST_VERSION:
        return Finding(
            "Pulsar",
            WARNING,
            f"{version.text}; tested with 3.0 and later",
            "upgrade the brokers, or test thoroughly first",
        )
    return Finding("Pulsar", OK, version.text)


def clock(theirs: datetime | None, before: float, after: float) -> Finding:
    """Check the clock of the broker.

    Args:
        theirs: The broker's time in the answer, without fractions of a second; None if the answer contains no time.
        before: Unix seconds by this machine's clock when the request was sent.
        after: Unix seconds by this machine's clock when the answer arrived.

    """
    subject = "clock"
    if theirs is None:
        return Finding(subject, NOT_ASKED, "the answers of the admin REST API contain no time")
    read_time = theirs.astimezone(UTC).timestamp()
    return skew(subject, read_time, before, after, "the broker's", exact_to=1.0)


def skew(
    subject: str, read_time: float, before: float, after: float, whose: str, *, exact_to: float = 0.0
) -> Finding:
    """Compare another clock with this machine's clock, which was read before and after the other clock.

    Args:
        subject: The subject of the finding.
        read_time: Unix seconds by the other clock.
        before: Unix seconds by this machine's clock, before the reading.
        after: Unix seconds by this machine's clock, after the reading.
        whose: The owner of the other clock, as text such as `the broker's`.
        exact_to: The resolution of the other clock's time, in seconds; 0 if the time was not rounded down.

    """
    ahead = before - (read_time + exact_to), read_time - after
    seconds = max(0.0, *ahead)
    if seconds <= MOST_SKEW_SECONDS:
        return Finding(
            subject, OK, f"{whose} and this machine's differ by less than {MOST_SKEW_SECONDS:.0f} s"
        )
    verb = "behind" if ahead[0] > ahead[1] else "ahead of"
    return Finding(
        subject,
        WARNING,
        f"{whose} is {seconds:.0f} s {verb} this machine's",
        "set the clocks of all machines by NTP: times in bounds, lag and tokens depend on them",
    )
