"""Graphs as Verilog: their module in PyRTL has the event model's tokens in its cycles; what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyrtl")


from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit import arithmetic
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import flat
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.models.graphs import compile_expression
from fiberscope.models.graphs.compiler.kernels import KERNELS
from fiberscope.models.graphs.execution import graph_settings, prepare
from fiberscope.models.graphs.random_tensors import generate_operands as drawn_for
from fiberscope.models.graphs.transcript import machine_transcript, module_transcript
from fiberscope.models.graphs.verilog import build_machine, build_verilog

GRAPHS = Path(__file__).parents[4] / "examples" / "graphs"
OPERANDS = {"spmv": {"B": (7, 9), "c": (9,)}, "fig12_ijk": {"B": (5, 7), "C": (7, 4)}}

SMALL = ("SpMV", "MMAdd", "Residual")  # in the default run
PHASES = ("SpMSpM", "d")  # a sum into a dense result is written by a phase of its own


def drawn(shape, generator):
    """A tensor of small whole numbers of both signs."""
    return (
        (generator.random(shape) < 0.4)
        * generator.integers(1, 9, shape)
        * generator.choice([-1.0, 1.0], shape)
    )


def machine(name, seed, **settings):
    generator = np.random.default_rng(seed)
    operands = {operand: drawn(shape, generator) for operand, shape in OPERANDS[name].items()}
    return build_machine(prepare(GRAPHS / f"{name}.gv", operands), graph_settings(settings))


def backend(graph, seed):
    interface = graph.composition.interface()
    twin = build(interface, lambda between: flat(graph.composition, between))
    return PyrtlBackend(twin, seed, watched=True)


LATENCIES = {1: (7, 1), 2: (4, 3), 16: (1, 1)}  # of ALUs and of reducers, by depth


@pytest.mark.parametrize("depth", LATENCIES)
@pytest.mark.parametrize("name", OPERANDS)
def test_the_module_is_the_graph_token_by_token_and_cycle_by_cycle(name, depth):
    latencies = zip(("latency.alu", "latency.reduce"), LATENCIES[depth], strict=True)
    check_module(name, depth, depth=depth, **dict(latencies))


@pytest.mark.parametrize("name", OPERANDS)
def test_the_module_is_the_graph_with_registered_memories(name):
    check_module(name, 2, memory="registered")


def check_module(name, seed, **settings):
    """Compare every token of a graph's module, and its cycle, with those of the event model."""
    model = machine(name, seed, **settings)
    graph = build_verilog(model, name)
    expected = machine_transcript(model)
    found, stored = module_transcript(graph, backend(graph, seed), model.kernel.cycle + 20)
    assert len(found) == len(model.channel_of) + len(graph.roots)
    assert found == {stream: tokens for stream, tokens in expected.items() if stream in found}
    assert sum(map(len, found.values())) > 100
    (values,) = [words for port, words in stored.items() if "vals" in port]
    result = model.result()["x" if name == "spmv" else "X"]
    assert list(values.values()) == list(result.values)
    levels = [words for port, words in sorted(stored.items()) if "vals" not in port]
    for words, level in zip(levels, result.levels, strict=True):
        coordinates = [word for (control, _address), word in words.items() if control == 1]
        assert coordinates == level.coordinates.tolist()


def test_an_accumulator_is_its_event_model():
    compiled = compile_expression("x(j) = B(i,j)", ["x:s,B:ss"], ("i", "j"))
    operands = {"B": drawn((5, 4), np.random.default_rng(4))}
    model = build_machine(prepare(compiled.graph, operands), graph_settings({}))
    graph, cramped = (build_verilog(model, "sums", points=points) for points in (4, 2))
    expected = machine_transcript(model)
    found, _stored = module_transcript(graph, backend(graph, 1), model.kernel.cycle + 20)
    assert found == {stream: tokens for stream, tokens in expected.items() if stream in found}
    assert found["accumulate.in_val"]
    assert found["accumulate_val_points.in_stream"]
    with pytest.raises(InputError, match="accumulate has no place for a point; --points gives it more"):
        module_transcript(cramped, backend(cramped, 1), model.kernel.cycle + 20)


