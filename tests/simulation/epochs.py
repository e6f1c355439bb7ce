"""A streaming query with the exactly-once sink, run by a simulated Spark.

The driver runs epoch after epoch. Each task attempt runs in its own process, as in a Python worker. Spark repeats a
failed task, runs some tasks twice, and aborts the epoch when a task has failed too often. A query that has failed, or
whose driver was killed, starts again with a new run, and repeats the epoch that its checkpoint lacks.
"""

from __future__ import annotations

import random as python_random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from simulation import runtime
from simulation.broker import Cluster
from simulation.world import Choices, Process, ProcessDied, Stuck, World

from pyspark_pulsar.client.broker import client_pool
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import CommitUnfinished, PulsarError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.exactly_once import task as task_module
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import journal_of_stream
from pyspark_pulsar.write.target import Target, settle_topic
from pyspark_pulsar.model.topic import TopicName

TOPIC: Final = "persistent://public/default/rows"
_COLUMNS: Final = pa.schema([pa.field("value", pa.binary())])
_ROW: Final = re.compile(rb"<(\d+),(\d+),(\d+)>")
_TASK_TRIES: Final = 3
_TIMEOUT_MS: Final = 60_000
_MOST_SECONDS: Final = 20_000.0

OPTIONS: Final = parse_options(
    WriteOptions,
    {
        "service.url": "pulsar://broker-0:6650",
        "topic": TOPIC,
        "deliveryGuarantee": "exactly-once",
        "transactionTimeoutMs": str(_TIMEOUT_MS),
        "pulsar.client.operationTimeoutMs": "10000",
        "pulsar.producer.sendTimeoutMs": "10000",
    }
)


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    epochs: int = 2
    tasks: int = 2
    rows: int = 2
    partitions: int = 2
    brokers: int = 1
    faults: int = 1


@dataclass
class Outcome:
    """The result of a run."""

    faults: list[str]
    switches: int
    decisions: int
    history: list[tuple[float, str, str]] = field(default_factory=list)


