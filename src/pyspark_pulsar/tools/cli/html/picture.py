"""A picture of ledgers, with a lane for each topic partition, and two bars for each ledger.

The upper bar shows the time in which the ledger was written, on one time axis for all lanes. The lower bar shows the
size of the ledger, on one scale for all lanes. The lower bars of a lane are drawn one after another, in the order of
the ledgers. A bar that would be too short to see is drawn longer, and has an edge.

The picture is SVG text, which needs the styles of the module `page`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from html import escape

from pyspark_pulsar.errors import printable
from pyspark_pulsar.inspect.segments import COMPACTED, EMPTY, Segment, Survey
from pyspark_pulsar.inspect.table_parts import TablePart
from pyspark_pulsar.inspect.tables import moment
from pyspark_pulsar.tools.cli.commands.segments import (
    Lane,
    format_location,
    format_part_location,
    heading,
    lanes_of,
    rows_of,
)
from pyspark_pulsar.tools.cli.html.timeline import Timeline
from pyspark_pulsar.tools.cli.output.text import human_bytes, human_time

_LEFT, _RIGHT, _TOP = 28, 96, 34
_LANE, _BAR, _SIZE, _VIEW = 106, 28, 12, 8
_LEAST_WIDTH, _WIDTH_OF_ONE, _MOST_WIDTH = 1020, 14, 12_000
_LEAST_BAR, _LETTER, _TICK_GAP, _EMPTY = 3.0, 7.2, 150, 9.0
_SCALE_WIDTH = 100
_LABEL = 124
_SECOND = 1000


@dataclass(frozen=True, slots=True)
class _Canvas:
    line: Timeline
    width: float
    before: int
    """A time that is earlier than all known times of ledgers and tables.

    If the opening time of a ledger is unknown, the bar of the ledger begins at this time.
    """
    now: int
    bytes_of_one: float
    """The bytes that one pixel of the lower bars represents."""


def size_scale(survey: Survey) -> str:
    """Return the scale of the lower bars as text, such as `1.5 MiB in 100 pixels`."""
    return (
        f"{human_bytes(round(_bytes_of_one(survey, _width(survey)) * _SCALE_WIDTH))} in {_SCALE_WIDTH} pixels"
    )


def picture(survey: Survey, now_ms: int | None = None) -> str:
    """Return the picture as one `<svg>` element.

    Each ledger, and each part of a table, is an element `<g class="ledger">`. The attribute `data-tip` of the element
    contains the numbers of the ledger or of the part.
    """
    lanes = lanes_of(survey)
    canvas = _canvas(survey, now_ms)
    height = _TOP + _LANE * len(lanes) + 44
    longest = max((_sizes(canvas, _own(lane))[1] for lane in lanes), default=0.0)
    whole = _LEFT + max(canvas.width + _RIGHT, longest + _LEFT)
    bodies = "".join(_lane(canvas, index, lane) for index, lane in enumerate(lanes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Ledgers along time" '
        f'width="{whole:.0f}" height="{height}" viewBox="0 0 {whole:.0f} {height}">'
        '<defs><pattern id="growing" width="8" height="8" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="3" height="8" class="stripe"/></pattern>'
        '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" class="head"/></marker></defs>'
        f"{_axis(canvas, height)}{bodies}</svg>"
    )


def tip(segment: Segment) -> str:
    """Return the lines that are shown when the pointer is on a ledger."""
    ledger = segment.ledger
    lines = [
        f"{'compacted view: ' if segment.state == COMPACTED else ''}ledger {ledger.id} ({segment.state})"
    ]
    lines.append(f"{ledger.entries:,} entries, {human_bytes(ledger.size)}")
    if segment.state != COMPACTED:
        opened, closed = human_time(moment(ledger.opened_ms)), human_time(moment(ledger.closed_ms or None))
        lines.append(f"opened {opened or 'at an unknown time'}")
        lines.append("being written" if ledger.is_open else f"closed {closed or 'at an unknown time'}")
    lines.append(f"stored in {format_location(segment)}")
    lines.append(
        f"read from {segment.reader}" if segment.reader else f"not read: {segment.skipped or 'unknown'}"
    )
    return "\n".join(map(printable, lines))


def tip_of_part(part: TablePart) -> str:
    """Return the lines that are shown when the pointer is on a part of a table."""
    lines = [format_part_location(part), f"{rows_of(part)}, {human_bytes(part.size)}"]
    if part.published is not None:
        first, last = part.published
        lines.append(f"published from {human_time(moment(first))} to {human_time(moment(last))}")
    lines.append("read from columns" if part.is_read else f"not read: {part.skipped or 'unknown'}")
    return "\n".join(map(printable, lines))


def _width(survey: Survey) -> float:
    longest = max((len(lane.segments) for lane in lanes_of(survey)), default=0)
    return float(min(_MOST_WIDTH, max(_LEAST_WIDTH, longest * _WIDTH_OF_ONE)))


def _bytes_of_one(survey: Survey, width: float) -> float:
    sizes = [sum(segment.ledger.size for segment in _own(lane)) for lane in lanes_of(survey)]
    return max([1, *sizes]) / width


def _own(lane: Lane) -> list[Segment]:
    return [segment for segment in lane.segments if segment.state != COMPACTED]


def _canvas(survey: Survey, now_ms: int | None) -> _Canvas:
    own = [segment.ledger for segment in survey.segments if segment.state != COMPACTED]
    moments = [moment_ms for ledger in own for moment_ms in (ledger.opened_ms, ledger.closed_ms) if moment_ms]
    moments += [moment_ms for part in survey.tables for moment_ms in part.published or ()]
    now = max([now_ms if now_ms is not None else time.time_ns() // 1_000_000, *moments])
    first = min([now, *moments])
    # The axis begins earlier than all known times, so that the bar of a ledger with an unknown opening time has a
    # visible length.
    before = first - max(1, (now - first) // 12)
    width = _width(survey)
    line = Timeline.from_moments([before, *moments, now], width)
    return _Canvas(line, width, before, now, _bytes_of_one(survey, width))


def _axis(canvas: _Canvas, height: int) -> str:
    bottom = height - 40
    now = _LEFT + canvas.width
    text = [
        f'<text x="{_LEFT}" y="18" class="when">past</text>',
        f'<text x="{now:.1f}" y="18" class="when" text-anchor="middle">now</text>',
        f'<text x="{now + _RIGHT - 8:.1f}" y="18" class="when" text-anchor="end">future</text>',
        (
            f'<line x1="{_LEFT}" y1="{bottom}" x2="{now + _RIGHT - 10:.1f}" y2="{bottom}" class="axis" '
            'marker-end="url(#tip)"/>'
        ),
    ]
    for at, place in canvas.line.ticks(_TICK_GAP):
        x = _LEFT + place
        is_now = at == canvas.now
        text.append(
            f'<line x1="{x:.1f}" y1="{26}" x2="{x:.1f}" y2="{bottom + 5}" class="{"now" if is_now else "tick"}"/>'
        )
        if is_now or canvas.now - at >= _SECOND:
            # A centered first label would begin outside of the picture.
            anchor = "middle" if place > _LABEL / 2 else "start"
            text.append(
                f'<text x="{x:.1f}" y="{bottom + 20}" class="time" text-anchor="{anchor}">'
                f"{human_time(moment(at))}</text>"
            )
    return "".join(text)


def _lane(canvas: _Canvas, index: int, lane: Lane) -> str:
    top = _TOP + index * _LANE
    own = _own(lane)
    views = [segment for segment in lane.segments if segment.state == COMPACTED]
    below = top + 24 + _BAR + 3 + _SIZE + 4
    sizes, _ = _sizes(canvas, own)
    drawn = [_bar(canvas, segment, top + 24, size) for segment, size in zip(own, sizes, strict=True)]
    if lane.part is not None:
        drawn.append(_table_bar(canvas, lane.part, below))
        below += _VIEW + 3
    drawn += [_view(canvas, segment, own, below) for segment in views]
    return f'<text x="{_LEFT}" y="{top + 15}" class="name">{escape(heading(lane))}</text>{"".join(drawn)}'


def _sizes(canvas: _Canvas, own: list[Segment]) -> tuple[list[tuple[float, float]], float]:
    """Return the start and the length of each ledger's lower bar, and the end of the last bar, in pixels."""
    bars: list[tuple[float, float]] = []
    x = 0.0
    for segment in own:
        length = segment.ledger.size / canvas.bytes_of_one
        bars.append((x, length))
        x += (max(length, _LEAST_BAR) if segment.ledger.size else _EMPTY) + 1
    return bars, x


