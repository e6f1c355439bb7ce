"""Shrinking of an evolution that shows a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from soak.evolution.steps import Evolution, Send, Step

ShowsIt = Callable[[Evolution], bool]


def shrunk(evolution: Evolution, shows_it: ShowsIt, most_tries: int = 30) -> Evolution:
    """Drop steps, and then messages, while the rest shows the difference; play at most `most_tries` evolutions."""
    tries = 0
    while True:
        for shorter in _shorter(evolution):
            if tries == most_tries:
                return evolution
            tries += 1
            if shows_it(shorter):
                evolution = shorter
                break
        else:
            return evolution


def _shorter(evolution: Evolution) -> Iterator[Evolution]:
    """Yield evolutions with half of the steps, with one step less, and with one message less; the shortest first."""
    steps = evolution.steps
    for size in sorted({len(steps) // 2, len(steps) // 4, 1} - {0}, reverse=True):
        for start in range(len(steps) - size, -1, -size):
            yield replace(evolution, steps=(*steps[:start], *steps[start + size :]))
    for index, step in enumerate(steps):
        if isinstance(step, Send) and len(step.messages) > 1:
            for dropped in range(len(step.messages)):
                fewer = step.messages[:dropped] + step.messages[dropped + 1 :]
                changed: Step = replace(step, messages=fewer)
                yield replace(evolution, steps=(*steps[:index], changed, *steps[index + 1 :]))