def test_a_dropper_of_stops_is_its_event_model():
    """One that the graph has in front of the accumulator's own, which finds nothing to drop then."""
    graph = compile_expression("x(j) = B(i,j)", ["x:s,B:ss"], ("i", "j")).graph
    (sums,) = [node for node in graph.nodes.values() if node.primitive.accumulates]
    stream = graph.stream_into(sums, "val")
    dropper = graph.add("stopdrop", "dropper")
    graph.streams.remove(stream)
    graph.connect(graph.nodes[stream.source], stream.output, dropper, "in")
    graph.connect(dropper, "out", sums, "val")
    model = build_machine(prepare(graph, {"B": drawn((5, 4), np.random.default_rng(4))}), graph_settings({}))
    made = build_verilog(model, "stops")
    expected = machine_transcript(model)
    found, _stored = module_transcript(made, backend(made, 1), model.kernel.cycle + 20)
    assert found == {stream: tokens for stream, tokens in expected.items() if stream in found}
    assert len(found["stopdrop.in_stream"]) > len(found["accumulate_val_points.in_stream"]) > 1


UNITS = {"b": np.eye(3)[0], "c": np.eye(3)[1]}


@pytest.mark.parametrize(
    ("graph", "operands", "more", "message"),
    [
        (
            "fig13_bv",
            {"b": np.eye(3)[0], "c": np.eye(3)[1]},
            {},
            r"^bitvector i \(node 1\): .* store the tensors as s or d$",
        ),
        (
            "fig13_skip",
            {"b": np.eye(3)[0], "c": np.eye(3)[1]},
            {},
            r"^fiberlookup b0 i .*: .* with skips; remove skip from",
        ),
        ("spmv", {"B": np.eye(3) / 2, "c": np.ones(3)}, {}, r"arrayvals B .*: 0.5 is no whole number of 32"),
        ("spmv", {"B": np.eye(3) * 2**40, "c": np.ones(3)}, {}, r"is no whole number of 32 bits"),
        ("spmv", {"B": np.eye(3), "c": np.ones(3)}, {"timing": "sam"}, "leave out --set timing"),
        ("spmv", {"B": np.eye(3), "c": np.ones(3)}, {"depth": 0}, "leave out --set timing"),
        ("fig11_unfused", {"B": np.eye(3), "C": np.eye(3), "D": np.eye(3)}, {}, "phases"),
    ],
)
def test_what_has_no_verilog_is_refused(graph, operands, more, message):
    with pytest.raises(InputError, match=message):
        build_verilog(build_machine(prepare(GRAPHS / f"{graph}.gv", operands), graph_settings(more)), graph)


@pytest.mark.parametrize(
    ("expression", "formats", "message"),
    [
        ("x(i) = B(i) * c(i)", ["x:s", "B:b", "c:b"], r"^fiberlookup B0 i .*: .* store the tensors as s or"),
        ("x(i) = B(i) * 2", ["x:s", "B:s"], r"^mul .*: .* with a constant .*; use a tensor instead$"),
        ("x(i) = B(i) / c(i)", ["x:s", "B:s", "c:s"], r"^div: no hardware here does div; known: mul, add,"),
    ],
)
def test_what_has_no_verilog_is_said_as_it_was_written(expression, formats, message):
    compiled = compile_expression(expression, formats)
    operands = {name: np.ones(3) for name in "Bc" if f"{name}(" in expression}
    with pytest.raises(InputError, match=message):
        build_verilog(build_machine(prepare(compiled.graph, operands), graph_settings({})), "graph")


def test_copies_of_a_loop_have_no_verilog():
    compiled = compile_expression("x(i) = B(i) * c(i)", ["x:s", "B:s", "c:s"], parallelize="i:2")
    ready = prepare(compiled.graph, {"B": np.ones(3), "c": np.ones(3)})
    with pytest.raises(InputError, match=r"^scatter i .*; compile the graph without --parallelize$"):
        build_verilog(build_machine(ready, graph_settings({})), "graph")


def test_the_command_writes_the_module_and_its_words(tmp_path, capsys):
    given = ["B=sam-random:shape=6x5,sparsity=0.5", "c=ones:shape=5", "-o", str(tmp_path)]
    assert cli.run(["graph", "export", str(GRAPHS / "spmv.gv"), *given]) == 0
    assert "module graph_spmv(" in (tmp_path / "spmv.v").read_text()
    words = (tmp_path / "spmv_words.csv").read_text().splitlines()
    assert words[0] == "port,control,address,word"
    assert "arrayvals_c_load,0,4,1" in words
    assert "spmv_words.csv" in capsys.readouterr().out


