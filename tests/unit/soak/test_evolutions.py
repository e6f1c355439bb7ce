"""Schema evolutions of a soak: the same for the same seed, of every kind, and as short as what they show."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from google.protobuf.message import Message as ProtobufMessage
from soak.evolution.draw import draw_evolution
from soak.evolution.protobuf_changes import ProtobufChanges
from soak.evolution.shrink import shrunk
from soak.evolution.steps import AVRO, JSON, PROTOBUF, Evolution, Register, Send, Trim

SEEDS = range(300)
CHANGES = {
    AVRO: ["adds", "removes", "brings back", "default", "renames", "without aliases", "changes", "orders"],
    JSON: ["adds", "removes", "brings back", "default", "changes", "enum("],
    PROTOBUF: [
        "adds", "removes", "brings back", "renames", "moves", "swaps the names", "swaps the numbers",
        "changes oneof", "optional", "makes E", "syntax",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def drawn() -> list[Evolution]:
    return list(map(draw_evolution, SEEDS))


def test_a_seed_repeats_its_evolution(drawn: list[Evolution]) -> None:
    assert drawn[7] == draw_evolution(7)
    assert str(drawn[7]) == str(draw_evolution(7))
    assert len({str(evolution) for evolution in drawn}) == len(drawn)


@pytest.mark.parametrize("kind", CHANGES)
def test_every_change_is_drawn(kind: str, drawn: list[Evolution]) -> None:
    words = "; ".join(
        change
        for each in drawn
        if each.kind == kind
        for version in each.versions
        for change in version.changes
    )
    assert not [change for change in CHANGES[kind] if change not in words]


def test_every_step_is_drawn(drawn: list[Evolution]) -> None:
    steps = Counter(type(step).__name__ for each in drawn for step in each.steps)
    assert {"Register", "Send", "Close", "Tier", "Trim", "Read"} == set(steps)
    sent = [step for each in drawn for step in each.steps if isinstance(step, Send)]
    assert {step.is_batch for step in sent} == {step.names_version for step in sent} == {True, False}
    assert any(message.payload is None for step in sent for message in step.messages)


def test_each_version_is_registered_before_it_is_sent_by(drawn: list[Evolution]) -> None:
    for each in drawn:
        known: set[int] = set()
        for step in each.steps:
            if isinstance(step, Register):
                known.add(step.version)
            elif isinstance(step, Send):
                assert step.version in known


def test_each_version_is_another_document(drawn: list[Evolution]) -> None:
    for each in drawn:
        documents = [json.dumps(json.loads(version.document)) for version in each.versions]
        assert len(set(documents)) == len(documents)


def test_protobuf_files_are_valid() -> None:
    for seed in SEEDS:
        changes = ProtobufChanges(random.Random(seed))
        file = changes.first()
        for _ in range(5):
            assert isinstance(file.new_message(), ProtobufMessage)
            file, words = changes.next_version(file)
            assert words


def test_steps_and_messages_that_show_nothing_are_dropped(drawn: list[Evolution]) -> None:
    trimmed = next(
        each
        for each in drawn
        if any(isinstance(step, Send) and len(step.messages) > 1 for step in each.steps)
    )
    wanted = next(
        step.messages[1] for step in trimmed.steps if isinstance(step, Send) and len(step.messages) > 1
    )

    def shows_it(each: Evolution) -> bool:
        sent = [message for step in each.steps if isinstance(step, Send) for message in step.messages]
        return wanted in sent and any(isinstance(step, Trim) for step in each.steps)

    shortest = shrunk(trimmed, shows_it, most_tries=1_000)
    assert len(shortest.steps) == 2
    assert {type(step) for step in shortest.steps} == {Send, Trim}
    assert [len(step.messages) for step in shortest.steps if isinstance(step, Send)] == [1]
    assert shrunk(trimmed, lambda _: True, most_tries=0) == trimmed
    assert shrunk(replace(trimmed, steps=()), lambda _: True) == replace(trimmed, steps=())
