"""Area of a block by Yosys: gates, flip-flops, memory bits, and logic depth.

The gates are generic and independent of a technology, for comparisons of blocks and parameters, not for
square micrometres. With a cell library (a Liberty file), the result has cells with their area, and the depth
is a delay.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.tools.programs import first_error, run_program
from fiberscope.hw.rtl.tools.simulator import HdlError

GATES = ("AND", "OR", "XOR", "MUX", "NOT")  # with two inputs; MUX has three, NOT has one

# Memories stay whole, so that a cache does not count as flip-flops and multiplexers. Registers keep their
# encoding, so that each matches a register of the RTL.
_FRONT = """\
read_verilog -sv {source}
synth -flatten -noabc -nofsm -top {module} -run begin:fine
delete t:$scopeinfo
opt -fast -full
techmap
opt -fast
"""
SCRIPT = (
    _FRONT
    + """\
abc -g AND,OR,XOR,MUX -script +strash;map
opt_clean
memory_unpack
tee -q -o cells.json stat -json
tee -q -o path.txt ltp -noff t:$mem* %n
"""
)
# Cells are sized for the clock; stime is the static timing of abc, with the library's tables and no wires.
MAPPING = (
    _FRONT
    + """\
dfflibmap -liberty {liberty}
opt -fast
tee -q -o path.txt abc -liberty {liberty} -script \
+strash;ifraig;scorr;dch,-f;map,-B,0.9;topo;buffer;upsize,-D,{picoseconds};dnsize,-D,{picoseconds};stime,-p
opt_clean
"""
)
CELLS_SCRIPT = (
    MAPPING.replace("dfflibmap", "tee -q -o registers.json stat -json\ndfflibmap")
    + """\
