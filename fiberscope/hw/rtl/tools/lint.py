"""Lint of Verilog by all rules of Verilator, with the exceptions in this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fiberscope.hw.rtl.kit.naming import READ, TERM
from fiberscope.hw.rtl.tools.verilator import Verilator


@dataclass(frozen=True)
class Waiver:
    """An exception to a rule.

    Args:
        rule: the rule of Verilator.
        match: Verilator's message, with ``*`` for any text.
        reason: reason for the exception.
    """

    rule: str
    match: str
    reason: str

    def __str__(self) -> str:
        """Return the line for a control file of Verilator."""
        return f'lint_off -rule {self.rule} -file "*" -match "{self.match}"'


WAIVERS = (
    Waiver(
        "UNUSEDSIGNAL",
        f"*'*{TERM}*'*",
        "within an expression a sum is a bit wider than its operands, and its carry is cut off",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        f"Bits of signal are not used: '*{READ}*'*",
        "a word of a memory is read whole, and who reads it may need a part",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Bits of signal are not used: 'memory_replies_coordinate'*",
        "a line comes with the whole tag of its request, of which a bank needs the number of the miss",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Signal is not used: 'stops_control'*",
        "a token that stops a prefetcher's job says no more than that it is there, and a stream has a field",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Signal is not used: 'page_requests_*_control'*",
        "one who asks for a page says no more than that",
    ),
    Waiver(
        "DECLFILENAME",
        "Filename 'merge_tree' does not match MODULE name: 'merge_tree_*",
        "a composition is one file: the wrapper, then each module that it consists of",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Bits of signal are not used: 'in_ref*_payload'*",
        "a reference is as wide as all in its graph, and a memory has its own number of words",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Bits of signal are not used: 'in_sizes_payload'*",
        "a size is as wide as all references in its graph, and a step has its own largest size",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Bits of signal are not used: 'in_base_payload'*",
        "a number of a fiber is a reference, and the memory of a lookup has its own number of fibers",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "*'in_crd_payload'*",
        "neither how often is repeated nor what is added up depends on the coordinates",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Signal is not used: 'in_crd_*_control'*",
        "the inputs of a projection have one shape, so the first one's control tells what all of them are",
    ),
    Waiver(
        "UNUSEDSIGNAL",
        "Signal is not used: 'in_val*_level'*",
        "the level of a stop that the other operand has too, or that is not written",
    ),
    Waiver("UNUSEDSIGNAL", "*'clk'*", "every module has a clock; one without registers has no use for it"),
    Waiver("UNUSEDSIGNAL", "*'rst'*", "every module has a reset; one without registers has no use for it"),
)


PORT_WAIVERS = (  # for modules with registered ports, including checked and AXI4-Stream ports
    Waiver(
        "DECLFILENAME",
        "Filename '*' does not match MODULE name: *",
        "the module with these ports stands around the block, in one file",
    ),
    Waiver("PINCONNECTEMPTY", "*empty reference: *", "status outputs, which nobody outside reads"),
    Waiver("UNUSEDSIGNAL", "*_tlast'*", "a block finds the end of a fiber in its control field"),
    Waiver("UNUSEDSIGNAL", "*_tdata'*", "tdata is filled up to whole bytes"),
)


def lint(source: Path, module: str, folder: Path, waivers: Sequence[Waiver] = WAIVERS) -> None:
    """Check Verilog.

    Args:
        source: the file.
        module: its top module.
        folder: an existing folder, in which the control file ``waivers.vlt`` is written.
        waivers: the exceptions.

    Raises:
        HdlError: with every message, or if Verilator is missing.
    """
    control = folder / "waivers.vlt"
    lines = ["`verilator_config", *map(str, waivers)]
    control.write_text("\n".join(lines) + "\n", encoding="utf-8")
    Verilator().lint([control, source], module)