def test_planted_a_stop_that_is_not_raised_is_found(monkeypatch):
    monkeypatch.setattr(tokens.Head, "raised", property(lambda head: head.level))
    model = machine("spmv", 2)
    graph = build_verilog(model, "spmv")
    found, _stored = module_transcript(graph, backend(graph, 2), model.kernel.cycle + 20)
    expected = machine_transcript(model)
    assert found != {stream: tokens for stream, tokens in expected.items() if stream in found}


def in_letters(formats, letter):
    return re.sub(r":[sd]+", lambda found: ":" + letter * (len(found[0]) - 1), formats)


def transcripts(text, formats, value="auto", latency=1, **options):
    compiled = compile_expression(text, [formats], **options)
    settings = graph_settings({"value": value, "latency.alu": latency})
    given = drawn_for(compiled.graph, integers=not settings.value_type.floats)
    model = build_machine(prepare(compiled.graph, given), settings)
    graph = build_verilog(model, "graph_kernel")
    expected = machine_transcript(model)
    found, _stored = module_transcript(graph, backend(graph, 1), model.kernel.cycle + 20)
    return found, {stream: tokens for stream, tokens in expected.items() if stream in found}


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.name in SMALL], ids=SMALL)
def test_dense_levels_move_their_tokens_in_the_cycles_of_the_model(kernel):
    found, expected = transcripts(kernel.text, in_letters(kernel.formats, "d"))
    assert found == expected
    assert sum(map(len, found.values())) > 500


@pytest.mark.parametrize(
    ("value", "latency"), [("float32", 1), ("float64", 1), ("bfloat16", 1), ("float32", 5), ("bfloat16", 2)]
)
def test_floats_are_rounded_in_the_module_as_in_the_model(value, latency):
    text, formats = "X(i,j) = B(i,j) * C(i,k) * D(j,k) + E(i,j)", "X:ss,B:ss,C:ss,D:ss,E:ss"
    found, expected = transcripts(text, formats, value, latency)
    assert found == expected
    written = {token[3] for token in found["fiberwrite_X_vals.in_val"]}
    assert sum(value != int(value) for value in written) > 20


def test_planted_products_that_are_cut_off_are_found(monkeypatch):
    as_it_is = arithmetic._rounded
    cut = lambda form, *parts: as_it_is(form, *parts) & 0xFFFFFFFE  # noqa: E731
    monkeypatch.setattr(arithmetic, "_rounded", cut)
    found, expected = transcripts("X(i,j) = B(i,j) * C(i,j)", "X:ss,B:ss,C:ss", "float32")
    assert found != expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "formats"),
    [
        ("ijk", "X:ss,B:ss,C:ss:10"),
        ("jik", "X:ss:10,B:ss,C:ss:10"),
        ("ikj", "X:ss,B:ss,C:ss"),
        ("kij", "X:ss,B:ss:10,C:ss"),
        ("jki", "X:ss:10,B:ss:10,C:ss:10"),
        ("kji", "X:ss:10,B:ss:10,C:ss"),
    ],
)
def test_products_of_matrices_do_so_in_every_order_of_their_loops(order, formats):
    found, expected = transcripts("X(i,j) = B(i,k) * C(k,j)", formats, order=tuple(order))
    assert found == expected
    assert sum(map(len, found.values())) > 2000


@pytest.mark.slow
@pytest.mark.parametrize(("letter", "value"), [("s", "auto"), ("d", "auto"), ("s", "float32")])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_goes_all_the_way(kernel, letter, value, tmp_path, capsys):
    formats = in_letters(kernel.formats, letter)
    given = [kernel.text, "--format", formats, "--set", f"value={value}", "--no-area", "-o", str(tmp_path)]
    code = cli.run(["graph", "rtl", *given])
    shown = capsys.readouterr()
    refused = "runs in phases after one another" if (kernel.name, letter) == PHASES else ""
    assert code == (2 if refused else 0), shown.err
    assert re.search(refused or r"tokens in [\d,]+ cycles, in icarus as in the event", shown.err + shown.out)


def test_a_dense_level_that_is_asked_is_its_event_model():
    found, expected = transcripts("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:d", optimise="locate")
    assert found == expected
    assert [name for name in found if name.startswith("locate") and found[name]]
