"""A user's cocotb tests on the event model of a whole machine, in an HDL simulator.

``fiberscope.rtl.user_bench.run_machine_bench`` starts the simulator with this module. The model drives the
outputs of an empty top module; the tests serve the machine's memory requests at its ports.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.hw.rtl.tools.user_tests import Accompanied
from fiberscope.rtl.machine_model import MachineModel, machine_interface

ORDER = read_order()  # parameters of the bench, as ``run_machine_bench`` wrote them


class CheckedMachine(MachineModel):
    """A machine that checks its result when the run is done.

    The file ``verdict`` of the order gets the description of the fault; it is empty if the result is right.
    Without the end of a run there is no file.
    """

    def __init__(self) -> None:
        with contextlib.chdir(ORDER["here"]):  # paths of the user are relative to it
            super().__init__(ORDER["accelerator"], ORDER["settings"], ORDER["matrix"])
        self._is_written = False

    def outputs(self) -> dict[str, int]:
        """Return the bits of every output in the next cycle; write the verdict once ``done`` is high."""
        bits = super().outputs()
        if bits["done"] and not self._is_written:
            self._is_written = True
            Path(ORDER["verdict"]).write_text(self.fault() or "", encoding="utf-8")
        return bits


# cocotb finds tests in this module
globals().update(
    Accompanied(ORDER, machine_interface(ORDER["accelerator"], ORDER["settings"]), CheckedMachine).tests()
)
