"""Each room imports rooms of lower floors alone, so that a newcomer can read any room without those above."""

import ast
import re
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pytest
from rooms import FLOORS, LINKED, ROOT, graph, imports, modules, room_of, upward
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

MOST_ROOMS, MOST_FLOORS = 20, 13
MOST_CIRCLES, MOST_FILES_IN_A_CIRCLE = 4, 3
_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+cimport|cimport\s+([\w.]+))", flags=re.MULTILINE)


def test_every_room_is_on_a_floor_and_there_are_few() -> None:
    rooms = {room_of(name) for name in modules()}
    listed = [room for floor in FLOORS for room in floor]
    assert sorted(listed) == sorted(rooms)
    assert len(rooms) <= MOST_ROOMS
    assert len(FLOORS) <= MOST_FLOORS


def test_no_room_imports_a_higher_one() -> None:
    assert upward(graph()) == set()


def test_types_for_the_compiler_come_from_lower_floors() -> None:
    arrows: dict[str, set[str]] = {}
    for path in sorted((ROOT / "fiberscope").rglob("*.pxd")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        targets = {first or second for first, second in _CIMPORT.findall(path.read_text(encoding="utf-8"))}
        arrows[name] = {target for target in targets if room_of(target)}
    assert arrows
    assert upward(arrows) == set()


def test_no_machine_imports_another() -> None:
    machines = [path.parent.name for path in (ROOT / "fiberscope/accelerators").glob("*/config.yaml")]
    assert len(machines) > 4
    place = re.compile(r"fiberscope\.accelerators\.(\w+)")
    for name, targets in graph().items():
        own = place.match(name)
        if own and own[1] in machines:
            others = {found[1] for target in targets if (found := place.match(target))}
            assert others & set(machines) <= {own[1]}, name


def test_imports_name_the_module_in_full() -> None:
    for name, path in modules().items():
        assert not re.search(r"^\s*from \.", path.read_text(encoding="utf-8"), re.MULTILINE), name


def clusters(arrows: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another in circles, the largest first."""
    place = {name: number for number, name in enumerate(arrows)}
    edges = [(place[name], place[target]) for name, targets in arrows.items() for target in targets]
    matrix = coo_array((np.ones(len(edges)), tuple(np.transpose(edges))), shape=(len(place), len(place)))
    _, labels = connected_components(matrix, connection="strong")
    groups = [[name for name in arrows if labels[place[name]] == label] for label in set(labels.tolist())]
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)


def test_few_files_import_one_another_in_circles() -> None:
    """Imports for types and within functions count too: who reads a file of a circle reads them all."""
    groups = clusters(graph())
    assert len(groups) <= MOST_CIRCLES, groups
    assert len(groups[0]) <= MOST_FILES_IN_A_CIRCLE, groups[0]
    assert clusters({"a": {"b"}, "b": {"a", "c"}, "c": set(), "d": {"e"}, "e": {"f"}, "f": {"d"}}) == [
        ["d", "e", "f"],
        ["a", "b"],
    ]


def circles(arrows: Mapping[str, Collection[str]]) -> list[str]:
    """Circles of imports, each with its modules in order; none if there is an order in which all can load."""
    try:
        tuple(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def test_no_circle_of_files_that_run() -> None:
    """Imports for types alone do not run; the rest has an order in which all modules load."""
    names = modules()
    running = {}
    for name, path in names.items():
        source = path.read_text("utf-8")
        runs = re.sub(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", "", source, flags=re.M)
        targets = (
            graph()[name] if runs == source else names.keys() & set(imports(ast.walk(ast.parse(runs)), names))
        )
        running[name] = targets - {name, "fiberscope"}
    assert circles(running) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("fiberscope.sim.kernel", "fiberscope.hw.fibers.merge"),
        ("fiberscope.hw.fibers.merge", "fiberscope.run.api"),
        ("fiberscope.workloads.workload", "fiberscope.sim.kernel"),
        ("fiberscope.accelerators.gamma.machine", "fiberscope"),
        ("fiberscope.models.tiles.kernel", "fiberscope.commands.sim"),
    ],
)
def test_a_planted_import_of_a_higher_floor_is_found(name: str, target: str) -> None:
    assert upward({name: {target}}) == {(name, target)}


def test_the_root_has_a_link_to_each_folder_that_the_owner_names() -> None:
    links = {path.name: path.resolve() for path in ROOT.iterdir() if path.is_symlink() and path.is_dir()}
    expected = {name: ROOT / "fiberscope" / name for name in LINKED}
    assert {name: links.get(name) for name in LINKED} == expected
