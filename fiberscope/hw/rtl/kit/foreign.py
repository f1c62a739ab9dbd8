"""Verilog of somebody else's as a part of a composition: a macro, a floating-point unit, one's own.

Verilog is what HDL simulators run. Where PyRTL runs the composition, a model in Python stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.behaviour import Behaviour, leave_seat
from fiberscope.hw.rtl.kit.block import ForeignBlock
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters

__all__ = ["foreign"]


def foreign(source: Path, interface: Interface, model: Callable[[], Behaviour]) -> ForeignBlock:
    """A block for a composition from a file of Verilog.

    Args:
        source: the file.
        interface: the module's name and ports; where it runs in an HDL simulator they are compared.
        model: makes its Python model. All that the module drives must come out of registers.
    """
    return ForeignBlock(
        interface.module,
        f"as in {source.name}",
        Parameters,
        Parameters,
        lambda _parameters: interface,
        lambda _parameters, between: leave_seat(interface, model, between),
        Adapter,
        source=source,
        model=model,
    )
