"""Rounds of all topics, once or for ever.

Topics are independent of each other: some are worked on at once, and what fails of one does not stop the others. A
topic gets rounds until nothing is complete any more that is not tiered, or until two rounds have taken all that there
was: ledgers of a busy topic close while a round runs.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
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

_log: Final = logging.getLogger(__name__)

TOPICS_AT_ONCE: Final = 4
_RACES: Final = 20
"""So often another process may be first before a topic is left to it for this time."""
_PAUSE_SECONDS: Final = 0.2
_LAST_ROUNDS: Final = 2
"""So many rounds of a topic may take all that is complete; what closes meanwhile is left to the next turn."""


@dataclass(frozen=True, slots=True)
class TopicOutcome:
    """What became of one topic."""

    topic: TopicName
    rounds: tuple[RoundResult, ...] = ()
    fault: PulsarError | None = None
    """Why its last round committed nothing."""
    retention_used: float | None = None
    """The used share of retention of the first ledger that is not tiered (`retention.used_share`); None where no ledger
    is left over, or where it is not known."""

    @property
    def rows(self) -> int:
        return sum(result.rows for result in self.rounds)

    @property
    def files(self) -> int:
        return sum(result.files for result in self.rounds)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(result.size for result in self.rounds)


def tier_topics(
    tier_round: TierRound, topics: list[TopicName], at_once: int = TOPICS_AT_ONCE
) -> Iterator[TopicOutcome]:
    """Yield the outcome of each topic when it is done. What fails of a topic is its `TopicOutcome.fault`."""
    waiting, running = iter(topics), set[Future[TopicOutcome]]()
    with ThreadPoolExecutor(at_once, thread_name_prefix="tiering") as pool:
        for topic in waiting:
            running.add(pool.submit(_tier_topic, tier_round, topic))
            if len(running) >= at_once:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        done, _ = wait(running)
        yield from (future.result() for future in done)


def tier_for_ever(
    tier_round: TierRound,
    every_seconds: float,
    tell: Callable[[TopicOutcome], None],
    stop: Event,
    *,
    by_property: bool = False,
    turn_ended: Callable[[], None] = lambda: None,
) -> bool:
    """Tier all topics again and again until `stop` is set. Nothing that fails ends it; it is tried again the next time.

    Args:
        tier_round: What a round of a topic does.
        every_seconds: The time between the beginnings of two turns.
        tell: Gets the outcome of each topic. What it raises is logged.
        stop: Ends the loop after the turn that is under way.
        by_property: As `tiered_topics` takes it.
        turn_ended: Called after each turn in which the topics were found.

    Returns:
        Whether all topics were found and tiered in the last turn.

    """
    is_well = True
    while not stop.is_set():
        began = time.monotonic()
        is_well = _turn(tier_round, tell, turn_ended, by_property=by_property)
        stop.wait(max(0.0, every_seconds - (time.monotonic() - began)))
    return is_well


def _turn(
    tier_round: TierRound,
    tell: Callable[[TopicOutcome], None],
    turn_ended: Callable[[], None],
    *,
    by_property: bool,
) -> bool:
    """Tier each topic once. Return whether all were found and tiered."""
    options, is_well = tier_round.options, True
    try:
        for outcome in tier_topics(tier_round, tiered_topics(options, by_property=by_property)):
            is_well = is_well and outcome.fault is None
            try:
                tell(outcome)
            except Exception:  # noqa: BLE001 - such as a full disk or a closed pipe behind standard output
                _log.warning("the outcome of %s was not written", outcome.topic, exc_info=True)
        turn_ended()
    except Exception as fault:  # noqa: BLE001 - the loop must not end
        _log.warning(
            "looking up the topics failed: %s", topic_fault("topics", fault, catalog_settings(options))
        )
        is_well = False
    return is_well


def tiered_topics(options: ReadOptions, *, by_property: bool = False) -> list[TopicName]:
    """The topics that the options name, or that their pattern matches now; sorted, no partitions. `by_property`: of
    these, the ones whose property says that they are to be tiered. Raises the errors of `discover_topics` and
    `AdminClient`, and `TopicNameError` for scalable topics."""
    with BrokerClient.for_planning(options) as client:
        found = {topic.without_partition() for topic in discover_topics(client, options)}
        # Refuses scalable topics, whose ledgers nobody tells.
        topics = sorted(TopicName.parse(str(topic)) for topic in found)
        # Topics that are named need no broker to be found, and rounds are patient.
        client.retrying(client.service_connection)
    if not by_property:
        return topics
    with AdminClient.for_planning(options) as admin:
        return topics_to_tier(admin, topics)


def namespace_pattern(namespace: str) -> str:
    """The option `topicsPattern` for all topics of a namespace. Raises `OptionError`."""
    return f"{re.escape(f'persistent://{Namespace.parse(namespace)}/')}.*"


def _tier_topic(tier_round: TierRound, topic: TopicName) -> TopicOutcome:
    rounds: list[RoundResult] = []
    races = last_rounds = 0
    try:
        while races < _RACES and last_rounds < _LAST_ROUNDS:
            result = tier_round.run(topic)
            rounds.append(result)
            if result.is_done:
                break
            races += result.is_lost_race
            last_rounds += result.took_all
            time.sleep(_PAUSE_SECONDS if result.is_lost_race else 0.0)
    except Exception as fault:  # noqa: BLE001 - other topics must not stop for what fails of one
        named = topic_fault(str(topic), fault, catalog_settings(tier_round.options))
        used = _retention_used(tier_round.options, topic)
        return TopicOutcome(topic, tuple(rounds), named, used)
    used = _retention_used(tier_round.options, topic) if rounds[-1].left_over else None
    return TopicOutcome(topic, tuple(rounds), retention_used=used)


def _retention_used(options: ReadOptions, topic: TopicName) -> float | None:
    """Return the used share of retention of the first ledger that is not tiered, and log a warning if it is large."""
    try:
        (status,) = tier_status(options, [topic])
    except PulsarError:
        return None
    except Exception:  # noqa: BLE001 - a warning must not fail what it warns of
        _log.debug("%s: the lag against retention is not known", topic, exc_info=True)
        return None
    if status.warning is not None:
        _log.warning("%s", status.warning)
    return status.retention_used
