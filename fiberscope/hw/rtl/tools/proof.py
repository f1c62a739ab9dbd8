"""Proofs that claims hold of a twin in every cycle, whatever comes at its inputs, by ``sat`` of Yosys.

Claims are wires of one bit, designed in PyRTL beside the twin: they may read its ports and its registers, and
registers of their own that follow what has moved. The solver looks for a cycle in which one is low.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any, TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, Twin, build, named, verilog
from fiberscope.hw.rtl.kit.wrapper import join
from fiberscope.hw.rtl.tools.area import synthesized

__all__ = ["Claims", "RefutedError", "UnprovenError", "prove"]

Claims: TypeAlias = Callable[[Any, Streams], Mapping[str, Signal]]
LONGEST = 6  # cycles in a row, of which an induction assumes that all claims hold
_CLAIM = "claim_"  # what the wires of claims begin with
_ALL = "all_claims"  # the output that is high while all are
_SCRIPT = """\
read_verilog -sv {{source}}
prep -top {{module}}
memory_map
opt -fast
tee -q -o proof.txt sat -tempinduct -maxsteps {longest} {begins} -prove {proven} 1 {shown} {{module}}
"""
_LENGTH = re.compile(r"induction with length (\d+)")
_LOW = re.compile(rf"^ +(?P<cycle>\d+) +\\{_CLAIM}(?P<claim>\w+) +0 ", re.MULTILINE)


class RefutedError(Exception):
    """Claims that do not hold, some cycles after a reset."""


class UnprovenError(Exception):
    """Claims that hold as far as was looked, and of which no induction was found."""


def prove(block: RtlBlock, parameters: Parameters, claims: Claims) -> int:
    """Prove by induction that claims hold of a block's twin in all cycles; a reset may come at any time.

    Args:
        block: the block.
        parameters: its parameters.
        claims: what holds, by name, from parameters and streams; the wires of outputs can be read.

    Returns:
        how many cycles in a row, in which all claims hold, it takes to show that they do in the next one.

    Raises:
        RefutedError: naming the claims that do not hold, and in which cycle.
        UnprovenError: no induction was found.
        HdlError: Yosys is missing.
    """
    twin = _claimed(block, parameters, claims)
    script = _SCRIPT.format(longest=LONGEST, begins=_begins(twin), proven=_ALL, shown=_shown(twin))
    (said,) = synthesized(verilog(twin, "proof"), "proof", script, ("proof.txt",))
    before, _, last = said.rpartition("Solving problem")
    low = ", ".join(f"{match['claim']} in cycle {match['cycle']}" for match in _LOW.finditer(last))
    if "base case: FAIL" in last:
        raise RefutedError(f"{block.name}: not {low}")
    if "Induction step proven: SUCCESS" not in last:
        raise UnprovenError(f"{block.name}: by {LONGEST} cycles in a row not {low}")
    return int(_LENGTH.findall(before)[-1])


def _claimed(block: RtlBlock, parameters: Parameters, claims: Claims) -> Twin:
    """The twin, within a module that says whether the claims hold."""
    interface = replace(block.interface(parameters), status=(_ALL,))
    wires = {wire.name: wire for wire in interface.wires()}

    def design(between: Streams) -> None:
        inner = Streams.from_interface(
            replace(interface, status=()), lambda wire: pyrtl.WireVector(wire.width)
        )
        block.design(parameters, inner)
        for name, pin in inner.ports.items():
            join(wires[name], pin, between.ports[name])
        claim_signals = [named(f"{_CLAIM}{name}", claim) for name, claim in claims(parameters, inner).items()]
        between.show(_ALL, reduce(and_, claim_signals))

    return build(interface, design)


def _begins(twin: Twin) -> str:
    """Assume that the reset registers are clear in the first cycle."""
    registers = twin.block.wirevector_subset(pyrtl.Register) - twin.block.wirevector_subset(DataRegister)
    return " ".join(f"-set-init {name} 0" for name in sorted(register.name for register in registers))


def _shown(twin: Twin) -> str:
    wires = sorted(wire.name for wire in twin.block.wirevector_set if wire.name.startswith(_CLAIM))
    return " ".join(f"-show {name}" for name in wires)
