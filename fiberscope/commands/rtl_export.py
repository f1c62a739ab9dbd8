"""``fiberscope rtl export BLOCK``: Verilog of a block with a kind of ports, and files for a handover."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.commands.rtl_prove import write_formal
from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.select_block import input_errors, parse_parameters
from fiberscope.run.find_machine import is_machine

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.hw.rtl.kit.parameters import Parameters
    from fiberscope.rtl.handover.testbench import Testbench


def export_block(
    rtl_block: RtlBlock,
    settings: list[str],
    output: Path,
    ports: str,
    *,
    status: bool,
    period: float | None,
    formal: bool,
    sram_wrappers: bool,
) -> None:
    """Write the Verilog of a block and the files of a handover.

    Args:
        settings: its parameters, each as ``name=value``.
        output: the folder.
        ports: the kind of ports: ``plain``, ``registered``, ``checked`` or ``axis``.
        status: whether the module has status outputs; without effect for ``axis``, which has none.
        period: clock period in ns; None for the default.
        formal: whether to write formal properties.
        sram_wrappers: whether each synchronous memory becomes a module in a separate file.

    Raises:
        InputError: ports or settings are invalid, or there are no formal properties or memories to wrap.
    """
    from dataclasses import asdict

    from fiberscope.rtl.handover.export import PERIOD, Handover, write_handover
    from fiberscope.rtl.handover.readme import check_readme
    from fiberscope.workloads.errors import suggest

    kinds = _list_port_kinds(rtl_block, status)
    if ports not in kinds:
        raise InputError(f"no ports {ports}; {suggest(ports, kinds)}")
    parameters = parse_parameters(rtl_block, settings)
    with input_errors():
        text, wrappers = _wrap_text(rtl_block, partial(kinds[ports], parameters), sram_wrappers)
    check_readme(output)
    # First, as it refuses ports without formal properties before any file is written.
    sections = write_formal(rtl_block, parameters, output, ports, status=status) if formal else {}
    write_verilog(rtl_block, text, output)
    _write_wrappers(wrappers, output)
    handover = Handover(
        *(rtl_block.name, rtl_block.interface(parameters).module, rtl_block.summary, text, period or PERIOD),
        parameters=asdict(parameters),
        sections=_format_logic_sections(rtl_block, parameters, ports) | sections,
        sources=dict.fromkeys(wrappers, "behavioural model of a memory; put a macro in its place"),
        bench=_format_bench(rtl_block, parameters, ports, text),
    )
    print(*(f"Written: {path}" for path in write_handover(handover, output)), sep="\n")


def check_wrappers(block: str, is_requested: bool) -> None:
    """Check that wrapped memories are requested for a block only.

    Raises:
        InputError: they are requested for a machine.
    """
    if is_requested and is_machine(block):
        raise InputError(f"{block} is a machine; --sram-wrappers is for a block, as in bank")


def _wrap_text(block: RtlBlock, write: Callable[[], str], wraps: bool) -> tuple[str, dict[str, str]]:
    """Return the Verilog of a block, and the Verilog of its wrapped memories, if any, by file name.

    Raises:
        ValueError: the block has no memory to wrap.
    """
    from fiberscope.rtl.sram_wrappers import wrap_memories

    if not wraps:
        return write(), {}
    try:
        return wrap_memories(write)
    except ValueError as error:
        raise ValueError(f"{block.name}: {error}") from None


def _write_wrappers(wrappers: Mapping[str, str], folder: Path) -> None:
    for file, text in wrappers.items():
        write_text(folder / file, text)
        print(f"Memory: {folder / file}")


def _format_logic_sections(block: RtlBlock, parameters: Parameters, ports: str) -> dict[str, str]:
    """Return the README sections about the logic of a block with these ports."""
    from fiberscope.hw.rtl.kit.axis import axis_names
    from fiberscope.hw.rtl.kit.registered import registered
    from fiberscope.rtl.handover.export import twin_sections

    # All kinds but plain ports have registered outputs; only AXI4-Stream has other names of wires.
    logic = block if ports == "plain" else registered(block)
    names = axis_names(logic.interface(parameters)) if ports == "axis" else {}
    return twin_sections(logic.twin(parameters, status=False), names)


def _format_bench(block: RtlBlock, parameters: Parameters, ports: str, text: str) -> Testbench | None:
    """Return the test bench of a block with these ports; None without stimulus for its parameters.

    If the RTL and the event model differ on the stimulus, there is no bench either. The reason is printed.
    """
    from fiberscope.hw.rtl.kit.axis import axis_bits
    from fiberscope.rtl.handover.recording import DifferentRunError, has_stimulus, record
    from fiberscope.rtl.handover.testbench import make_testbench
    from fiberscope.sim import SimulationError

    if not has_stimulus(block):
        return None
    try:
        recorded = record(block, parameters, plain=ports == "plain")
    except (AssertionError, SimulationError):
        print("Test bench: none, because the tokens of the stimulus do not suit these parameters")
        return None
    except DifferentRunError as error:
        print(f"Test bench: none, because of a difference with these parameters: {error}")
        return None
    convert = partial(axis_bits, recorded.interface) if ports == "axis" else dict
    return make_testbench(block.name, recorded.interface.module, text, recorded, convert)


def _list_port_kinds(block: RtlBlock, status: bool) -> dict[str, Callable[[Parameters], str]]:
    """Return the Verilog writers of a block by kind of ports; ``axis`` ignores ``status``."""
    from fiberscope.hw.rtl.kit.axis import axis
    from fiberscope.hw.rtl.kit.checks import checked
    from fiberscope.hw.rtl.kit.registered import registered

    return {
        "plain": partial(block.verilog, status=status),
        "registered": partial(registered(block).verilog, status=status),
        "checked": partial(checked, block, status=status),
        "axis": partial(axis, block),
    }


def write_verilog(block: RtlBlock, text: str, folder: Path) -> None:
    """Write Verilog under the block's name, and print the path.

    Args:
        text: the Verilog.
        folder: the folder, which is created if it is missing.

    Raises:
        InputError: the file cannot be written.
    """
    path = folder / f"{block.name}.v"
    make_folder(folder)
    write_text(path, text)
    print(f"Verilog: {path}")
