"""A self-contained HTML file: the picture of the ledgers, a legend, and all numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from pyspark_pulsar.errors import printable
from pyspark_pulsar.inspect.segments import COMPACTED, EMPTY, Segment, Survey
from pyspark_pulsar.inspect.table_parts import TablePart
from pyspark_pulsar.inspect.tables import COLUMNS, moment
from pyspark_pulsar.tools.cli.commands.segments import (
    format_location,
    format_part_location,
    lanes_of,
    rows_of,
)
from pyspark_pulsar.tools.cli.html.picture import picture, size_scale
from pyspark_pulsar.tools.cli.output.text import human_bytes, human_time, plural

_KINDS = {
    "bookie": "on bookies",
    "tiered": "in tiered storage",
    "compacted": "the compacted view, on bookies",
}

_COLUMNS = "history as columns"

_STYLE = """
:root { color-scheme: light dark; --back: #fbfbfc; --card: #fff; --ink: #1d2430; --soft: #667085; --line: #e4e7ec;
  --bookie: #3b76d6; --tiered: #e0951c; --compacted: #9a5bc9; --columns: #1a8fa3;
  --open: #17996b; --on: #fff; --on-tiered: #33230a; }
@media (prefers-color-scheme: dark) { :root { --back: #10141b; --card: #181e28; --ink: #e6e9ef; --soft: #93a0b4;
  --line: #2b3443; --bookie: #5a93ec; --tiered: #eaa93f; --compacted: #b680e0; --columns: #46b9cc;
  --open: #3ecf9a; --on: #0c1422; --on-tiered: #241803; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 32px; background: var(--back); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { margin: 0; font-size: 20px; font-weight: 600; }
p { margin: 4px 0 0; color: var(--soft); }
.card { margin-top: 20px; padding: 16px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.scroll { overflow-x: auto; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 20px; }
.tile { flex: 1 1 150px; padding: 12px 16px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.tile b { display: block; font-size: 20px; font-weight: 600; }
.tile span { color: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 22px; margin: 0 0 8px; padding: 0; list-style: none; }
.legend li { display: flex; align-items: center; gap: 8px; }
.fault { border-color: #d92d20; }
svg { display: block; }
svg text { fill: var(--soft); font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
svg .name { fill: var(--ink); font-weight: 600; font-size: 13px; }
svg .label { fill: var(--on); font-weight: 600; pointer-events: none; }
svg .tiered ~ .label { fill: var(--on-tiered); }
svg .when { letter-spacing: .08em; text-transform: uppercase; font-size: 11px; }
svg .time { font-variant-numeric: tabular-nums; font-size: 11px; }
svg .axis, svg .tick { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .now { stroke: var(--open); stroke-dasharray: 4 3; }
svg .head { fill: var(--soft); }
svg .bookie { fill: var(--bookie); } svg .tiered { fill: var(--tiered); } svg .compacted { fill: var(--compacted); }
svg .columns { fill: var(--columns); }
svg .open { fill: none; stroke: var(--open); stroke-width: 2.5; }
svg .hollow { fill: none; stroke: var(--soft); stroke-dasharray: 3 2; }
svg .empty { fill: none; stroke: var(--soft); stroke-width: 1.5; }
svg .least { stroke: var(--ink); stroke-width: 1; stroke-opacity: .7; }
svg .stripe { fill: var(--on); opacity: .22; }
svg .grows { stroke: var(--open); stroke-width: 2.5; stroke-dasharray: 5 4; }
svg .unread { opacity: .38; }
svg .ledger { cursor: default; outline: none; }
svg .ledger:hover rect:first-child, svg .ledger:focus rect:first-child { stroke: var(--ink); stroke-width: 2; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px 5px 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; } .number { text-align: right; }
td:nth-last-child(2) { overflow-wrap: anywhere; min-width: 240px; }
summary { cursor: pointer; font-weight: 600; }
#tip-box { position: fixed; z-index: 9; display: none; max-width: 440px; padding: 10px 12px; white-space: pre-line;
  overflow-wrap: anywhere; background: var(--ink); color: var(--back); border-radius: 8px; pointer-events: none; }
#tip-box::first-line { font-weight: 600; }
"""

_SCRIPT = """
const box = document.getElementById("tip-box");
const put = (x, y) => {
  box.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.offsetWidth - 8)) + "px";
  box.style.top = (y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 18) + "px";
};
for (const ledger of document.querySelectorAll("g.ledger")) {
  const show = () => { box.textContent = ledger.dataset.tip; box.style.display = "block"; };
  const hide = () => { box.style.display = "none"; };
  ledger.addEventListener("mousemove", event => { show(); put(event.clientX, event.clientY); });
  ledger.addEventListener("mouseleave", hide);
  ledger.addEventListener("focus", () => {
    const place = ledger.getBoundingClientRect(); show(); put(place.left, place.bottom);
  });
  ledger.addEventListener("blur", hide);
}
"""


def segments_page(survey: Survey, now_ms: int | None = None) -> str:
    """Return the page as one file that loads nothing from other servers.

    `now_ms` is the time of the page in Unix milliseconds. The default is the present time.
    """
    now = datetime.now(UTC) if now_ms is None else moment(now_ms)
    topics = printable(", ".join(dict.fromkeys(str(lane.partition.topic) for lane in lanes_of(survey))))
    fault = (
        f'<div class="card fault"><b>A read with these options would fail.</b> {escape(printable(survey.fault))}</div>'
        if survey.fault
        else ""
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>Segments of {escape(topics)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{escape(topics)}</h1><p>Segments (ledgers) at {human_time(now)} UTC. The upper bar of "
        f"a ledger is the time in which it was written, the lower one its size, {size_scale(survey)}.</p>\n"
        f'{_tiles(survey)}{fault}\n<div class="card">{_legend(survey)}<div class="scroll">'
        f"{picture(survey, now_ms)}</div></div>\n"
        f'<div class="card"><details><summary>All ledgers</summary><div class="scroll">{_table(survey)}</div>'
        f'</details></div>\n<div id="tip-box" role="tooltip"></div>'
        f"<script>//<![CDATA[{_SCRIPT}//]]></script></body></html>\n"
    )


def _tiles(survey: Survey) -> str:
    segments = survey.segments
    own = [segment for segment in segments if segment.state != COMPACTED]
    partitions = len({segment.partition for segment in segments})
    facts = [
        (
            f"{len(own):,}",
            f"{'ledger' if len(own) == 1 else 'ledgers'} in {plural(partitions, 'topic partition')}",
        ),
        (human_bytes(_size(own)), f"{sum(segment.ledger.entries for segment in own):,} entries"),
    ]
    for kind, text in _KINDS.items():
        of_kind = [segment for segment in segments if segment.storage == kind]
        if of_kind:
            facts.append((human_bytes(_size(of_kind)), f"{text}, {plural(len(of_kind), 'ledger')}"))
    if survey.tables:
        size = human_bytes(sum(part.size for part in survey.tables))
        rows = sum(part.rows for part in survey.tables)
        facts.append(
            (
                size,
                f"{_COLUMNS}, {rows:,} rows in {plural(sum(part.files for part in survey.tables), 'file')}",
            )
        )
    tiles = "".join(f'<div class="tile"><b>{number}</b><span>{what}</span></div>' for number, what in facts)
    return f'<div class="tiles">{tiles}</div>'


def _legend(survey: Survey) -> str:
    segments = survey.segments
    present = {segment.storage for segment in segments}
    swatch = '<svg width="16" height="16"><rect x="1" y="1" width="14" height="14" rx="3" class="{}"/></svg>'
    items = [(swatch.format(kind), text) for kind, text in _KINDS.items() if kind in present]
    if survey.tables:
        items.append((swatch.format("columns"), f"{_COLUMNS}, in the topic's table"))
    if any(segment.ledger.is_open for segment in segments):
        items.append((swatch.format("open"), "open: being written, read from the broker"))
    if any(not segment.ledger.size for segment in segments):
        ring = '<svg width="16" height="16"><circle cx="8" cy="8" r="4" class="empty"/></svg>'
        items.append((ring, "empty: no entry yet, or all entries removed"))
    thin = '<svg width="16" height="16"><rect x="6" y="1" width="3" height="14" class="least bookie"/></svg>'
    items.append((thin, "edged and thin: drawn longer than to scale, to be visible"))
    unread = [segment.reader is None and segment.skipped != EMPTY for segment in segments]
    if any(unread) or not all(part.is_read for part in survey.tables):
        pale = f'<svg width="16" height="16"><g class="unread">{_inner(swatch.format("bookie"))}</g></svg>'
        items.append((pale, "pale: not read with these options"))
    return '<ul class="legend">' + "".join(f"<li>{mark}{text}</li>" for mark, text in items) + "</ul>"


def _inner(svg: str) -> str:
    return svg[svg.index("<rect") : svg.index("</svg>")]


def _table(survey: Survey) -> str:
    names = (
        "topic partition",
        "ledger",
        "state",
        "entries",
        "size",
        "opened (UTC)",
        "closed (UTC)",
        "stored in",
        "read from",
    )
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join([*map(_row, survey.segments), *map(_table_row, survey.tables)])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(segment: Segment) -> str:
    ledger = segment.ledger
    of_topic = segment.state != COMPACTED
    cells = (
        str(segment.partition),
        str(ledger.id),
        segment.state,
        f"{ledger.entries:,}",
        human_bytes(ledger.size),
        human_time(moment(ledger.opened_ms)) if of_topic else "",
        human_time(moment(ledger.closed_ms or None)) if of_topic else "",
        format_location(segment),
        segment.reader or f"not read: {segment.skipped or 'unknown'}",
    )
    return _cells(cells)


def _table_row(part: TablePart) -> str:
    first, last = part.published or (None, None)
    cells = (
        str(part.partition),
        "",
        COLUMNS,
        rows_of(part),
        human_bytes(part.size),
        human_time(moment(first)),
        human_time(moment(last)),
        format_part_location(part),
        COLUMNS if part.is_read else f"not read: {part.skipped or 'unknown'}",
    )
    return _cells(cells)


def _cells(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(printable(cell))}</td>" for cell in cells) + "</tr>"


def _size(segments: Iterable[Segment]) -> int:
    return sum(segment.ledger.size for segment in segments)
