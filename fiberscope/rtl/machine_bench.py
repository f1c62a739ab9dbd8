"""The memory side of a machine in a bench of an HDL simulator; see ``fiberscope.rtl.user_bench``."""

from __future__ import annotations

import contextlib
from pathlib import Path

from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.hw.rtl.tools.user_tests import Accompanied
from fiberscope.rtl.machine_model import MachineModel, machine_interface

ORDER = read_order()


class CheckedMachine(MachineModel):
    """A machine that writes at its end whether its answer is right."""

    def __init__(self) -> None:
        with contextlib.chdir(ORDER["here"]):
            super().__init__(ORDER["accelerator"], ORDER["settings"], ORDER["matrix"])
        self._is_written = False

    def outputs(self) -> dict[str, int]:
        """See ``MachineModel``."""
        bits = super().outputs()
        if bits["done"] and not self._is_written:
            self._is_written = True
            Path(ORDER["verdict"]).write_text(self.fault() or "", encoding="utf-8")
        return bits


# cocotb finds tests in this module
globals().update(
    Accompanied(ORDER, machine_interface(ORDER["accelerator"], ORDER["settings"]), CheckedMachine).tests()
)