def _bar(canvas: _Canvas, segment: Segment, top: int, size: tuple[float, float]) -> str:
    ledger = segment.ledger
    start = canvas.line.place(canvas.before if ledger.opened_ms is None else ledger.opened_ms)
    end = canvas.line.place(ledger.closed_ms or canvas.now)
    width = max(_LEAST_BAR, end - start)
    x = _LEFT + min(start, canvas.width - width)
    kind = segment.storage if ledger.entries else f"hollow {segment.storage}"
    shapes = _box(x, top, width, _BAR, kind if width == end - start else f"least {kind}")
    shapes += _size_bar(segment, top + _BAR + 3, size)
    if ledger.is_open:
        grows = _LEFT + canvas.width
        shapes += (
            f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="4" class="open"/>'
            f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="4" fill="url(#growing)"/>'
            f'<line x1="{grows:.1f}" y1="{top + _BAR / 2:.0f}" x2="{grows + 44:.1f}" y2="{top + _BAR / 2:.0f}" '
            'class="grows" marker-end="url(#tip)"/>'
        )
    label = str(ledger.id)
    if width > len(label) * _LETTER + 8:
        shapes += (
            f'<text x="{x + width / 2:.1f}" y="{top + _BAR / 2 + 4:.0f}" class="label" text-anchor="middle">'
            f"{label}</text>"
        )
    return _group(segment, shapes)


