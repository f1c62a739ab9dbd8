"""A cocotb test, run by ``test_graph.py``: a graph's module, token by token its event model."""

import cocotb
from cocotb.task import bridge
from graph_transcript import of_machine, of_module

from fiberscope.graph.run import configured, prepare
from fiberscope.graph.verilog import machine_of, verilog_of
from hw.rtl.tools.cocotb_backend import CocotbBackend
from hw.rtl.tools.hdl import read_order


@cocotb.test()
async def the_module_is_the_graph(dut):
    order = read_order()
    machine = machine_of(prepare(order["graph"], order["tensors"]), configured(order["settings"]))
    graph = verilog_of(machine, order["module"])
    expected = of_machine(machine)

    def run():
        backend = CocotbBackend(dut, graph.composition.without_status().interface(), within=dut)
        return of_module(graph, backend, machine.kernel.cycle + 20)

    found, _stored = await bridge(run)()
    for stream, tokens in expected.items():
        if ".root" not in stream:
            assert found[stream] == tokens, stream
    assert sum(map(len, found.values())) == order["tokens"]
