"""Each room imports only the rooms below it, so that a newcomer can read any one without those above."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "sim": {"sim"},
    "workloads": {"workloads"},
    "hw": {"hw", "sim"},
    "accelerators": {"accelerators", "hw", "sim", "workloads"},
    "fiberscope": {"fiberscope", "accelerators", "hw", "sim", "workloads"},
}
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
        ("workloads/load.py", "from sim import Kernel"),
        ("accelerators/gamma/machine.py", "from fiberscope import simulate"),
        ("sim/clock.pxd", "from hw.merge cimport Merger"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert len(violations(Path(path), source)) == 1
