"""A part of a machine of one's own names its RTL in a file beside it, and takes a module's place."""

import shutil
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope.cli import run

pytest.importorskip("pyrtl")
EXAMPLE = Path(__file__).parents[2] / "examples" / "inner_product"
LANE = ["whole.mtx", "--set", "lane.count=1", "--set", "lane.window=4"]
UNIT = """\
from fiberscope.hw.fibers import arithmetic_rtl as given
from fiberscope.hw.rtl.kit.unit import elements, unit

from .parts import Adder

ADDER = unit(
    "adder",
    Adder,
    given.AccumulatorParameters,
    given.port_contents,
{logic}    as_made={{"coordinate_bits": 32, "value_bits": 48, "sum_bits": 53}},
    counters={{"add": given._added, "emitted": elements("sums")}},
    events=("add",),
    fibers=True,
    together=("sums",),
)
"""
PARTS = '''\
from fiberscope.hw.fibers.arithmetic import Accumulator


class Adder(Accumulator):
    """Adds up what is in one place."""
'''


@pytest.fixture
def folder(here: Path) -> Path:
    """The inner product, its accumulator under a name and in a file of its own."""
    mine = shutil.copytree(EXAMPLE, here / "mine")
    text = (mine / "machine.py").read_text(encoding="utf-8")
    text = text.replace("import Accumulator, PairMultiplier", "import PairMultiplier")
    text = text.replace('"accumulator": Accumulator', '"adder": Adder').replace('"accumulator"', '"adder"')
    text = text.replace("from fiberscope.sim.names", "from .parts import Adder\nfrom fiberscope.sim.names")
    (mine / "machine.py").write_text(text, encoding="utf-8")
    (mine / "parts.py").write_text(PARTS)
    places = [(1 + i % 12, 1 + 5 * i % 11, i % 7 + 1) for i in range(40)]
    entries = "".join(f"{row} {column} {value}\n" for row, column, value in places)
    Path("whole.mtx").write_text(f"%%MatrixMarket matrix coordinate integer general\n12 12 40\n{entries}")
    return mine


def test_its_logic_runs_in_the_place_of_the_component(folder: Path, printed) -> None:
    (folder / "adder_rtl.py").write_text(UNIT.format(logic="    given.design,\n"))
    out = printed("rtl", "loop", "adder", "./mine", *LANE, "--sim", "pyrtl")
    assert out.splitlines()[-1].startswith("identical in all ")


@needs("hdl")
def test_so_does_verilog_of_ones_own_for_a_unit_that_says_its_ports_alone(folder: Path, printed) -> None:
    pytest.importorskip("cocotb")
    (folder / "adder_rtl.py").write_text(UNIT.format(logic=""))
    settings = ["--set=coordinate_bits=32", "--set=value_bits=48", "--set=sum_bits=53", "--status"]
    assert run(["rtl", "export", "accumulator", *settings, "-o", "."]) == 0
    verilog = ["--verilog", "accumulator.v", "--module", "accumulator"]
    out = printed("rtl", "loop", "adder", "./mine", *LANE, *verilog)
    assert out.splitlines()[-1].startswith("identical in all ")


def test_without_logic_it_is_a_line_and_its_shell_can_be_had(folder: Path, refusal) -> None:
    (folder / "adder_rtl.py").write_text(UNIT.format(logic=""))
    error = refusal("rtl", "loop", "adder", "./mine", *LANE, "--sim", "pyrtl")
    assert "adder has no logic in PyRTL; give it as Verilog, by --verilog" in error
    assert run(["rtl", "shell", "adder", "./mine", "-o", "."]) == 0
    assert "module adder(" in Path("adder.v").read_text()


def test_a_unit_of_no_such_name_is_refused(folder: Path, refusal) -> None:
    (folder / "adder_rtl.py").write_text(UNIT.format(logic=""))
    error = refusal("rtl", "loop", "addr", "./mine", *LANE)
    assert "inner_product has no part addr to replace; did you mean adder" in error
