"""Runs in an HDL simulator: the cocotb tests of a user's file, each with a transcript written beside it.

``fiberscope.rtl.own`` says by an order what is under test. Where that is the event model, a coroutine drives
the outputs of an empty module as the component would.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import cocotb
from cocotb._decorators import Test, TestGenerator
from cocotb.triggers import RisingEdge

from hw.rtl.catalogue import BLOCKS
from hw.rtl.kit.model import DRIVEN, Model, moves
from hw.rtl.kit.registered import registered
from hw.rtl.tools.hdl import read_order

ORDER = read_order()
BLOCK = BLOCKS[ORDER["block"]]
PARAMETERS = BLOCK.parameters(**ORDER["parameters"])
INTERFACE = registered(BLOCK, inputs=True).interface(PARAMETERS)
CocotbTest: TypeAlias = "Callable[..., Coroutine[Any, None, None]]"
TRANSCRIPTS: dict[str, list[list[Any]]] = {}  # by test: cycle, port, fields


async def behave(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Drive the outputs of the empty module as the component would; anew after every reset."""
    model = _model()
    while True:
        driven = model.outputs()
        for name, bits in driven.items():
            getattr(dut, DRIVEN + name).value = bits
        await RisingEdge(dut.clk)
        if _bit(dut.rst, unknown=1):
            model = _model()
        else:
            model.clock({**_wires(dut), **driven})


async def write_down(dut: Any, transcript: list[list[Any]]) -> None:  # noqa: ANN401
    """Every token that moves: its cycle since the last reset, its port and its fields."""
    cycle = 0
    while True:
        await RisingEdge(dut.clk)
        if _bit(dut.rst, unknown=1):
            cycle = 0
            continue
        wires = _wires(dut)
        for stream in INTERFACE.streams:
            if moves(stream, wires):
                fields = {field: wires[stream.wire(field)] for field in stream.widths}
                transcript.append([cycle, stream.label, fields])
        cycle += 1


def _model() -> Model:
    assert BLOCK.component is not None, "the order is for a block that is one component"
    return Model(INTERFACE.streams, functools.partial(BLOCK.component, parameters=PARAMETERS))


def _wires(dut: Any) -> dict[str, int]:  # noqa: ANN401
    """All ports of the module, just before the edge; what is unknown counts as 0."""
    return {wire.name: _bit(getattr(dut, wire.name)) for wire in INTERFACE.wires()}


def _bit(handle: Any, unknown: int = 0) -> int:  # noqa: ANN401
    value = handle.value
    return int(value) if value.is_resolvable else unknown


def _accompanied(test: CocotbTest, name: str) -> CocotbTest:
    @functools.wraps(test)
    async def run(dut: Any, *arguments: object, **options: object) -> None:  # noqa: ANN401
        transcript = TRANSCRIPTS.setdefault(name, [])
        if ORDER["model"]:
            cocotb.start_soon(behave(dut))
        cocotb.start_soon(write_down(dut, transcript))
        try:
            await test(dut, *arguments, **options)
        finally:
            Path(ORDER["transcript"]).write_text(json.dumps(TRANSCRIPTS), encoding="utf-8")

    return run


def _tests() -> Iterator[tuple[str, Test | TestGenerator]]:
    """The tests of the user's file, each with what accompanies it."""
    sys.path.insert(0, ORDER["folder"])
    for name, test in vars(import_module(ORDER["bench"])).items():
        if isinstance(test, Test | TestGenerator):
            test.func = _accompanied(test.func, test.name)
            yield name, test


globals().update(_tests())  # where cocotb looks for them