def _size_bar(segment: Segment, top: int, size: tuple[float, float]) -> str:
    """Return the lower bar of a ledger, which shows the ledger's size. For an empty ledger, return a ring."""
    x, length = size
    if not segment.ledger.size:
        radius = _EMPTY / 2 - 1
        return f'<circle cx="{_LEFT + x + _EMPTY / 2:.1f}" cy="{top + _SIZE / 2:.1f}" r="{radius:.1f}" class="empty"/>'
    kind = f"size {segment.storage}"
    if length < _LEAST_BAR:
        kind = f"least {kind}"
    return _box(_LEFT + x, top, max(length, _LEAST_BAR), _SIZE, kind)


def _view(canvas: _Canvas, segment: Segment, own: list[Segment], top: int) -> str:
    """Return the bar of the compacted view, below the ledgers.

    The bar ends at the time of the last closed ledger, because the end of the view is unknown.
    """
    closed = [segment.ledger.closed_ms for segment in own if segment.ledger.closed_ms]
    end = canvas.line.place(max(closed, default=canvas.now))
    return _group(segment, _box(_LEFT, top, max(_LEAST_BAR, end), _VIEW, segment.storage))


def _table_bar(canvas: _Canvas, part: TablePart, top: int) -> str:
    """Return the bar of one part of a table, from the first to the last publish time of the part's rows.

    The picture may have no ledgers at these times, because the ledgers of the rows may have been removed.
    """
    first, last = part.published or (canvas.before, canvas.now)
    start = canvas.line.place(first)
    width = max(_LEAST_BAR, canvas.line.place(last) - start)
    tip_text = escape(tip_of_part(part), quote=True).replace("\n", "&#10;")
    dim = "" if part.is_read else " unread"
    shapes = _box(_LEFT + min(start, canvas.width - width), top, width, _VIEW, "columns")
    name = escape(part.table, quote=True)
    return f'<g class="ledger{dim}" tabindex="0" data-table="{name}" data-tip="{tip_text}">{shapes}</g>'


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="{min(4.0, width / 2):.1f}" '
        f'class="{kind}"/>'
    )


def _group(segment: Segment, shapes: str) -> str:
    tip_text = escape(tip(segment), quote=True).replace("\n", "&#10;")
    dim = "" if segment.reader or segment.skipped == EMPTY else " unread"
    return f'<g class="ledger{dim}" tabindex="0" data-ledger="{segment.ledger.id}" data-tip="{tip_text}">{shapes}</g>'
