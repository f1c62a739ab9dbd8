"""Area: how many gates, flip-flops and bits of memory a block becomes, and how deep its logic is, by Yosys.

The gates are generic, of no technology: numbers to compare blocks and parameters by, not square micrometres.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.parameters import Parameters
from hw.rtl.tools.simulator import HdlError

__all__ = ["Area", "gates_of", "measure", "require", "version"]

GATES = ("AND", "OR", "XOR", "MUX", "NOT")  # of two inputs; MUX of three, NOT of one

# Memories stay whole, so that a cache is not counted as flip-flops and multiplexers that nobody would build.
SCRIPT = """\
read_verilog -sv {source}
synth -flatten -noabc -top {module} -run begin:fine
delete t:$scopeinfo
opt -fast -full
techmap
opt -fast
abc -g AND,OR,XOR,MUX -script +strash;map
opt_clean
memory_unpack
tee -q -o cells.json stat -json
tee -q -o path.txt ltp -noff t:$mem* %n
"""
PROGRAM = "from pyosys import libyosys as yosys; yosys.run_pass('script area.ys', yosys.Design())"

_LONGEST = re.compile(r"Longest topological path in \S+ \(length=(?P<length>-?\d+)\)")
_GATE = re.compile(r"\$_(?P<kind>[A-Z]+)_")


@dataclass(frozen=True)
class Area:
    """What a module becomes.

    Args:
        gates: how many of each kind, those of ``GATES`` that there are.
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
        """As JSON has it."""
        return {**asdict(self), "gate_count": self.gate_count}


def require() -> None:
    """Make sure that Yosys is there.

    Raises:
        HdlError: saying how to get it.
    """
    if importlib.util.find_spec("pyosys") is None:
        raise HdlError("Yosys is not installed, which areas need: pip install 'fiberscope[area]'")


def version() -> str:
    """The version of Yosys, on which the numbers depend."""
    return importlib.metadata.version("pyosys")


def measure(block: RtlBlock, parameters: Parameters) -> Area:
    """The area of a block.

    Raises:
        HdlError: if Yosys is missing, or does not accept the block's Verilog.
    """
    return gates_of(block.verilog(parameters), block.interface(parameters).module)


def gates_of(verilog: str, module: str) -> Area:
    """The area of a module of any Verilog, with all that it instantiates.

    Yosys runs in a process of its own, for it ends its process when it meets an error.

    Raises:
        HdlError: if Yosys is missing, or does not accept the Verilog.
    """
    require()
    with tempfile.TemporaryDirectory(prefix="fiberscope-area-") as name:
        folder = Path(name)
        (folder / f"{module}.v").write_text(verilog, encoding="utf-8")
        script = SCRIPT.format(source=f"{module}.v", module=module)
        (folder / "area.ys").write_text(script, encoding="utf-8")
        command = [sys.executable, "-c", PROGRAM]
        outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if outcome.returncode:
            raise HdlError(f"Yosys does not accept module {module}: {_complaint(outcome)}")
        found = json.loads((folder / "cells.json").read_text(encoding="utf-8"))["design"]
        return _area(found, (folder / "path.txt").read_text(encoding="utf-8"))


def _area(found: Mapping[str, Any], path: str) -> Area:
    cells: Mapping[str, int] = found["num_cells_by_type"]
    kinds = {match["kind"]: count for cell, count in cells.items() if (match := _GATE.fullmatch(cell))}
    longest = _LONGEST.search(path)
    return Area(
        gates={kind: kinds[kind] for kind in GATES if kind in kinds},
        flip_flops=sum(count for cell, count in cells.items() if "DFF" in cell),
        memory_bits=found["num_memory_bits"],
        depth=max(0, int(longest["length"])) if longest else 0,
    )


def _complaint(outcome: subprocess.CompletedProcess[str]) -> str:
    """The last line that Yosys said of an error."""
    lines = [line for line in (outcome.stdout + outcome.stderr).splitlines() if "ERROR" in line]
    return lines[-1] if lines else f"it ended with exit code {outcome.returncode}"
