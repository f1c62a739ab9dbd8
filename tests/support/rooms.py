"""The rooms of the sources, the order of their floors, and who imports whom, as the files say.

A room is a folder directly in ``fiberscope/``, or one of four others: the package's own file (``face``), the
entry of the command line (``entry``), ``published/`` and ``benchmarks/``.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from syntax import nodes

ROOT = Path(__file__).parents[2]
LINKED = ("accelerators", "converters", "hw", "sim", "workloads")  # folders that the root has links to
FLOORS = (  # from the ground up; a room imports rooms of lower floors alone
    ("base", "sim", "workloads"),
    ("hw",),
    ("accelerators",),
    ("compiler", "converters", "template"),
    ("results",),
    ("models",),
    ("run",),
    ("explore", "rtl"),
    ("page",),
    ("face",),
    ("benchmarks", "published"),
    ("commands",),
    ("entry",),
)
_ENTRY = ("fiberscope.cli", "fiberscope.__main__")
_OUTSIDE = ("published", "benchmarks")
_TEMPLATE = ROOT / "fiberscope" / "template" / "row_wise"  # its files import one another as siblings


def room_of(module: str) -> str:
    """Return the room of a module; the empty text for a module that is not ours."""
    top, _, below = module.partition(".")
    if module in _ENTRY:
        return "entry"
    if top in _OUTSIDE:
        return top
    if top != "fiberscope":
        return ""
    return below.partition(".")[0] or "face"


def floor_of(room: str) -> int:
    """Return the floor of a room, counted from the ground.

    Raises:
        KeyError: the room is on no floor.
    """
    for number, floor in enumerate(FLOORS):
        if room in floor:
            return number
    raise KeyError(f"{room} is on no floor")


@cache
def modules() -> dict[str, Path]:
    """Return the files of all modules by name."""
    paths = [path for top in ("fiberscope", *_OUTSIDE) for path in sorted((ROOT / top).rglob("*.py"))]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
        if path.parent != _TEMPLATE
    }


def imports(parts: Iterable[ast.AST], names: Collection[str]) -> Iterator[str]:
    """Yield the modules that a file imports anywhere: for types and within functions too.

    Args:
        parts: all nodes of the file.
        names: all modules, so that ``from package import module`` counts as the module.
    """
    for node in parts:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in names else str(node.module)


@cache
def graph() -> dict[str, set[str]]:
    """Return each module with the modules of ours that it imports."""
    names = modules()
    return {name: (names.keys() & set(imports(nodes(path), names))) - {name} for name, path in names.items()}


def upward(arrows: Mapping[str, Collection[str]]) -> set[tuple[str, str]]:
    """Return the imports of another room that is not on a lower floor."""
    return {
        (name, target)
        for name, targets in arrows.items()
        for target in targets
        if room_of(name) != room_of(target) and floor_of(room_of(target)) >= floor_of(room_of(name))
    }


def picture() -> str:
    """Return an SVG picture of the rooms, the ground floor at the bottom."""
    column, floor, gap, margin = 240, 40, 8, 16  # pixels
    width = 3 * (column + gap) - gap + 2 * margin
    height = len(FLOORS) * (floor + gap) - gap + 2 * margin
    title = "The rooms by floor: a room imports rooms of lower floors"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{title}">',
        f"<title>{title}</title>"
        "<style>text{font:14px ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;fill:#202124}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, rooms in enumerate(FLOORS):
        y = height - margin - (number + 1) * (floor + gap) + gap
        wide = (width - 2 * margin - gap * (len(rooms) - 1)) / len(rooms)
        for place, room in enumerate(rooms):
            x = margin + place * (wide + gap)
            lines.append(
                f'<rect x="{x:g}" y="{y}" width="{wide:g}" height="{floor}" rx="6" fill="#e8f0fe" '
                'stroke="#9aa0a6"/>'
                f'<text x="{x + wide / 2:g}" y="{y + 25}" text-anchor="middle">{room}</text>'
            )
    return "\n".join([*lines, "</svg>\n"])
