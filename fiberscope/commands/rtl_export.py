"""``fiberscope rtl export BLOCK``: writes a block's Verilog with a kind of ports, and a core file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.select_block import input_errors

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.hw.rtl.kit.parameters import Parameters

__all__ = ["export_block", "write_verilog"]


def export_block(
    chosen: RtlBlock, settings: list[str], output: Path, ports: str, *, status: bool, core: bool
) -> None:
    """Write the Verilog of a block, and a FuseSoC core file where it is asked for.

    Args:
        chosen: the block.
        settings: its parameters, each as ``name=value``.
        output: the folder.
        ports: the kind of ports.
        status: whether the module has status outputs.
        core: whether the core file is written.

    Raises:
        InputError: there is no such kind of ports, or a setting is wrong.
    """
    from fiberscope import __version__
    from fiberscope.hw.rtl.kit.core_file import core_file
    from fiberscope.hw.rtl.kit.parameters import parse
    from fiberscope.workloads.errors import nearest

    kinds = _kinds_of_ports(chosen, status)
    if ports not in kinds:
        raise InputError(f"no ports {ports}; {nearest(ports, kinds)}")
    with input_errors():
        text = kinds[ports](parse(chosen.name, chosen.parameters, settings))
    write_verilog(chosen, text, output)
    if core:
        path = output / f"{chosen.name}.core"
        write_text(path, core_file(chosen.name, chosen.summary, [f"{chosen.name}.v"], __version__))
        print(f"Core: {path}")


def _kinds_of_ports(block: RtlBlock, status: bool) -> dict[str, Callable[[Parameters], str]]:
    """Return the writer of a block's Verilog for each kind of ports."""
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
    """Write Verilog under the block's name and say where."""
    path = folder / f"{block.name}.v"
    make_folder(folder)
    write_text(path, text)
    print(f"Verilog: {path}")
