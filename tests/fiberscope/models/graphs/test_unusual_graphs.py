"""Graphs that the compiler does not write: no expression, doubled streams, shared producers."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.folder import read_folder
from fiberscope.models.graphs.formats import format_of
from fiberscope.models.graphs.gv_reader import read_gv
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.rewrites.edits import remove_block
from fiberscope.workloads import WorkloadError

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "graphs").glob("*.gv"))
B, C = np.array([0, 2.0, 3, 0, 5]), np.array([1.0, 2, 3, 4, 0])


def product_without_expression(result: str) -> Graph:
    """A product whose array of c takes coordinates: its level is dense, so that they are its references."""
    graph = compile_expression("x(i) = b(i) * c(i)", [f"x:{result}", "b:s", "c:d"]).graph
    joiner = next(name for name, node in graph.nodes.items() if node.type == "intersect")
    for number, stream in enumerate(graph.streams):
        if (stream.source, stream.output) == (joiner, "ref[1]"):
            graph.streams[number] = replace(stream, output="crd", kind="crd")
    return graph


@pytest.mark.parametrize("c", ["ones", C], ids=["ones", "array"])
def test_a_graph_without_an_expression_runs_and_is_not_verified(c: object) -> None:
    report = run(product_without_expression("s"), {"b": B, "c": c})
    assert report.verification.reference.startswith("none: no expression can be read")
    assert report.verification.passed is None
    expected = B * (1 if isinstance(c, str) else C)
    assert report.product is not None
    assert report.product.shape == (5,)
    assert np.array_equal(report.result.toarray().reshape(-1), expected)


def test_without_an_expression_operands_have_to_agree_and_a_result_needs_sizes() -> None:
    with pytest.raises(InputError, match="i has 5 coordinates in b and 4 in c"):
        run(product_without_expression("s"), {"b": B, "c": C[:4]})
    for index in ("", "q"):
        graph = product_without_expression("s")
        for node in graph.writers:
            node.attributes["index"] = index
        with pytest.raises(InputError, match="dimension 0 of x has no size; give its writer the index"):
            run(graph, {"b": B, "c": C})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_second_stream_into_any_input_is_refused(path: Path) -> None:
    graph = read_gv(path)
    check(graph)
    seen = set()
    for stream in list(graph.streams):
        target = graph.nodes[stream.target]
        if (target.type, stream.input) in seen:
            continue
        seen.add((target.type, stream.input))
        graph.streams.append(replace(stream))
        with pytest.raises(
            InputError, match=f"2 streams go into {stream.input}; it takes one".replace("[", r"\[")
        ):
            check(graph)
        graph.streams.pop()
    assert seen


@pytest.mark.parametrize("names", list(permutations("123")))
def test_a_producer_of_two_unused_blocks_is_removed_once(names: tuple[str, ...]) -> None:
    """A scanner feeds a repeater and the generator of its signal, whatever the names of the three."""
    graph = compile_expression("X(i,j) = b(i) * c(j)", ["X:ss", "b:s", "c:s"]).graph
    blocks = {
        kind: replace(next(node for node in graph.nodes.values() if node.type == kind), name=name)
        for kind, name in zip(("fiberlookup", "repsiggen", "repeat"), names, strict=True)
    }
    graph.nodes, graph.streams = {node.name: node for node in blocks.values()}, []
    graph.connect(blocks["fiberlookup"], "crd", blocks["repsiggen"], "crd")
    graph.connect(blocks["fiberlookup"], "ref", blocks["repeat"], "ref")
    graph.connect(blocks["repsiggen"], "repsig", blocks["repeat"], "repsig")
    remove_block(graph, blocks["repeat"].name)
    assert not graph.nodes
    assert not graph.streams


GOOD = {"seg0": "0 2", "crd0": "0 2", "vals": "1 2", "shape": "3"}


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", "1_0", "x"])
@pytest.mark.parametrize("name", GOOD)
def test_a_number_of_a_folder_that_is_none_is_refused_with_the_file(
    tmp_path: Path, name: str, number: str
) -> None:
    for file, text in GOOD.items():
        (tmp_path / file).write_text(text)
    assert read_folder(tmp_path, format_of("s"))[0].shape == (3,)
    (tmp_path / name).write_text(GOOD[name].replace("2", number).replace("3", number))
    with pytest.raises(WorkloadError, match=name):
        read_folder(tmp_path, format_of("s"))


@pytest.mark.parametrize(
    ("name", "text"), [("shape", "0"), ("shape", "-3"), ("crd0", "0 1e300"), ("crd0", "0 1.5")]
)
def test_a_size_or_coordinate_out_of_range_is_refused_with_the_file(
    tmp_path: Path, name: str, text: str
) -> None:
    for file, content in {**GOOD, name: text}.items():
        (tmp_path / file).write_text(content)
    with pytest.raises(WorkloadError, match=name):
        read_folder(tmp_path, format_of("s"))
