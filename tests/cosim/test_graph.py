"""Whole graphs as Verilog, in HDL simulators: the same tokens in the same cycles as in the event model."""

from pathlib import Path

import pytest
from graph_transcript import of_machine, of_module

from fiberscope.graph.run import configured, prepare
from fiberscope.graph.verilog import machine_of, verilog_of
from hw.rtl.tools.hdl import Bench, HdlError, find, run
from hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule

GRAPHS = Path(__file__).parents[2] / "examples" / "graphs"
OPERANDS = {
    "spmv": {"B": "sam-random:shape=12x9,sparsity=0.6", "c": "ones:shape=9"},
    "fig12_ijk": {"B": "sam-random:shape=5x6,sparsity=0.6", "C": "sam-random:shape=6x5,sparsity=0.5"},
}


def graph_of(name, settings):
    """Its machine and its Verilog."""
    machine = machine_of(prepare(GRAPHS / f"{name}.gv", OPERANDS[name]), configured(settings))
    return machine, verilog_of(machine, name)


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("spmv", 2),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("spmv", 16), ("fig12_ijk", 2), ("fig12_ijk", 16))
        ),
    ],
)
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_a_graph_in_icarus_is_its_event_model(name, depth, simulator, tmp_path):
    settings = {"depth": depth}
    machine, graph = graph_of(name, settings)
    tokens = sum(len(taken) for stream, taken in of_machine(machine).items() if ".root" not in stream)
    (tmp_path / f"{name}.v").write_text(graph.text)
    order = {
        "graph": str(GRAPHS / f"{name}.gv"),
        "tensors": OPERANDS[name],
        "settings": settings,
        "module": name,
        "tokens": tokens,
    }
    interface = graph.composition.without_status().interface()
    bench = Bench((tmp_path / f"{name}.v",), name, (interface,), "graph_bench", order, tmp_path / "bench")
    assert tokens > 300
    assert run(bench, simulator) == 1


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 16])
@pytest.mark.parametrize("name", OPERANDS)
def test_a_graph_in_verilator_is_its_event_model(name, depth, tmp_path):
    try:
        find("verilator")
    except HdlError as error:
        pytest.skip(str(error))
    machine, graph = graph_of(name, {"depth": depth})
    (tmp_path / f"{name}.v").write_text(graph.text)
    interface = graph.composition.without_status().interface()
    module = VerilatedModule([tmp_path / f"{name}.v"], interface, tmp_path, watched=True)
    expected = of_machine(machine)
    found, _stored = of_module(graph, VerilatedBackend(module), machine.kernel.cycle + 20)
    assert found == {stream: tokens for stream, tokens in expected.items() if stream in found}
    assert len(found) == len(machine.channel_of) + len(graph.roots)
