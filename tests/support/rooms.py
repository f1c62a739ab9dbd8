"""The rooms, the import law, and the picture of both on the architecture page.

The picture is drawn from the law, the tree and the page's table. A room stands on all the rooms that it may
import, and on no other: what imports nothing has a column of its own, and every other room lies over the
columns of what it may import.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = {  # what each room may import; ``hw`` is imported as ``fiberscope.hw``, and so on
    "sim": {"sim"},
    "workloads": {"workloads"},
    "hw": {"hw", "sim"},
    "accelerators": {"accelerators", "hw", "sim", "workloads"},
    "converters": {"converters", "accelerators", "hw", "sim", "workloads"},
    "fiberscope": {"fiberscope", "converters", "accelerators", "hw", "sim", "workloads"},
}
FLOORS = (  # within ``fiberscope/``: what each module and package may import stands before it
    ("bars", "errors", "interrupts", "problem", "pxd", "spelling", "telling", "template", "version"),
    ("built", "chains.chain", "drawing", "new", "parts", "waveform", "words"),
    ("models.energies",),
    ("costs",),
    ("report",),
    ("memory_trace", "models.tiles", "states", "store"),
    ("provenance", "solve"),
    ("arguments", "converted", "models.trace"),
    ("chains.expected", "chains.total", "models.analytic", "models.graphs"),
    ("chains.run", "models.mapped"),
    ("machines",),
    ("api", "page"),
    ("runs",),
    ("rerun", "rtl", "shortcuts", "study", "sweeps"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
COLUMN, FLOOR, GAP, MARGIN = 300, 84, 8, 16  # pixels
LETTER = 7.2  # about the width of one in a box of a sub-package
FILLS = ("#e6f4ea", "#fdeedd", "#e8f0fe", "#f3e8fd", "#f1f3f4")
STYLE = (
    "text{font:13px ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;fill:#202124}"
    ".room{font-weight:bold}.what{fill:#5f6368}.within{font-size:11.5px}"
)

Law = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Room:
    """Where a room lies: its columns from the left, its floors from below, both the first and the last."""

    name: str
    columns: tuple[int, int]
    floors: tuple[int, int]

    def stands_on(self, other: Room) -> bool:
        """Whether any of the other lies below it."""
        beside = self.columns[0] > other.columns[1] or self.columns[1] < other.columns[0]
        return not beside and self.floors[0] > other.floors[1]


def packages(law: Law) -> dict[str, list[str]]:
    """The packages within each room, as paths from the root that end in ``/``."""
    return {
        room: sorted(
            f"{init.parent.relative_to(ROOT)}/"
            for init in (ROOT / room).rglob("__init__.py")
            if init.parent != ROOT / room
        )
        for room in law
    }


def floor_of(name: str) -> int:
    """The floor within ``fiberscope/`` that a module is on, by its name there; of packages the highest."""
    within = [number for number, floor in enumerate(FLOORS) for one in floor if _holds(one, name)]
    if not within:
        raise KeyError(f"fiberscope.{name} is on no floor")
    return max(within)


def _holds(one: str, name: str) -> bool:
    return f"{name}.".startswith(f"{one}.") or one.startswith(f"{name}.")


def placed(law: Law) -> list[Room]:
    """The rooms, each as low as its imports let it be, and up to the first that stands on it."""
    below = {room: [other for other in law[room] if other != room] for room in law}
    columns = {room: number for number, room in enumerate(room for room in law if not below[room])}

    def floor(room: str) -> int:
        return max((floor(other) + 1 for other in below[room]), default=0)

    def place(room: str) -> Room:
        own = [columns[each] for each in law[room] if each in columns]
        above = [floor(other) - 1 for other in law if room in below[other]]
        return Room(room, (min(own), max(own)), (floor(room), min(above, default=floor(room))))

    return [place(room) for room in law]


def words(page: str) -> dict[str, str]:
    """What each room holds: the beginning of its row in the page's first table."""
    return dict(re.findall(r"^\| `(\w+)/` \| ([^:,;|]+)", page, re.MULTILINE))


def picture(law: Law, page: str) -> str:
    """The text of the SVG file."""
    rooms = placed(law)
    floors = 1 + max(room.floors[1] for room in rooms)
    width = (1 + max(room.columns[1] for room in rooms)) * (COLUMN + GAP) - GAP + 2 * MARGIN
    height = floors * (FLOOR + GAP) - GAP + 2 * MARGIN
    title = "The rooms: each may import those that it stands on"
    within, what = packages(law), words(page)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{title}">',
        f"<title>{title}</title><style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for room, fill in zip(rooms, cycle(FILLS), strict=False):
        lines.extend(_room(room, fill, what[room.name], within[room.name], floors))
    return "\n".join([*lines, "</svg>\n"])


def _room(room: Room, fill: str, what: str, within: list[str], floors: int) -> Iterator[str]:
    x, y = MARGIN + room.columns[0] * (COLUMN + GAP), MARGIN + (floors - 1 - room.floors[1]) * (FLOOR + GAP)
    width = (room.columns[1] - room.columns[0] + 1) * (COLUMN + GAP) - GAP
    height = (room.floors[1] - room.floors[0] + 1) * (FLOOR + GAP) - GAP
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="#9aa0a6"/>'
    yield (
        f'<text x="{x + 14}" y="{y + 27}"><tspan class="room">{room.name}/</tspan>'
        f'<tspan class="what" dx="10">{escape(what.strip())}</tspan></text>'
    )
    left = x + 14.0
    for label in _labels(room.name, within):
        wide = len(label) * LETTER + 16
        yield (
            f'<rect x="{left:g}" y="{y + 44}" width="{wide:g}" height="24" rx="5" '
            'fill="#fff" stroke="#9aa0a6"/>'
            f'<text class="within" x="{left + wide / 2:g}" y="{y + 60}" text-anchor="middle">{label}</text>'
        )
        left += wide + GAP


def _labels(room: str, within: list[str]) -> list[str]:
    """The sub-packages, each with its own behind it: ``rtl: kit, tools``; those with floors from below."""
    names = [path.removeprefix(f"{room}/").rstrip("/") for path in within]
    tops = sorted((name for name in names if "/" not in name), key=floor_of if room == "fiberscope" else None)
    inner = {top: [name.partition("/")[2] for name in names if name.startswith(f"{top}/")] for top in tops}
    return [f"{top}: {', '.join(inner[top])}" if inner[top] else top for top in tops]
