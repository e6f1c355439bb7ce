"""Rounds of all topics, once or repeatedly until a stop.

Topics are independent of each other. Several topics are tiered at the same time, and an error of one topic does not
stop the other topics. One turn runs rounds of each topic until all complete ledgers of the topic are tiered. While a
round runs, more ledgers of a busy topic can close. Such a topic could need rounds without end. So the turn also ends
for a topic after two complete rounds. A complete round tiers all ledgers that were complete at its start.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.history.tiering.commit import RoundResult
from pyspark_pulsar.history.tiering.faults import catalog_settings, topic_fault
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.status import tier_status
from pyspark_pulsar.history.tiering.topic_properties import topics_to_tier
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import discover_topics
from pyspark_pulsar.runtime import FIRST_COMPLETED, Future, ThreadPoolExecutor, threading, time, wait

_log: Final = logging.getLogger(__name__)

TOPICS_AT_ONCE: Final = 4
_MOST_LOST_RACES: Final = 20
"""The number of lost races after which a turn stops tiering a topic. In a lost race, another process committed first.
"""
_PAUSE_SECONDS: Final = 0.2
_MOST_FULL_ROUNDS: Final = 2
"""The number of complete rounds after which a turn stops tiering a topic. The next turn tiers ledgers that close later.
"""


@dataclass(frozen=True, slots=True)
class TopicOutcome:
    """The outcome of tiering one topic."""

    topic: TopicName
    rounds: tuple[RoundResult, ...] = ()
    fault: PulsarError | None = None
    """The error of the last round, which committed no files; None if no round failed."""
    retention_used: float | None = None
    """The used share of retention of the first ledger that is not tiered (`retention_use.used_share`).

    The value is None if all closed ledgers are tiered, or if the share is unknown.
    """

    @property
    def rows(self) -> int:
        return sum(result.rows for result in self.rounds)

    @property
    def files(self) -> int:
        return sum(result.files for result in self.rounds)

    @property
    def size(self) -> int:
        """Return the total size of the files in bytes."""
        return sum(result.size for result in self.rounds)


def tier_topics(
    tier_round: TierRound, topics: list[TopicName], at_once: int = TOPICS_AT_ONCE
) -> Iterator[TopicOutcome]:
    """Tier topics, and yield the outcome of each topic after its last round. Errors are in `TopicOutcome.fault`."""
    waiting, running = iter(topics), set[Future[TopicOutcome]]()
    with ThreadPoolExecutor(at_once, thread_name_prefix="tiering") as pool:
        for topic in waiting:
            running.add(pool.submit(_tier_topic, tier_round, topic))
            if len(running) >= at_once:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        done, _ = wait(running)
        yield from (future.result() for future in done)


def tier_forever(
    tier_round: TierRound,
    every_seconds: float,
    report: Callable[[TopicOutcome], None],
    stop: threading.Event,
    *,
    by_property: bool = False,
    turn_ended: Callable[[], None] = lambda: None,
) -> bool:
    """Tier all topics, turn after turn, until `stop` is set. If a topic fails, the next turn tries the topic again.

    Args:
        tier_round: Runs the round of a topic.
        every_seconds: The time between the starts of two turns, in seconds.
        report: A function that is called with the outcome of each topic. Exceptions of the function are logged.
        stop: An event that ends the loop after the present turn.
        by_property: Whether to tier only topics whose property selects tiering.
        turn_ended: A function that is called after each turn, unless finding the topics failed.

    Returns:
        True if the last turn found the topics, and no topic failed.

    """
    is_well = True
    while not stop.is_set():
        began = time.monotonic()
        is_well = _run_turn(tier_round, report, turn_ended, by_property=by_property)
        stop.wait(max(0.0, every_seconds - (time.monotonic() - began)))
    return is_well


def _run_turn(
    tier_round: TierRound,
    report: Callable[[TopicOutcome], None],
    turn_ended: Callable[[], None],
    *,
    by_property: bool,
) -> bool:
    """Run one turn, and return whether the topics were found and no topic failed."""
    options, is_well = tier_round.options, True
    try:
        for outcome in tier_topics(tier_round, tiered_topics(options, by_property=by_property)):
            is_well = is_well and outcome.fault is None
            try:
                report(outcome)
            except Exception:  # noqa: BLE001 - such as a full disk, or a closed pipe of standard output
                _log.warning("Reporting the outcome of a topic failed: %s", outcome.topic, exc_info=True)
        turn_ended()
    except Exception as fault:  # noqa: BLE001 - the loop must not end
        _log.warning(
            "Finding the topics to tier failed: %s", topic_fault("topics", fault, catalog_settings(options))
        )
        is_well = False
    return is_well


def tiered_topics(options: ReadOptions, *, by_property: bool = False) -> list[TopicName]:
    """Return the topics that the options name, or that match the options' pattern now.

    The topics are sorted and have no partition suffixes. The errors of `discover_topics` and `AdminClient` are also
    raised.

    Args:
        options: The options of tiering.
        by_property: Whether to return only topics whose property selects tiering.

    Raises:
        TopicNameError: A topic is a scalable topic. Scalable topics cannot be tiered.

    """
    with BrokerClient.for_planning(options) as client:
        found = {topic.without_partition() for topic in discover_topics(client, options)}
        # Parsing raises an error for scalable topics, because the admin REST API does not list their ledgers.
        topics = sorted(TopicName.parse(str(topic)) for topic in found)
        # Topics that the options name are found without a broker, and rounds retry connections for a long time. So the
        # connection is checked here, and an unreachable broker is an error.
        client.retrying(client.service_connection)
    if not by_property:
        return topics
    with AdminClient.for_planning(options) as admin:
        return topics_to_tier(admin, topics)


def namespace_pattern(namespace: str) -> str:
    """Return the value of option `topicsPattern` for all topics of a namespace. Raises `OptionError`."""
    return f"{re.escape(f'persistent://{Namespace.parse(namespace)}/')}.*"


def _tier_topic(tier_round: TierRound, topic: TopicName) -> TopicOutcome:
    rounds: list[RoundResult] = []
    races = last_rounds = 0
    try:
        while races < _MOST_LOST_RACES and last_rounds < _MOST_FULL_ROUNDS:
            result = tier_round.run(topic)
            rounds.append(result)
            if result.is_done:
                break
            races += result.is_lost_race
            last_rounds += result.took_all
            time.sleep(_PAUSE_SECONDS if result.is_lost_race else 0.0)
    except Exception as fault:  # noqa: BLE001 - a topic's fault must not stop other topics
        named = topic_fault(str(topic), fault, catalog_settings(tier_round.options))
        used = _retention_used(tier_round.options, topic)
        return TopicOutcome(topic, tuple(rounds), named, used)
    used = _retention_used(tier_round.options, topic) if rounds[-1].left_over else None
    return TopicOutcome(topic, tuple(rounds), retention_used=used)


def _retention_used(options: ReadOptions, topic: TopicName) -> float | None:
    """Return the used share of retention of the first ledger that is not tiered.

    Log a warning if the share is large.
    """
    try:
        (status,) = tier_status(options, [topic])
    except PulsarError:
        return None
    except Exception:  # noqa: BLE001 - computing a warning must not fail the round
        _log.debug("Computing the used share of the retention failed: %s", topic, exc_info=True)
        return None
    if status.warning is not None:
        _log.warning("%s", status.warning)
    return status.retention_used
