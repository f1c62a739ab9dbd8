"""The cocotb test of ``cosim``, which runs in an HDL simulator with the Verilog of a graph."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.task import bridge

from fiberscope.hw.rtl.tools.cocotb_backend import CocotbBackend
from fiberscope.hw.rtl.tools.hdl import read_order
from fiberscope.models.graphs.execution import graph_settings, prepare
from fiberscope.models.graphs.transcript import machine_transcript, module_transcript
from fiberscope.models.graphs.verilog import build_machine, build_verilog


@cocotb.test()
async def the_module_is_the_graph(dut: Any) -> None:  # noqa: ANN401  (cocotb's handles)
    """Compare the streams of the module with those of the event model, token by token."""
    order = read_order()
    machine = build_machine(prepare(order["graph"], order["tensors"]), graph_settings(order["settings"]))
    graph = build_verilog(machine, order["module"], order["value_bits"], order["points"])
    expected = machine_transcript(machine)

    def run() -> Any:  # noqa: ANN401  (of cocotb's thread)
        backend = CocotbBackend(dut, graph.composition.without_status().interface(), within=dut)
        # some cycles after the end of the event model show tokens that only the module sends
        return module_transcript(graph, backend, machine.kernel.cycle + 20)

    transfers, _stored = await bridge(run)()
    for stream, tokens in expected.items():
        if ".root" not in stream:  # the test bench itself sends the tokens of roots
            assert transfers[stream] == tokens, stream
    assert sum(map(len, transfers.values())) == order["tokens"]
