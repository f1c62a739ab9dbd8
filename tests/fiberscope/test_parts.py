"""Blocks of one's own on the command line, and what is said of those that cannot be."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.sim import SimulationError

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = ["uniform:rows=20,cols=20,nonzeros=60,seed=5", "--set", "pe.count=2", "--set", "pe.radix=4"]
MODULE = """
from fiberscope.hw.fibers.merge import HighRadixMerger

class Mine(HighRadixMerger):
    pass

def nothing(name, radix, stages):
    return None

def few(name):
    return HighRadixMerger(name, 4)

def broken(name, radix, stages):
    return radix / 0
"""


@pytest.fixture(autouse=True)
def folder(here: Path) -> None:
    Path("own_blocks.py").write_text(MODULE)
    Path("broken_of_a_test.py").write_text("x = 1 / 0\n")
    Path("leaving_of_a_test.py").write_text("raise SystemExit(5)\n")


@pytest.mark.parametrize("command", ["sim", "ablate"])
def test_a_part_is_named_on_the_command_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    part = "merger=own_blocks:Mine"
    assert cli.run([command, "gamma", *TINY, "--part", part, "--json", "out.json"]) == 0
    if command == "sim":
        document = json.loads(Path("out.json").read_text())
        assert document["parts"] == {"merger": "own_blocks.Mine"}
        assert "gamma with merger Mine" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("merger", "--part merger: write it as name=module:Class, for example merger=my_blocks:MyMerger"),
        (
            "merger=none_of_these:Mine",
            "--part merger=none_of_these:Mine: cannot import none_of_these: "
            "ModuleNotFoundError: No module named 'none_of_these'",
        ),
        (
            "merger=own_blocks:Mime",
            "--part merger=own_blocks:Mime: own_blocks has no class Mime; did you mean Mine?",
        ),
        ("mergr=own_blocks:Mine", "gamma has no part mergr to replace; did you mean merger?"),
        (
            "merger=own_blocks:nothing",
            "the part merger: own_blocks.nothing made None, which is no fiberscope.sim.Component",
        ),
        (
            "merger=own_blocks:few",
            "the part merger: own_blocks.few cannot be called as the machine calls it: "
            "too many positional arguments",
        ),
    ],
)
def test_a_part_that_cannot_be_costs_a_line(part: str, says: str, refusal) -> None:
    assert refusal("sim", "gamma", *TINY, "--part", part) == f"fiberscope: {says}\n"


def test_a_part_over_a_block_whose_tick_gives_no_cycle_is_named() -> None:
    class Silent(HighRadixMerger):
        def tick(self, now: int) -> None:  # type: ignore[override]
            super().tick(now)

    with pytest.raises(SimulationError, match=r"gamma\.pe00\.merger: tick at cycle 0 gave no cycle; end it"):
        fiberscope.simulate("gamma", TINY[0], parts={"merger": Silent}, pe__count=2, pe__radix=4)


def test_a_part_that_breaks_as_it_is_made_is_named_with_its_line(refusal) -> None:
    err = refusal("sim", "gamma", *TINY, "--part", "merger=own_blocks:broken")
    assert "own_blocks.broken cannot be made: ZeroDivisionError: division by zero (" in err
    assert err.endswith("own_blocks.py:14)\n")


def test_a_module_that_ends_the_process_is_named_with_its_line(refusal) -> None:
    error = refusal("sim", "gamma", *TINY, "--part", "merger=leaving_of_a_test:Mine")
    assert "leaving_of_a_test.py:1)\n" in error


def test_a_module_that_breaks_is_named_with_its_line(refusal) -> None:
    err = refusal("sim", "gamma", *TINY, "--part", "merger=broken_of_a_test:Mine")
    assert "cannot import broken_of_a_test: ZeroDivisionError: division by zero (" in err
    assert err.endswith("broken_of_a_test.py:1)\n")


def test_a_part_that_is_given_twice_is_refused(refusal) -> None:
    part = ["--part", "merger=own_blocks:Mine"]
    assert "merger is given twice" in refusal("compare", "gamma", "wiki-Vote", *part, *part)


def test_a_check_is_of_the_machine_with_the_part(refusal) -> None:
    digests = []
    for part in ([], ["--part", "merger=own_blocks:Mine"]):
        assert cli.run(["check", "gamma", *TINY, *part, "--no-explain", "--quiet", "--json", "out.json"]) == 0
        digests.append(json.loads(Path("out.json").read_text())["source_digest"])
    assert digests[0] != digests[1]  # the sources of the part are among those of the run
    error = refusal("check", "gamma", *TINY, "--part", "mergr=own_blocks:Mine")
    assert "gamma has no part mergr to replace; did you mean merger?" in error


def test_a_part_runs_beside_rtl_in_the_loop(refusal, printed) -> None:
    pytest.importorskip("pyrtl", reason="the extra rtl is not installed")
    Path("slow.py").write_text((EXAMPLES / "own_component" / "slow_merger.py").read_text(encoding="utf-8"))
    small = ["--set", "fibercache.banks=2", "--set", "fibercache.size=4KiB", "--set", "fibercache.ways=4"]
    words = ["rtl", "loop", "bank", "gamma", *TINY, *small, "--sim", "pyrtl"]
    cycles = []
    for part in ([], ["--part", "merger=slow.py:SlowMerger"]):
        out = printed(*words, *part)
        assert "identical in all" in out
        cycles.append(int(out.partition("cycles with RTL")[2].split()[0].replace(",", "")))
    assert cycles[0] < cycles[1]
    error = refusal("rtl", "loop", "machine", "gamma", *TINY, "--part", "merger=slow.py:SlowMerger")
    assert "--part: all of the machine is RTL" in error


def test_from_python_too(toy: str) -> None:
    with pytest.raises(InputError, match=r"made None, which is no fiberscope\.sim\.Component"):
        fiberscope.simulate(
            "gamma", TINY[0], parts={"merger": lambda name, radix, stages: None}, pe__count=2, pe__radix=4
        )
    assert fiberscope.ablate(toy, TINY[0])[0].name == "as configured"
    assert fiberscope.compare.__module__ == "fiberscope.explore.compare"
