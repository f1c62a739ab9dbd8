"""Each room imports only the rooms below it, so that a newcomer can read any one without those above."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from rooms import ALLOWED, FLOORS, ROOT, floor_of

TEMPLATE = ROOT / "fiberscope" / "template" / "row_wise"
_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+cimport|cimport\s+([\w.]+))", flags=re.MULTILINE)


def imported(source: str, *, types: bool = False) -> Iterator[str]:
    """Dotted names of the modules a Python file imports, or a file of C types cimports."""
    if types:
        yield from (first or second for first, second in _CIMPORT.findall(source))
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the module in full"
            whole = node.module == "fiberscope"  # from which a room may come as from any other package
            yield from (f"fiberscope.{name.name}" for name in node.names) if whole else [str(node.module)]


def violations(path: Path, source: str) -> list[str]:
    """The imports of a file (its path from the root) that its room forbids."""
    return [
        f"{path} imports {module}"
        for module in imported(source, types=path.suffix == ".pxd")
        if module.split(".")[0] in ALLOWED
        and (room_of(module) not in ALLOWED[path.parts[0]] or _another_machine(path, module))
    ]


def room_of(module: str) -> str:
    """The room that a module is in, by its name; a name without ``fiberscope`` before it is in none."""
    package, _, below = module.partition(".")
    below = below.partition(".")[0]
    return (below if below in ALLOWED else package) if package == "fiberscope" else ""


def _another_machine(path: Path, module: str) -> bool:
    """Whether a file in one accelerator's folder imports another accelerator."""
    if path.parts[0] != "accelerators" or len(path.parts) < 3 or room_of(module) != "accelerators":
        return False
    other = module.split(".")[2]
    return other != path.parts[1] and (ROOT / "accelerators" / other).is_dir()


@pytest.mark.parametrize("room", ALLOWED)
def test_every_room_imports_only_what_it_may(room: str) -> None:
    files = [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.pxd")]
    files = [file for file in files if file.parent != TEMPLATE]  # its files import one another as siblings
    assert files
    found = [
        fault
        for file in files
        for fault in violations(file.relative_to(ROOT), file.read_text(encoding="utf-8"))
    ]
    assert found == []


def modules() -> dict[str, Path]:
    """The files of all modules by their names."""
    found = {}
    for room in ALLOWED:
        for path in (ROOT / room).rglob("*.py"):
            within = path.relative_to(ROOT).with_suffix("").parts
            names = within if room == "fiberscope" else ("fiberscope", *within)
            found[".".join(names).removesuffix(".__init__")] = path
    return found


def run_imports(source: str, known: Collection[str]) -> Iterator[str]:
    """The modules that a file imports when it runs, within functions too: not what is for types alone."""
    nodes = list(ast.walk(ast.parse(source)))
    tests = [node for node in nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    typed = {within for test in tests for within in ast.walk(test)}
    for node in nodes:
        if isinstance(node, ast.Import) and node not in typed:
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node not in typed:
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in known else str(node.module) for name in names)


@cache
def graph() -> dict[str, set[str]]:
    """Each module with those of ours that it imports."""
    known = modules()
    return {
        name: known.keys() & set(run_imports(path.read_text(encoding="utf-8"), known)) - {name}
        for name, path in known.items()
    }


def circles(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Circles of imports, each with its modules in order; none if there is an order in which all can load."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def test_no_circle_of_files() -> None:
    assert circles(graph()) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


def arrows_up(name: str, imported: Collection[str]) -> list[str]:
    """Imports of a module in ``fiberscope/`` from its own floor, but its own package, or from above."""
    here = name.removeprefix("fiberscope.")
    package = next((one for floor in FLOORS for one in floor if f"{here}.".startswith(f"{one}.")), here)
    return [
        f"{name} imports {other}"
        for other in imported
        if room_of(other) == "fiberscope" and other.partition(".")[2]
        if not f"{other.removeprefix('fiberscope.')}.".startswith(f"{package}.")
        if floor_of(other.removeprefix("fiberscope.")) >= floor_of(here)
    ]


def test_no_arrow_points_up_within_the_front_door() -> None:
    found = [
        arrow
        for name, imported in graph().items()
        if room_of(name) == "fiberscope" and name.removeprefix("fiberscope.") not in ("fiberscope", "models")
        for arrow in arrows_up(name, imported)
    ]
    assert found == []
    assert arrows_up("fiberscope.results.report.collect", {"fiberscope.commands.sim"}) != []
    assert arrows_up("fiberscope.models.tiles.kernel", {"fiberscope.results.store.write"}) != []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("sim/kernel.py", "import fiberscope.hw.fibers.merge"),
        ("hw/fibers/merge.py", "def f():\n    from fiberscope.workloads import load"),
        ("workloads/workload.py", "from fiberscope.sim import Kernel"),
        ("accelerators/gamma/machine.py", "from fiberscope import simulate"),
        ("accelerators/gamma/machine.py", "from fiberscope.accelerators.sigma import machine"),
        ("sim/kernel.py", "from fiberscope import hw"),
        ("hw/fibers/merge.py", "import sim"),
        ("sim/clock.pxd", "from fiberscope.hw.fibers.merge cimport Merger"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert len(violations(Path(path), source)) == 1


def test_every_room_has_its_folder_its_link_and_its_place_in_the_law() -> None:
    packages = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert packages == ALLOWED.keys(), "the packages at the root"
    links = {link.name: link.resolve() for link in (ROOT / "fiberscope").iterdir() if link.is_symlink()}
    assert links == {room: ROOT / room for room in ALLOWED if room != "fiberscope"}, "links in fiberscope/"