memory_unpack
tee -q -o cells.json stat -liberty {liberty} -json
"""
)
TARGET_PICOSECONDS = 1000  # the machines' clock, 1 GHz
SHIPPED = {  # libraries in Debian, by name: file and package
    "osu018": (Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib"), "qflow-tech-osu018")
}
LIBERTY = "cells.lib"  # a link to the library, whose own name could be a command in a script
PROGRAM = "from pyosys import libyosys as yosys; yosys.run_pass('script area.ys', yosys.Design())"

_LONGEST = re.compile(r"Longest topological path in \S+ \(length=(?P<length>-?\d+)\)")
_DELAY = re.compile(r"Delay = +(?P<picoseconds>[0-9.]+) ps")
_GATE = re.compile(r"\$_(?P<kind>[A-Z]+)_")


@dataclass(frozen=True)
class Area:
    """Gates, flip-flops and memory of a module.

    Args:
        gates: number of gates of each kind in ``GATES``.
        flip_flops: bits of registers; enable and reset are part of a flip-flop.
        memory_bits: bits of memories, whose decoders and multiplexers are not among the gates.
        depth: gates on the longest path between ports, registers and memories.
    """

    gates: Mapping[str, int]
    flip_flops: int
    memory_bits: int
    depth: int

    @property
    def gate_count(self) -> int:
        """Gates of all kinds."""
        return sum(self.gates.values())

    def to_json(self) -> dict[str, Any]:
        """Return the entry for JSON."""
        return {**asdict(self), "gate_count": self.gate_count}


@dataclass(frozen=True)
class Cells:
    """Area and path of a module in the cells of a library.

    Args:
        area: of all cells, in the library's unit, usually square micrometres.
        flip_flop_area: area of the flip-flops among them.
        cells: number of cells.
        flip_flops: bits of registers.
        memory_bits: bits of memories, which are not among the cells.
        path_ns: the longest path of logic between ports, registers and memories, in ns, without wires and
            without flip-flop delays.
    """

    area: float
    flip_flop_area: float
    cells: int
    flip_flops: int
    memory_bits: int
    path_ns: float

    @property
    def megahertz(self) -> float:
        """The clock frequency that the path allows, in MHz; infinite without a path."""
        return 1000 / self.path_ns if self.path_ns else float("inf")

    def to_json(self) -> dict[str, Any]:
        """Return the entry for JSON."""
        return asdict(self)


def library(name: str) -> Path:
    """Return a Liberty file, by its path or by the name of a Debian package's library.

    Raises:
        HdlError: there is no such file; the message has the package to install if the name is known.
    """
    path, package = SHIPPED.get(name, (Path(name), None))
    if path.is_file():
        return path.resolve()
    if package is not None:
        raise HdlError(f"the cells {name} are not installed (on Debian: apt install {package})")
    raise HdlError(f"{name}: no such Liberty file; known by name: {', '.join(SHIPPED)}")


def require() -> None:
    """Check that Yosys is installed.

    Raises:
        HdlError: with the command that installs it.
    """
    if importlib.util.find_spec("pyosys") is None:
        raise HdlError("Yosys is not installed, which areas need: pip install 'fiberscope[area]'")


def version() -> str:
    """Return the version of Yosys, on which the numbers depend."""
    return importlib.metadata.version("pyosys")


def measure(block: RtlBlock, parameters: Parameters) -> Area:
    """Return the area of a block.

    Raises:
        HdlError: Yosys is missing, or does not accept the block's Verilog.
    """
    return gates_of(block.verilog(parameters), block.interface(parameters).module)


def gates_of(verilog: str, module: str) -> Area:
    """Return the area of a module of any Verilog, with all its instances.

    Raises:
        HdlError: Yosys is missing, or does not accept the Verilog.
    """
    statistics, path = run_yosys(verilog, module, SCRIPT, ("cells.json", "path.txt"))
    return _area(json.loads(statistics)["design"], path)


def cells_of(verilog: str, module: str, liberty: Path) -> Cells:
    """Map a module of any Verilog, with all its instances, to the cells of a library.

    Args:
        verilog: the module and its instances.
        module: name of the module.
        liberty: the cell library, a Liberty file.

    Raises:
        HdlError: Yosys is missing, or does not accept the Verilog or the library.
    """
    files = ("registers.json", "cells.json", "path.txt")
    generic, statistics, report = run_yosys(verilog, module, CELLS_SCRIPT, files, liberty)
    design = json.loads(statistics)["design"]
    delays = [float(match["picoseconds"]) for match in _DELAY.finditer(report)]
    return Cells(
        area=design["area"],
        flip_flop_area=design["sequential_area"],
        cells=design["num_cells"],
        flip_flops=_flip_flops(json.loads(generic)["design"]),
        memory_bits=design["num_memory_bits"],
        path_ns=round(max(delays, default=0.0) / 1000, 6),
    )


def run_yosys(
    verilog: str, module: str, script: str, wanted: Sequence[str], liberty: Path | None = None
) -> list[str]:
    """Return the files that a Yosys script writes about a module.

    Yosys runs in a separate process, as it exits at an error.

    Args:
        verilog: the module and its instances.
        module: name of the module.
        script: the Yosys script, with ``{source}``, ``{module}``, ``{liberty}`` and ``{picoseconds}``.
        wanted: names of the files to return, each of which the script writes.
        liberty: the cell library.

    Raises:
        HdlError: Yosys is missing, or does not accept the Verilog or the library.
    """
    require()
    with tempfile.TemporaryDirectory(prefix="fiberscope-area-") as name:
        folder = Path(name)
        (folder / f"{module}.v").write_text(verilog, encoding="utf-8")
        if liberty is not None:
            (folder / LIBERTY).symlink_to(liberty.resolve())
        words = {"source": f"{module}.v", "module": module, "picoseconds": TARGET_PICOSECONDS}
        (folder / "area.ys").write_text(script.format(liberty=LIBERTY, **words), encoding="utf-8")
        command = [sys.executable, "-c", PROGRAM]
        outcome = run_program(command, folder)
        if outcome.returncode:
            complaint = first_error(outcome) or f"it ended with exit code {outcome.returncode}"
            cells = "" if liberty is None else f" with the cells of {liberty}"
            raise HdlError(f"Yosys does not accept module {module}{cells}: {complaint}")
        return [(folder / file).read_text(encoding="utf-8", errors="replace") for file in wanted]


def _area(design: Mapping[str, Any], path: str) -> Area:
    """Return the area from Yosys's statistics and its report of the longest path."""
    cells: Mapping[str, int] = design["num_cells_by_type"]
    kinds = {match["kind"]: count for cell, count in cells.items() if (match := _GATE.fullmatch(cell))}
    longest = _LONGEST.search(path)
    return Area(
        gates={kind: kinds[kind] for kind in GATES if kind in kinds},
        flip_flops=_flip_flops(design),
        memory_bits=design["num_memory_bits"],
        depth=max(0, int(longest["length"])) if longest else 0,
    )


def _flip_flops(design: Mapping[str, Any]) -> int:
    """Count the flip-flops among these generic cells, each of which has one bit."""
    return sum(count for cell, count in design["num_cells_by_type"].items() if "DFF" in cell)
