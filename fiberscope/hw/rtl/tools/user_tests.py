"""Execution of a user's cocotb tests in an HDL simulator, each with a transcript.

A *transcript* lists every transfer at the ports of the module under test. If the device under test is an
event model, the module is empty, and a coroutine drives its outputs with those of the model.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import cocotb
from cocotb._decorators import Test, TestGenerator
from cocotb.triggers import RisingEdge

from fiberscope.hw.rtl.kit.behaviour import Behaviour
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.model import DRIVEN
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.rtl.tools.port_monitor import MakeChecker, PortMonitor

CocotbTest: TypeAlias = "Callable[..., Coroutine[Any, None, None]]"


class Accompanied:
    """The tests of a user's file. Each runs beside a coroutine that records and checks the ports.

    Args:
        order: ``bench``, name of the Python module with the tests, and ``folder``, the folder of its file;
            ``transcript``, ``violations`` and ``bins``, JSON files that the results of all tests so far are
            written to after each test.
        interface: ports of the module under test.
        model: creates the model that drives the outputs, again after every reset; None if the module itself
            drives them.
        checker: creates the checker of the protocol of the ports.
    """

    def __init__(
        self,
        order: Mapping[str, Any],
        interface: Interface,
        model: Callable[[], Behaviour] | None,
        checker: MakeChecker = ProtocolChecker,
    ) -> None:
        self._order = order
        self._interface = interface
        self._model = model
        self._checker = checker
        # By the name of a test. The cases of a parametrized test share its name: their transfers are
        # appended, and the bins and violations of a later case replace those of an earlier case.
        self._violations: dict[str, str] = {}
        self._bins: dict[str, Mapping[str, Mapping[str, int]]] = {}
        self._transcripts: dict[str, list[list[Any]]] = {}  # cycle, port, fields of each lane

    def tests(self) -> Iterator[tuple[str, Test | TestGenerator]]:
        """Import the file and yield its tests by name, for cocotb to find them.

        The function of each test is replaced by one that also starts the coroutines. The folder of the file
        becomes the first entry of ``sys.path``.
        """
        sys.path.insert(0, self._order["folder"])
        for name, test in vars(import_module(self._order["bench"])).items():
            if isinstance(test, Test | TestGenerator):
                test.func = self._accompany(test.func, test.name)
                yield name, test

    def _accompany(self, test: CocotbTest, name: str) -> CocotbTest:
        """Return a test that starts the coroutines, runs a test, and writes the results, also if it fails."""

        @functools.wraps(test)
        async def run(dut: Any, *arguments: object, **options: object) -> None:  # noqa: ANN401
            transcript = self._transcripts.setdefault(name, [])
            if self._model is not None:
                cocotb.start_soon(self._behave(dut, self._model))
            monitor = PortMonitor(dut, self._interface, self._checker)
            cocotb.start_soon(self._write_down(monitor, transcript))
            try:
                await test(dut, *arguments, **options)
            finally:
                if monitor.violation is not None:
                    self._violations[name] = monitor.violation
                self._bins[name] = monitor.bins
                noted = {"transcript": self._transcripts, "violations": self._violations, "bins": self._bins}
                for file, texts in noted.items():
                    Path(self._order[file]).write_text(json.dumps(texts), encoding="utf-8")

        return run

    async def _behave(self, dut: Any, make: Callable[[], Behaviour]) -> None:  # noqa: ANN401
        """Drive the outputs of the empty module from the model, which is created again after every reset."""
        model, worn = make(), False  # worn: the model has run a cycle since the last reset
        while True:
            driven = model.outputs()
            for name, bits in driven.items():
                getattr(dut, DRIVEN + name).value = bits
            await RisingEdge(dut.clk)
            if not _bits(dut.rst, unknown=1):  # an unknown reset is active, as for the monitor
                model.clock({**self._wires(dut), **driven})
                worn = True
            elif worn:
                model, worn = make(), False

    async def _write_down(self, monitor: PortMonitor, transcript: list[list[Any]]) -> None:
        """Append each transfer to the transcript: cycle since the last reset, port, and fields by lane."""
        async for cycle, wires in monitor.cycles():
            for stream in self._interface.streams:
                if stream.moves(wires):
                    transcript.append([cycle, stream.label, stream.lanes_told(wires)])

    def _wires(self, dut: Any) -> dict[str, int]:  # noqa: ANN401
        """Return all ports of the module just before the edge; unknown bits are 0."""
        return {wire.name: _bits(getattr(dut, wire.name)) for wire in self._interface.wires()}


def _bits(handle: Any, unknown: int = 0) -> int:  # noqa: ANN401
    """Return the bits of a pin; bits that are X or Z count as ``unknown``."""
    return int("".join(bit if bit in "01" else str(unknown) for bit in str(handle.value)), 2)
