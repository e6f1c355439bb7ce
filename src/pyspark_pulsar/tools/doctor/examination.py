"""The checks of the doctor, in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.security.url import BrokerAddress, parse_service_url
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.tools.doctor import cluster_findings as cluster, executors, installation, storage
from pyspark_pulsar.tools.doctor.finding import NOT_ASKED, OK, Finding

_TIMEOUT_MS: Final = 5_000


def examine(
    options: ReadOptions,
    topics: tuple[TopicName, ...],
    *,
    writes: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """Run the checks, and yield their findings.

    Args:
        options: The connection to the cluster. Timeouts are at most 5 seconds here.
        topics: The topics of `options` to check. If the tuple is empty, no topic is checked.
        writes: Also check the permission to write to the topics.
        master: The Spark master whose executors are checked; None skips this check.
        conf: The settings of the Spark session.

    Raises:
        OptionError: An option is wrong.

    """
    brief = replace(
        options,
        operation_timeout_ms=min(_TIMEOUT_MS, options.operation_timeout_ms),
        connection_timeout_ms=min(_TIMEOUT_MS, options.connection_timeout_ms),
    )
    yield from installation.findings()
    reached = cluster.brokers(brief)
    yield from reached
    partitions: dict[TopicName, TopicPartition] = {}
    if any(finding.state == OK for finding in reached):
        with BrokerClient(brief) as client:
            yield from cluster.topics(client, topics, partitions, writes=writes)
    else:
        for name in topics:
            yield Finding(f"topic {name}", NOT_ASKED, "no broker could be reached")
    admin = None if brief.admin_url is None else AdminClient.for_planning(brief)
    try:
        # The admin REST API has no ledgers of scalable topics.
        known = [partition for partition in partitions.values() if not partition.is_segment]
        seen = list(cluster.administration(admin, known))
        yield from seen
        answering = admin if any(f.subject == "admin REST API" and f.state == OK for f in seen) else None
        found, bookies = storage.bookies(brief, answering, known)
        yield from found
        yield from storage.tiered_storage(brief, answering, known)
    finally:
        if admin is not None:
            admin.close()
    if master is not None:
        addresses = [(host.host, host.port) for host in _hosts(brief)]
        yield from executors.findings(
            master, conf or {}, addresses, [(bookie.host, bookie.port) for bookie in bookies]
        )


def _hosts(options: ReadOptions) -> tuple[BrokerAddress, ...]:
    try:
        return parse_service_url(options.service_url)
    except PulsarError:
        return ()
