"""A soak of schema evolutions of topics with tables: a read with the table must return what the broker returns.

Each evolution has its own seed, and the seeds of a run are consecutive numbers. To repeat one evolution, start a run of
one evolution with its seed. Child processes play most evolutions in parallel. The parent process plays all others, and
also reads their topics with Spark: as a batch, as a stream and in SQL.
"""

from __future__ import annotations

import logging
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from integration.tier.conftest import SMALL_LEDGERS
from soak.evolution.compare import Difference
from soak.evolution.damage import DAMAGES
from soak.evolution.draw import draw_evolution
from soak.evolution.play import Outcome, Player
from soak.evolution.shrink import shrunk
from soak.evolution.spark_reads import SparkReads, spark_session
from soak.evolution.steps import Evolution
from soak.evolution.topics import Place

from pyspark_pulsar.tools.standalone import LocalPulsar

_TOLD_EVERY: Final = 100

Say = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """The settings with which each process plays evolutions. Instances can be pickled."""

    service_url: str
    admin_url: str
    folder: Path
    damage: str | None = None
    """The name of a damage to tables in `DAMAGES`, as a control of the test itself; None without damage."""
    processes: int = 4
    """The number of processes. A process waits for the server half of the time."""
    by_spark_every: int = 40
    shrunk: int = 2
    """The number of evolutions with a difference that each process shrinks."""

    def player(self, name: str) -> Player:
        place = Place.open(self.service_url, self.admin_url, self.folder / name, name)
        return Player(place, DAMAGES[self.damage] if self.damage else None)


@dataclass
class EvolutionsReport:
    """The counts of a soak, and its faults."""

    seed: int
    evolutions: int = 0
    by_spark: int = 0
    reads: int = 0
    refused: int = 0
    """The number of reads that fail with the same error as reads from the broker."""
    cells: int = 0
    """The number of cells that equal the cells of a read from the broker."""
    rows_after_trim: int = 0
    """The number of rows that were read after their ledgers were removed."""
    seconds: float = 0.0
    differences: dict[str, int] = field(default_factory=dict)
    """The number of evolutions with a difference, by class of the difference."""
    errors: dict[str, int] = field(default_factory=dict)
    """The number of errors of tiering, and of reads for which the broker returns rows, by class of the error."""
    faults: list[str] = field(default_factory=list)

    def add(self, played: Played) -> None:
        """Count an evolution."""
        outcome = played.outcome
        self.evolutions += 1
        self.reads += outcome.reads
        self.refused += outcome.refused
        self.cells += outcome.cells
        self.rows_after_trim += outcome.rows_after_trim
        topic = f"{outcome.kind} in {outcome.table_format}"
        for error, count in outcome.errors.items():
            self.errors[f"{topic}: {error}"] = self.errors.get(f"{topic}: {error}", 0) + count
        if outcome.difference is not None:
            found = f"{topic}: {outcome.difference.kind}"
            self.differences[found] = self.differences.get(found, 0) + 1
            self.faults.append(played.text)


@dataclass(frozen=True)
class Played:
    """The result of an evolution. Instances can be pickled."""

    outcome: Outcome
    text: str
    """The difference, and the shortest evolution that was found to show it."""


class _Playing:
    """The player of a process."""

    def __init__(self, setting: Setting, name: str, reads: SparkReads | None = None) -> None:
        self._player = setting.player(name)
        self._reads = reads
        self._left_to_shrink = setting.shrunk

    def play(self, seed: int) -> Played:
        evolution = draw_evolution(seed)
        try:
            outcome = self._player.play(evolution, self._reads)
        except Exception as fault:  # noqa: BLE001 - it must not end the others
            outcome = Outcome(seed, evolution.kind, evolution.table_format)
            text = "".join(traceback.format_exception(fault, limit=-5))
            outcome.difference = Difference(f"{type(fault).__name__} of the soak itself", text)
            return Played(outcome, f"seed {seed}: {text}")
        found = outcome.difference
        if found is None:
            return Played(outcome, "")
        if self._left_to_shrink:
            self._left_to_shrink -= 1
            evolution, shortest = self._shrunk(evolution, outcome)
            found = shortest.difference or found
        return Played(outcome, f"seed {seed}: {found.kind}: {found.text}\n  {evolution}")

    def _shrunk(self, evolution: Evolution, outcome: Outcome) -> tuple[Evolution, Outcome]:
        assert outcome.difference is not None
        last, kind = outcome, outcome.difference.kind
        # A repetition needs Spark only if Spark alone showed the difference.
        reads = self._reads if outcome.step is None else None

        def shows_it(shorter: Evolution) -> bool:
            nonlocal last
            again = self._player.play(shorter, reads)
            if again.difference is None or again.difference.kind != kind:
                return False
            last = again
            return True

        return shrunk(evolution, shows_it), last


def evolutions_soak(
    folder: Path, seed: int, evolutions: int, say: Say, damage: str | None = None
) -> EvolutionsReport:
    """Play evolutions on a server of their own. `damage` is the same as in `Setting`."""
    _silence()
    with LocalPulsar(data=folder / "pulsar", config=SMALL_LEDGERS) as server, spark_session(folder) as spark:
        setting = Setting(server.service_url, server.admin_url, folder, damage)
        return play_all(
            setting, SparkReads(spark, folder / "checkpoints"), range(seed, seed + evolutions), say
        )


def play_all(setting: Setting, reads: SparkReads | None, seeds: range, say: Say) -> EvolutionsReport:
    """Play the evolutions of the seeds. If `reads` is set, also read some of their topics with Spark."""
    report, began = EvolutionsReport(seeds.start), time.monotonic()
    for played in _played(setting, reads, seeds, report):
        report.add(played)
        if played.text:
            say(played.text)
        if report.evolutions % _TOLD_EVERY == 0:
            seconds = time.monotonic() - began
            say(
                f"{seconds:.0f} s: {report.evolutions} evolutions, {report.cells} cells, {report.differences}"
            )
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _played(
    setting: Setting, reads: SparkReads | None, seeds: range, report: EvolutionsReport
) -> Iterator[Played]:
    by_spark = seeds[:: setting.by_spark_every] if reads is not None else range(0)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(setting.processes, context, _begin, (setting,)) as pool:
        playing = {pool.submit(_play, seed) for seed in seeds if seed not in by_spark}
        here = _Playing(setting, f"spark-{seeds.start}", reads)
        for seed in by_spark:
            report.by_spark += 1
            yield here.play(seed)
            # A difference is reported when it is found.
            played = {future for future in playing if future.done()}
            playing -= played
            yield from (future.result() for future in played)
        for future in as_completed(playing):
            yield future.result()


_playing: _Playing


def _begin(setting: Setting) -> None:
    """Prepare a process of the pool."""
    global _playing  # noqa: PLW0603 - the state of a process that does nothing else
    _silence()
    _playing = _Playing(setting, f"process-{multiprocessing.current_process().pid}")


def _silence() -> None:
    """Disable warnings, because evolutions provoke warnings of tiering and reading."""
    logging.disable(logging.WARNING)


def _play(seed: int) -> Played:
    return _playing.play(seed)
