"""Whole graphs as Verilog, in HDL simulators: the same tokens in the same cycles as in the event model."""

from pathlib import Path

import pytest
from optional_programs import require

from fiberscope import cli
from fiberscope.hw.rtl.tools.hdl import AUTO, Bench, choose, run
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from fiberscope.models.graphs import Graph
from fiberscope.models.graphs.execution import graph_settings, prepare
from fiberscope.models.graphs.gv_writer import write_gv
from fiberscope.models.graphs.transcript import machine_transcript, module_transcript
from fiberscope.models.graphs.verilog import POINTS, VALUE_BITS, build_machine, build_verilog

GRAPHS = Path(__file__).parents[2] / "examples" / "graphs"
OPERANDS = {
    "spmv": {"B": "sam-random:shape=12x9,sparsity=0.6", "c": "ones:shape=9"},
    "fig12_ijk": {"B": "sam-random:shape=5x6,sparsity=0.6", "C": "sam-random:shape=6x5,sparsity=0.5"},
}


def graph_of(name, settings):
    """Its machine and its Verilog."""
    machine = build_machine(prepare(GRAPHS / f"{name}.gv", OPERANDS[name]), graph_settings(settings))
    return machine, build_verilog(machine, name)


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
    tokens = sum(len(taken) for stream, taken in machine_transcript(machine).items() if ".root" not in stream)
    (tmp_path / f"{name}.v").write_text(graph.text)
    order = {
        "graph": str(GRAPHS / f"{name}.gv"),
        "tensors": OPERANDS[name],
        "settings": settings,
        "module": name,
        "value_bits": VALUE_BITS,
        "points": POINTS,
        "tokens": tokens,
    }
    interface = graph.composition.without_status().interface()
    folder = tmp_path / "bench"
    bench = Bench(
        (tmp_path / f"{name}.v",), name, (interface,), "fiberscope.models.graphs.bench", order, folder
    )
    assert tokens > 300
    assert run(bench, simulator) == 1


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 16])
@pytest.mark.parametrize("name", OPERANDS)
def test_a_graph_in_verilator_is_its_event_model(name, depth, tmp_path):
    require("verilator")
    machine, graph = graph_of(name, {"depth": depth})
    (tmp_path / f"{name}.v").write_text(graph.text)
    interface = graph.composition.without_status().interface()
    module = VerilatedModule([tmp_path / f"{name}.v"], interface, tmp_path, watched=True)
    expected = machine_transcript(machine)
    found, _stored = module_transcript(graph, VerilatedBackend(module), machine.kernel.cycle + 20)
    assert found == {stream: tokens for stream, tokens in expected.items() if stream in found}
    assert len(found) == len(machine.channel_of) + len(graph.roots)


PRODUCT = "X(i,j) = B(i,k) * C(k,j)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "formats", "order"),
    [
        ("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:s", "i,j"),
        ("X(i,j) = B(i,j) * C(i,k) * D(j,k)", "X:ss,B:ss,C:ss,D:ss", "i,j,k"),
        ("X(i,j) = B(i,j,k) * c(k)", "X:ss,B:sss,c:s", "i,j,k"),
        ("X(i,j) = (B(i,j) + C(i,j)) * D(i,j)", "X:ss,B:ss,C:ss,D:ss", "i,j"),
        ("x(i) = b(i) - C(i,j) * d(j)", "x:s,b:s,C:ss,d:s", "i,j"),
        ("x(i) = a * B(j,i) * c(j) + b * d(i)", "x:s,B:ss:10,c:s,d:s", "i,j"),
        (PRODUCT, "X:ss,B:ss,C:ss", "i,k,j"),
        (PRODUCT, "X:ss,B:ss:10,C:ss", "k,i,j"),
        (PRODUCT, "X:ss,B:ss:10,C:ss:10", "j,k,i"),
        (PRODUCT, "X:ss,B:ss:10,C:ss", "k,j,i"),
    ],
)
def test_a_line_becomes_verilog_that_runs_as_its_event_model(text, formats, order, tmp_path, printed):
    require_tools()
    given = [text, "--format", formats, "--order", order, "-o", str(tmp_path)]
    said = printed("graph", "rtl", *given)
    assert f"in {choose(AUTO)} as in the event simulation" in said
    assert "all blocks" in said
    assert (tmp_path / "graph.v").is_file()


@pytest.mark.slow
def test_an_accumulator_of_too_few_places_is_refused(tmp_path, refusal):
    require_tools()
    given = ["x(j) = B(i,j)", "--format", "x:s,B:ss", "--order", "i,j", "-o", str(tmp_path), "--points", "2"]
    assert "accumulate holds 8 points at once and has places for 2" in refusal("graph", "rtl", *given)


@pytest.mark.slow
def test_planted_a_token_that_never_came_is_found(tmp_path, capsys, monkeypatch):
    require_tools()
    monkeypatch.setattr("fiberscope.models.graphs.cosim.of_machine", lambda machine: {"mul.in_val_0": []})
    line = ["x(i) = b(i) * c(i)", "--format", "x:s,b:s,c:s"]
    assert cli.run(["graph", "rtl", *line, "-o", str(tmp_path), "--no-area"]) == 3
    assert "1 of 1 tests of fiberscope.models.graphs.bench failed" in capsys.readouterr().err


def require_tools():
    require("hdl", "lint")


@pytest.mark.slow
def test_a_take_behind_a_union_runs_as_its_event_model_on_files_beside_the_caller(here):
    require_tools()
    graph = Graph({"x": "s", "b": "s", "c": "s"})
    union, take = graph.add("union", index="i"), graph.add("take")
    for number, tensor in enumerate("bc"):
        level = graph.add("fiberlookup", index="i", tensor=tensor, mode=0, root=True)
        array = graph.add("arrayvals", tensor=tensor)
        graph.connect(level, "crd", union, f"crd[{number}]")
        graph.connect(level, "ref", union, f"ref[{number}]")
        graph.connect(union, f"ref[{number}]", array, "ref")
        graph.connect(array, "val", take, f"val[{number}]")
    graph.connect(union, "crd", graph.add("fiberwrite", index="i", tensor="x", mode=0), "crd")
    graph.connect(take, "val", graph.add("fiberwrite", tensor="x", mode="vals"), "val")
    write_gv(graph, here / "g.gv")
    (here / "b.tns").write_text("1 2.0\n3 4.0\n6 9.0\n")
    (here / "c.tns").write_text("2 7.0\n3 5.0\n6 1.0\n")
    assert cli.run(["graph", "rtl", "g.gv", "b=b.tns", "c=c.tns", "-o", str(here / "out")]) == 0
