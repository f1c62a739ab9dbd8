"""``fiberscope rtl export SPECIFICATION --level NAME``: an instance of a machine as Verilog."""

from __future__ import annotations

import sys
from pathlib import Path

from fiberscope.base.errors import MACHINE_WRONG, InputError
from fiberscope.commands.graph_source import tensors_by_name
from fiberscope.commands.options import parse_setting_values
from fiberscope.rtl.select_block import condense_error, rtl_blocks


def export_instance(
    specification: str,
    level: str | None,
    stage: str,
    tensors: list[str] | None,
    settings: list[str] | None,
    simulator: str,
    folder: Path,
    *,
    value_bits: int,
    points: int,
    period: float | None,
) -> int:
    """Write the first instance of a level, run it, compare it with the machine, and print the outcome.

    The arguments are the values of the options of ``fiberscope rtl export``; ``level`` is required. Without
    tensors, small random tensors are drawn. Without a period, the constraints have the instance's own period.
    Return the exit code: ``MACHINE_WRONG`` if the module differs from the machine, else 0.

    Raises:
        InputError: an argument is invalid, a tool is missing, or a file cannot be written.
    """
    if level is None:
        raise InputError(f"{specification} is a specification; name the level, as in --level pe")
    rtl_blocks()  # raises an error without the extra, which the next imports need
    from fiberscope.hw.rtl.tools.simulator import FailedBenchError, HdlError
    from fiberscope.hw.value_type import AUTO, INTEGER
    from fiberscope.results.report.files import make_folder
    from fiberscope.rtl.element_export import ElementRequest, check_element, draw_operands, export_element

    make_folder(folder)
    parameters = parse_setting_values(settings)
    is_integer = parameters.get("value", AUTO) in (AUTO, INTEGER)
    operands = tensors_by_name(tensors) or draw_operands(specification, folder, whole=is_integer)
    request = ElementRequest(specification, level, operands, parameters, value_bits, points, stage)
    request.leaf  # noqa: B018  (refuses a wrong setting before a tool is looked up)
    simulator = _choose_simulator(simulator)
    exported = export_element(request, folder, period)
    for path in exported.files:
        print(f"Written: {path}")
    try:
        tokens = check_element(exported, simulator, folder)
    except FailedBenchError as failed:
        print(failed, file=sys.stderr)
        return MACHINE_WRONG
    except HdlError as error:
        raise condense_error(error, folder) from error
    unit = "cycles" if request.leaf.clock is request.machine.kernel.clocks[0] else "ticks of the lanes"
    print(f"{tokens:,} tokens in {request.leaf.cycles:,} {unit}, in {simulator} as in the machine")
    return 0


def _choose_simulator(name: str) -> str:
    """Return the name of an installed simulator for the module.

    Without an installed HDL simulator, ``auto`` is PyRTL, which simulates in Python.

    Raises:
        InputError: the simulator is unknown or not installed.
    """
    from fiberscope.hw.rtl.tools.hdl import choose, find
    from fiberscope.hw.rtl.tools.simulator import HdlError
    from fiberscope.rtl.element_export import PYRTL

    try:
        chosen = choose(name, (PYRTL,))
        if chosen != PYRTL:
            find(chosen)
    except HdlError as error:
        raise InputError(str(error)) from error
    return chosen