class Epochs:
    """One run of the query in a new world."""

    def __init__(self, choices: Choices, size: Size, *, keeps_history: bool = False) -> None:
        self.size = size
        self.world = World(choices)
        self.world.keeps_history = keeps_history
        self.cluster = Cluster(self.world, size.brokers)
        self.committed = -1
        """The last epoch in the query's checkpoint."""
        self.processes: list[Process] = []
        self.drivers = 0
        self.is_over = False
        self.failures: list[str] = []
        runtime.enter(self.world, self.cluster.socket)
        runtime.random.generator.seed(0)
        python_random.seed(0)
        self.cluster.create_topic(TOPIC, size.partitions)
        self.target = Target(
            TopicName.parse(TOPIC),
            tuple(f"{TOPIC}-partition-{index}" for index in range(size.partitions)),
            _write_schema(),
        )
        self._plan_faults()

    # Spark

    def process(self, name: str) -> Process:
        process = Process(name)
        self.processes.append(process)
        return process

    def start_driver(self) -> None:
        self.drivers += 1
        driver = self.process(f"driver-{self.drivers}")
        run = f"run-{self.drivers}"

        def query() -> None:
            try:
                self._query(driver, run)
            except PulsarError as fault:
                self.world.say(driver.name, f"fails: {type(fault).__name__}: {fault}")
                self.world.kill(driver)

        driver.on_death.append(self._restart)
        self.world.start(driver, driver.name, query)

    def _restart(self) -> None:
        if not self.is_over:
            self.world.at(self.world.now + 1.0 + self.world.choices.below(3) * 20, self.start_driver)

    def _query(self, driver: Process, run: str) -> None:
        delivery = ExactlyOnce(OPTIONS, journal_of_stream(OPTIONS, "checkpoint"))
        delivery.prepare(runs=True)
        for epoch in range(self.committed + 1, self.size.epochs):
            self.world.say(driver.name, f"begins epoch {epoch}")
            messages = self._run_tasks(delivery, driver, run, epoch)
            if None in messages:
                self.world.say(driver.name, f"aborts epoch {epoch}")
                delivery.abort(epoch, messages)
                raise PulsarError(f"epoch {epoch}: a task failed")
            try:
                delivery.commit(epoch, messages)
            except CommitUnfinished:
                raise
            except PulsarError:
                delivery.abort(epoch, messages)
                raise
            self.world.require_alive(driver)
            self.committed = max(self.committed, epoch)
            self.world.say(driver.name, f"has committed epoch {epoch}")
        self.is_over = True

    def _run_tasks(self, delivery: ExactlyOnce, driver: Process, run: str, epoch: int) -> list[Any]:
        results: list[Any] = [None] * self.size.tasks
        left = [_TASK_TRIES] * self.size.tasks
        done = runtime.Future()
        running = [0] * self.size.tasks

        def begin(task: int) -> None:
            running[task] += 1
            left[task] -= 1
            name = f"task-{epoch}.{task}.{_TASK_TRIES - 1 - left[task]} of {run}"
            worker = self.process(name)
            worker.memory["task"] = (run, epoch, task)
            worker.on_death.append(lambda: ended(task, None))
            self.world.start(worker, name, lambda: attempt(worker, task))

        def attempt(worker: Process, task: int) -> None:
            try:
                message = delivery.write(self.target, _rows(epoch, task, self.size.rows))
            except PulsarError as fault:
                self.world.say(worker.name, f"fails: {type(fault).__name__}: {fault}")
                self.world.kill(worker)
                return
            self.world.say(worker.name, "ends")
            worker.on_death.clear()
            ended(task, message)

        def ended(task: int, message: Any) -> None:
            if not driver.alive or done.done():
                return
            running[task] -= 1
            if message is not None and results[task] is None:
                results[task] = message
            elif results[task] is None and running[task] == 0:
                if left[task]:
                    begin(task)
                    return
                done.set_result(None)
            if all(result is not None for result in results):
                done.set_result(None)

        for task in range(self.size.tasks):
            begin(task)
            if self.world.choices.below(16) == 15:  # Spark runs a second attempt of a slow task.
                begin(task)
        done.result()
        return results

    # Faults

    def _plan_faults(self) -> None:
        choices = self.world.choices
        plan: dict[int, list[int]] = {}
        for _ in range(self.size.faults):
            kind = choices.below(7)
            if kind:
                plan.setdefault(choices.below(600), []).append(kind)
        if not plan:
            return
        last = max(plan)

        def on_switch() -> None:
            kinds = plan.get(self.world.switches)
            if kinds:
                for kind in kinds:
                    self._fault(kind)
            if self.world.switches >= last:
                self.world.on_switch = None

        self.world.on_switch = on_switch

    def _fault(self, kind: int) -> None:
        choices, world = self.world.choices, self.world
        alive = [process for process in self.processes if process.alive and process.fibers]
        if kind == 1:
            if alive:
                world.kill(alive[choices.below(len(alive))])
        elif kind == 2:
            links = [link for broker in self.cluster.brokers for link in broker.links if link.is_open]
            links.sort(key=lambda link: link.process.name)
            if links:
                link = links[choices.below(len(links))]
                world.say(link.process.name, "loses a connection")
                link.reset()
        elif kind == 3:
            broker = self.cluster.brokers[choices.below(len(self.cluster.brokers))]
            seconds = (1.0, 12.0, 70.0)[choices.below(3)]
            world.say(broker.name, f"stands still for {seconds:.0f} s")
            broker.frozen_until = world.now + seconds
        elif kind == 4:
            broker = self.cluster.brokers[choices.below(len(self.cluster.brokers))]
            self.cluster.crash(broker, (0.5, 5.0, 30.0)[choices.below(3)])
        elif kind == 5:
            topics = sorted(name for name, topic in self.cluster.topics.items() if topic.is_loaded)
            if topics:
                name = topics[choices.below(len(topics))]
                world.say("cluster", f"unloads {name}")
                self.cluster.unload(self.cluster.topics[name])
        elif alive:
            process = alive[choices.below(len(alive))]
            fibers = sorted(process.fibers, key=lambda fiber: fiber.name)
            seconds = (0.5, 30.0, 90.0)[choices.below(3)]
            world.say(process.name, f"stands still for {seconds:.0f} s")
            for fiber in fibers:
                self._stop(fiber, seconds)

    def _stop(self, fiber: Any, seconds: float) -> None:
        """Let a thread that could run now, or would soon, run only later."""
        ready = self.world._ready  # noqa: SLF001
        if fiber in ready:
            ready.remove(fiber)
            self.world.at(self.world.now + seconds, lambda: None if fiber.dead else ready.append(fiber))

    # The run

    def run(self) -> Outcome:
        faults: list[str] = []
        world = self.world
        try:
            self.start_driver()
            world.run_until(lambda: self.is_over, _MOST_SECONDS)
            for broker in self.cluster.brokers:
                broker.is_up, broker.frozen_until = True, 0.0
            for topic in self.cluster.topics.values():
                self.cluster.owner(topic.name)
                self.cluster.load(topic)
            after = self.process("end of time")
            world.start(after, "wait", lambda: world.park(_TIMEOUT_MS / 1000 + 120))
            world.run_until(lambda: not after.fibers, _MOST_SECONDS)
            faults += self._check()
        except Stuck as fault:
            faults.append(str(fault))
        finally:
            world.close()
            world.end_fibers(self.processes)
        return Outcome(faults, world.switches, len(world.choices.made), world.history)

    def _check(self) -> list[str]:
        size, faults = self.size, []
        expected = Counter(
            (epoch, task, row)
            for epoch in range(size.epochs)
            for task in range(size.tasks)
            for row in range(size.rows)
        )
        found: Counter[tuple[int, int, int]] = Counter()
        for name in self.target.partitions:
            topic = self.cluster.topics[name]
            if topic.open_transactions:
                faults.append(f"readers of {name} wait at a row of {next(iter(topic.open_transactions))}")
            for entry in topic.visible():
                for row in _ROW.findall(entry.tail):
                    found[tuple(map(int, row))] += 1  # type: ignore[index]
        if missing := expected - found:
            faults.append(f"missing: {sorted(missing)}")
        if extra := found - expected:
            faults.append(f"too many: {sorted(extra)}")
        return faults


