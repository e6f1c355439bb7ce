"""Brokers, topics, rights, the admin REST API, and its clock: asked as a query would ask them, from this machine."""

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
from pyspark_pulsar.tools.doctor.finding import NOT_ASKED, OK, WARNING, Finding, counted, look, of_error

MOST_SKEW_SECONDS: Final = 5.0
_LEAST_VERSION: Final = (3, 0)
_NO_ADMIN: Final = (
    "not given: ledgers are not known, so all is read from brokers, and lag is not counted in messages"
)


def brokers(options: ReadOptions) -> list[Finding]:
    """One for each host of `service.url`."""
    scheme = TLS if options.uses_tls else PLAIN
    try:
        hosts = parse_service_url(options.service_url)
    except PulsarError as fault:
        return [of_error("broker", fault)]
    found = []
    for host in hosts:
        shown = f"[{host.host}]:{host.port}" if ":" in host.host else f"{host.host}:{host.port}"
        one = replace(options, service_url=f"{scheme}{shown}")
        found.append(look(f"broker {shown}", partial(_connect, one)))
    return found


def _connect(options: ReadOptions) -> str:
    with BrokerClient(options) as client:
        client.service_connection()
    how = "TLS" if options.uses_tls else "no TLS"
    who = "role let in" if options.auth_plugin != NO_PLUGIN else "without authentication"
    return f"answers; {how}, {who}"


def topics(
    client: BrokerClient, names: Sequence[TopicName], known: dict[TopicName, TopicPartition], *, writes: bool
) -> Iterator[Finding]:
    """Whether they are there, and may be read, and with `writes` written. A topic is not made. `known` is given the
    first partition of those that are there."""
    for name in names:
        partitions: list[TopicPartition] = []
        yield look(f"topic {name}", partial(_partitions, client, name, partitions))
        if partitions:
            known[name] = partitions[0]
        rights = [("read", _consume)] + ([("write", _produce)] if writes else [])
        for verb, use in rights:
            if name.is_scalable and verb == "write":
                yield Finding(f"right to write {name}", NOT_ASKED, "scalable topics are only read")
                continue
            subject = f"right to {verb} {name}"
            if partitions:
                yield look(subject, partial(use, client, partitions[0]))
            else:
                yield Finding(subject, NOT_ASKED, "the topic is not known")


def _partitions(client: BrokerClient, name: TopicName, found: list[TopicPartition]) -> str:
    found += discover_partitions(client, [name])
    if name.is_scalable:
        return counted(len(found), "segment")
    is_whole = len(found) == 1 and found[0].as_topic == name
    return "not partitioned" if is_whole else counted(len(found), "partition")


def _consume(client: BrokerClient, partition: TopicPartition) -> str:
    """Brokers tell whoever may consume where the log ends."""
    with closing(LogEnds(client)) as log_ends:
        end = log_ends.ends([partition], comes_again=True)[partition]
    return f"given; {partition.as_topic.local} ends at {end}"


def _produce(client: BrokerClient, partition: TopicPartition) -> str:
    producer = Producer(client, partition.name, 1, client.schema(partition.topic), client.request_seconds)
    producer.open()
    producer.close()
    return "given; nothing was sent"


def administration(admin: AdminClient | None, partitions: Sequence[TopicPartition]) -> Iterator[Finding]:
    """The admin REST API, its version and clock, and what this role may see. Queries do without what is refused."""
    if admin is None:
        yield Finding("admin REST API", WARNING, _NO_ADMIN, "give --admin-url (option admin.url)")
        return
    began = time.time()
    try:
        told = admin.brokers.version()
    except PulsarError as fault:
        yield of_error("admin REST API", fault)
        yield Finding("right to see ledgers", NOT_ASKED, "the admin REST API could not be asked")
        return
    yield Finding("admin REST API", OK, "answers")
    yield server(told)
    yield clock(told.clock, began, time.time())
    for partition in partitions:
        yield look(
            f"right to see ledgers of {partition}",
            partial(_ledgers, admin, partition),
            WARNING,
            "let the role see the topic's stats, or all is read from brokers",
        )


def _ledgers(admin: AdminClient, partition: TopicPartition) -> str:
    ledgers = fetch_ledgers(admin, [partition])[partition].ledgers
    offloaded = sum(ledger.offload_id is not None for ledger in ledgers)
    return f"given; {counted(len(ledgers), 'ledger')}" + (
        f", {offloaded} of them offloaded" if offloaded else ""
    )


def server(told: BrokerVersion) -> Finding:
    """The version against what this package is tested with."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", told.text)[:2])
    if numbers < _LEAST_VERSION:
        return Finding(
            "Pulsar",
            WARNING,
            f"{told.text}; tested with 3.0 and later",
            "upgrade the brokers, or test well before",
        )
    return Finding("Pulsar", OK, told.text)


def clock(theirs: datetime | None, before: float, after: float) -> Finding:
    """`before` and `after`: by this machine's clock, Unix seconds, when the question went out and the answer came."""
    subject = "clock"
    if theirs is None:
        return Finding(subject, NOT_ASKED, "the admin REST API does not say its time")
    told = theirs.astimezone(UTC).timestamp()
    return skew(subject, told, before, after, "the broker's", exact_to=1.0)


def skew(
    subject: str, told: float, before: float, after: float, whose: str, *, exact_to: float = 0.0
) -> Finding:
    """A time that was told between two of this machine, and was cut to `exact_to` seconds."""
    ahead = before - (told + exact_to), told - after
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
        "let NTP set the clocks of all machines: times in bounds, lag and tokens depend on them",
    )
