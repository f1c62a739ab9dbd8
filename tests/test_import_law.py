"""Each room imports only the rooms below it, so that a newcomer can read any one without those above."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from rooms import ALLOWED, ROOT

from sim.mode import COMPILED_PACKAGES

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
            yield str(node.module)


def violations(path: Path, source: str) -> list[str]:
    """The imports of a file (its path from the root) that its room forbids."""
    room = path.parts[0]
    return [
        f"{path} imports {module}"
        for module in imported(source, types=path.suffix == ".pxd")
        if module.split(".")[0] in ALLOWED
        and (module.split(".")[0] not in ALLOWED[room] or _another_machine(path, module))
    ]


def _another_machine(path: Path, module: str) -> bool:
    """Whether a file in one accelerator's folder imports another accelerator."""
    if path.parts[0] != "accelerators" or len(path.parts) < 3 or not module.startswith("accelerators."):
        return False
    other = module.split(".")[1]
    return other != path.parts[1] and (ROOT / "accelerators" / other).is_dir()


@pytest.mark.parametrize("room", ALLOWED)
def test_every_room_imports_only_what_it_may(room: str) -> None:
    files = [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.pxd")]
    assert files
    found = [
        fault
        for file in files
        for fault in violations(file.relative_to(ROOT), file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("sim/kernel.py", "import hw.merge"),
        ("hw/merge.py", "def f():\n    from workloads import load"),
        ("workloads/workload.py", "from sim import Kernel"),
        ("accelerators/gamma/machine.py", "from fiberscope import simulate"),
        ("sim/clock.pxd", "from hw.merge cimport Merger"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert len(violations(Path(path), source)) == 1


def quoted(path: str, pattern: str) -> set[str]:
    """The words within what a pattern finds in a file."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert found is not None, f"{path} lists its rooms otherwise"
    return set(re.findall(r"\w+", found[1]))


def test_a_room_stands_in_every_list_of_rooms() -> None:
    """A new room begins in ``ALLOWED``; this names each list that must have it too."""
    packages = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert packages == ALLOWED.keys(), "the packages at the root"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert set(settings["mypy"]["files"]) == ALLOWED.keys() | {"benchmarks", "examples"}, "files of mypy"
    include = settings["setuptools"]["packages"]["find"]["include"]
    assert set(include) == {name for room in ALLOWED for name in (room, f"{room}.*")}, "packages to install"
    below = quoted("fiberscope/__init__.py", r"for room in \((.*?)\):")
    assert below == ALLOWED.keys() - {"fiberscope"}, "fiberscope/__init__.py"


def test_a_room_with_compiled_files_stands_in_every_list_of_those() -> None:
    typed = {path.relative_to(ROOT).parts[0] for room in ALLOWED for path in (ROOT / room).rglob("*.pxd")}
    assert set(COMPILED_PACKAGES) == typed, "sim/mode.py"
    assert quoted("setup.py", r"for room in \((.*?)\)") == typed, "setup.py"
    assert quoted("Makefile", r"TYPED_ROOMS := (.*)") == typed, "Makefile"
