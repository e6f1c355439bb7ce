"""Horizontal bars in groups, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from generate_charts import picture_style

# The chart is as wide as the other charts, so that a page of 390 pixels shows its letters large enough. A group's label
# is therefore above its bars.
_WIDTH, _LEFT, _FIGURE = 400, 2, 66
_BAR, _GAP, _TOP, _LABEL = 15, 12, 62, 18
# The style of all pictures of the site, in light and dark mode.
_FILLS: Final = (
    "var(--own-line)",
    "var(--spark-line)",
    "var(--pulsar-line)",
    "var(--line)",
    "var(--ink)",
    "var(--quiet)",
    "var(--pulsar)",
)


@dataclass(frozen=True)
class Bars:
    title: str
    subtitle: str
    groups: Mapping[str, Mapping[str, float]]
    """Label of the group: name of the bar: length. The bars of all groups with the same name have one color."""
    figure: Callable[[float], str]
    """The function that formats a length."""


def svg(bars: Bars) -> str:
    names = list(dict.fromkeys(name for group in bars.groups.values() for name in group))
    colors = {name: _FILLS[number % len(_FILLS)] for number, name in enumerate(names)}
    longest = max(length for group in bars.groups.values() for length in group.values())
    legend_lines = _legend(names, colors)
    drawn: list[str] = []
    y = _TOP + 18 * len(legend_lines)
    for label, group in bars.groups.items():
        drawn.append(f'<text class="small head" x="{_LEFT}" y="{y + 10}">{escape(label)}</text>')
        y += _LABEL
        for name, length in group.items():
            width = (_WIDTH - _LEFT - _FIGURE) * length / longest
            drawn.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" style="fill: {colors[name]}"/>'
                f'<text class="small" x="{_LEFT + width + 5:.1f}" y="{y + 11}">{escape(bars.figure(length))}</text>'
            )
            y += _BAR
        y += _GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {_WIDTH} {y}">',
        f"<title>{escape(bars.title)}</title>",
        picture_style(),
        f'<text class="head" x="{_LEFT}" y="22">{escape(bars.title)}</text>',
        f'<text class="small" x="{_LEFT}" y="40">{escape(bars.subtitle)}</text>',
    ]
    return "\n".join([*head, *legend_lines, *drawn, "</svg>", ""])


def _legend(names: list[str], colors: Mapping[str, str]) -> list[str]:
    """Yield a line of SVG for each line of the legend."""
    lines, line, x = [], "", float(_LEFT)
    for name in names:
        width = 30 + 6.2 * len(name)
        if line and x + width > _WIDTH:
            lines.append(line)
            line, x = "", float(_LEFT)
        y = 56 + 18 * len(lines)
        line += (
            f'<rect x="{x:.0f}" y="{y - 10}" width="12" height="12" style="fill: {colors[name]}"/>'
            f'<text class="small" x="{x + 16:.0f}" y="{y}">{escape(name)}</text>'
        )
        x += width
    return [*lines, line]