def _rows(epoch: int, task: int, count: int) -> Any:
    for row in range(count):
        value = f"<{epoch},{task},{row}>".encode()
        yield pa.RecordBatch.from_arrays([pa.array([value], pa.binary())], schema=_COLUMNS)


def _write_schema() -> Any:
    from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

    return resolve_write_schema(_COLUMNS, None, topic=TOPIC)


def _present_epoch() -> tuple[str, str, int]:
    run, epoch, _ = runtime.world.process.memory["task"]
    return "query", run, epoch


def _present_partition() -> int:
    memory = runtime.world.process.memory
    return int(memory["task"][2]) if "task" in memory else 0


def _separate_processes() -> None:
    """Give each simulated process what a real one has for itself."""
    task_module.present_epoch = _present_epoch
    task_module.present_partition = _present_partition
    from pyspark_pulsar.write import task as write_task

    write_task.present_partition = _present_partition

    class PoolOfProcess(client_pool.ClientPool):
        pass

    def pooled(options: Any) -> Any:
        memory = runtime.world.process.memory
        if "pool" not in memory:
            memory["pool"] = client_pool.ClientPool(client_pool.IDLE_SECONDS)
        return memory["pool"].client(options)

    from pyspark_pulsar.write.exactly_once import delivery as delivery_module

    for module in (task_module, write_task, delivery_module):
        module.pooled_client = pooled


_separate_processes()


def run_one(seed: int, size: Size, given: list[int] | None = None, *, keeps_history: bool = False) -> Outcome:
    return Epochs(Choices(seed, given), size, keeps_history=keeps_history).run()
