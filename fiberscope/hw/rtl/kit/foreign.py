"""Foreign Verilog as a part of a composition: a macro, a floating-point unit, or a user's module.

HDL simulators run the Verilog. PyRTL runs a Python model in its place
(``fiberscope.hw.rtl.kit.behaviour``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.behaviour import Behaviour, leave_seat
from fiberscope.hw.rtl.kit.block import ForeignBlock
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters


def foreign(source: Path, interface: Interface, model: Callable[[], Behaviour]) -> ForeignBlock:
    """Return a block for a composition from a Verilog file.

    Args:
        source: the file.
        interface: name and ports of the module. A run in an HDL simulator checks that the file has them.
        model: creates its Python model, in its state after reset. All outputs must come from registers.
    """
    return ForeignBlock(
        interface.module,
        f"as in {source.name}",
        Parameters,
        Parameters,
        lambda _parameters: interface,
        lambda _parameters, streams: leave_seat(interface, model, streams),
        Adapter,
        source=source,
        model=model,
    )
