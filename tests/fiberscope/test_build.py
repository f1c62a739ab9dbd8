"""``fiberscope build``: parts of a user's own are compiled without a file of C types, and runs take them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from optional_programs import missing

import fiberscope
from fiberscope import accelerators
from fiberscope.accelerators.module_cache import compiled_module
from fiberscope.cli import run
from fiberscope.compiler import user_modules
from fiberscope.sim import import_mode
from fiberscope.template.new import new_machine

PART = """
from fiberscope.hw.stream import STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output

DELAY = 3


class Slow(Component):
    PORTS = (Input("source", STREAM), Output("sink", STREAM))

    source: Channel
    sink: Channel

    def __init__(self, name: str, limit: int = 4) -> None:
        super().__init__(name)
        self.limit = limit
        self.passed = 0

    def tick(self, now: int) -> int:
        self._note(now + DELAY)
        return self.idle()

    def _note(self, now: int) -> None:
        self.passed += now
"""
TYPES = (
    "#define my_part_DELAY ((long){3})",
    'long DELAY "my_part_DELAY"',
    "cdef class Slow(Component):",
    "cdef public Channel sink",
    "cdef readonly long limit",
    "cpdef long tick(self, long now) except? -2",
    "cdef int _note(self, long now) except -1",
)
LOADED = (
    "from fiberscope.accelerators.user_parts import parse_parts\n"
    "part = parse_parts(['x=my_part:Slow'])['x']\n"
    "print(type(part.__dict__['tick']).__name__, __import__('my_part').__file__)\n"
)
POLICY = """
from collections.abc import Sequence

from fiberscope.hw.memory.replacement import Line, ReplacementPolicy


class Mine(ReplacementPolicy):
    def __init__(self) -> None:
        self.last_use: dict[int, int] = {}

    def requested(self, number, operation, now):
        self.last_use[number] = now

    def victim(self, lines: Sequence[Line]) -> Line:
        return max(lines, key=lambda line: self.last_use.get(line.number, 0))
"""
SMALL = "uniform:rows=30,cols=30,nonzeros=100"
compiled_only = pytest.mark.skipif(
    not import_mode.compiled() or missing("gcc") is not None,
    reason="needs the compiled engine and a compiler",
)


@pytest.fixture
def part(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's file, in a folder with a cache of its own."""
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(here / "cache"))
    file = here / "my_part.py"
    file.write_text(PART)
    return file


def loaded() -> list[str]:
    """In another process: of what kind the part's ``tick`` is, and the file of its module."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_show_prints_the_declarations_and_compiles_nothing(part: Path, printed) -> None:
    lines = [line.strip() for line in printed("build", "my_part.py", "--show").splitlines()]
    assert [line for line in TYPES if line not in lines] == []
    assert compiled_module(part, "my_part") is None


@compiled_only
def test_a_run_takes_what_was_built_until_the_source_changes(part: Path) -> None:
    assert loaded() == ["function", str(part)]
    assert run(["build", "my_part.py"]) == 0
    assert compiled_module(part, "my_part") is not None
    assert loaded()[0] != "function"
    assert {path.name for path in part.parent.iterdir()} - {"__pycache__"} == {"cache", "my_part.py"}
    part.write_text(PART.replace("DELAY = 3", "DELAY = 4"))
    assert compiled_module(part, "my_part") is None
    assert loaded() == ["function", str(part)]


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = (\n", "my_part.py:1: '(' was never closed"), (None, "there is no such Python file or folder")],
)
def test_what_cannot_be_built_is_a_line(part: Path, refusal, text: str | None, said: str) -> None:
    part.unlink()
    if text is not None:
        part.write_text(text)
    assert said in refusal("build", "my_part.py")


def test_without_a_compiler_it_is_a_line(part: Path, refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "there is no no-such-compiler" in refusal("build", "my_part.py")


@compiled_only
def test_a_module_is_compiled_with_those_beside_it_that_it_imports(part: Path) -> None:
    part.with_name("other.py").write_text("from my_part import Slow\n\n\nclass Slower(Slow):\n    pass\n")
    part.with_name("apart.py").write_text("x = 1\n")
    assert user_modules.build(part.with_name("other.py")) == [part, part.with_name("other.py")]


@compiled_only
def test_a_machine_is_compiled_with_its_parts_and_its_runs_take_them(
    part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_machine("mine", part.parent)
    assert user_modules.build(folder) == [folder / "machine.py", folder / "parts.py"]
    assert ticks_of(folder) != "function"
    fast = fiberscope.simulate("./mine", SMALL, exact=True)
    monkeypatch.setattr(import_mode, "uncompiled_requested", lambda: True)
    assert ticks_of(folder) == "function"
    assert fiberscope.simulate("./mine", SMALL).cycles == fast.cycles
    monkeypatch.undo()
    parts = folder / "parts.py"
    parts.write_text(parts.read_text() + "# changed\n")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(part.parent / "cache"))
    assert ticks_of(folder) == "function"


def ticks_of(folder: Path) -> str:
    """Of what kind the ``tick`` of the machine's sums is."""
    return type(accelerators.find(str(folder)).parts["sums"].__dict__["tick"]).__name__


@compiled_only
def test_a_policy_is_compiled_and_chooses_as_before(part: Path) -> None:
    part.write_text(POLICY)
    tight = ["pe.count=4", "fibercache.banks=2", "fibercache.ways=4", "fibercache.size=2KiB"]
    options = [f"--set={setting}" for setting in tight]
    cycles = []
    for compiled in (False, True):
        if compiled:
            assert user_modules.build(part) == [part]
            assert "cpdef void requested(self, long number" in user_modules.declarations(part)[part]
        arguments = ["sim", "gamma", SMALL, *options, "--part", "bank=my_part.py:Mine", "--json", "out.json"]
        assert run([*arguments, "--quiet"]) == 0
        cycles.append(json.loads(Path("out.json").read_text())["cycles"])
    assert cycles[0] == cycles[1]
