"""Loops over chunks and within them: what is asked for, equal to dense arrays, whatever the sizes."""

import random
from collections import Counter

import numpy as np
import pytest
from streams.compiled import dense, results_of
from streams.dense_evaluation import evaluated
from streams.kernels import KERNELS

from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, graph_from_text, gv_text, read_gv, run
from fiberscope.models.graphs.compiler.front_end import build_notation
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.sums import accesses, insert_sums
from fiberscope.models.graphs.expression import Assignment
from fiberscope.workloads.expressions.expression import Access

PRODUCT, ROWS = "X(i,j) = B(i,k) * C(k,j)", ["X:ss,B:ss,C:ss"]
TILES = ["i_0", "k_0", "j", "i_1", "k_1"]
MORE = (  # everywhere at coordinates that tensors lack, also behind the last whole chunk
    "X(i,j) = B(i,j) + c(i)",
    "X(i,j) = (b(i) + 2) * C(i,j) - d(j)",
    "x(i) = (b(i) + C(i,j)) * d(j)",
    "X(i,j) = B(i,j) / c(j) + B(i,j)",
    "x = alpha * b(i) + beta",
)
FEW, MANY = 45, 3000
SIZES = {"i": 7, "j": 5, "k": 6, "l": 4}


def sparse(seed, *shape):
    numbers = np.random.default_rng(seed)
    return np.where(numbers.random(shape) < 0.5, numbers.integers(-4, 5, shape), 0).astype(float)


def drawn(seed):
    """An expression, its options and its tensors; a split may be of one coordinate, or of all."""
    draws = random.Random(seed)
    text = draws.choice((*KERNELS.values(), *MORE))
    parsed = parse(text)
    read = {one.tensor: one.variables for one in accesses(parsed.expression)}
    tensors = {parsed.result.tensor: parsed.result.variables, **read}
    formats = [f"{name}:{''.join(draws.choice('sdb') for _ in own)}" for name, own in tensors.items()]
    variables = sorted({variable for own in tensors.values() for variable in own})
    splits = {one: draws.choice((1, 2, 3, 4, 9)) for one in variables if draws.random() < 0.6}
    order = [part for one in variables for part in ((f"{one}_0", f"{one}_1") if one in splits else (one,))]
    draws.shuffle(order)
    options = {"order": order if draws.random() < 0.8 else [], "factor": draws.random() < 0.4}
    options["split"] = ",".join(f"{one}:{chunk}" for one, chunk in splits.items())
    arrays = {
        name: sparse(seed + place, *(SIZES[one] for one in own))
        for place, (name, own) in enumerate(read.items())
    }
    return text, formats, options, arrays


def outcome(seed):
    """Whether a drawn expression in chunks is computed; or it is refused for its order."""
    text, formats, options, arrays = drawn(seed)
    try:
        graph = compile_expression(text, formats, **options).graph
    except InputError as error:
        if "order" in str(error) or "divisor" in str(error):
            return "refused"
        raise
    assert graph_from_text(gv_text(graph)) == graph
    parsed = parse(text)
    placed = Assignment(parsed.result, insert_sums(parsed))
    found = dense(results_of(graph, arrays)[placed.result.tensor])
    wanted = evaluated([placed], arrays, SIZES)[placed.result.tensor]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{seed}: {text} {options}")
    return "right"


def test_random_expressions_in_chunks() -> None:
    counts = Counter(outcome(seed) for seed in range(FEW))
    assert counts["right"] > 0.5 * FEW


@pytest.mark.slow
def test_more_random_expressions_in_chunks() -> None:
    counts = Counter(outcome(seed) for seed in range(FEW, MANY))
    assert counts["right"] > 0.5 * MANY


def test_rows_in_chunks() -> None:
    made = compile_expression("x(i) = B(i,j) * c(j)", ["x:s,B:ss,c:s"], split="i:4")
    assert made.order == ("i_0", "i_1", "j")
    assert {name: str(one) for name, one in made.graph.formats.items()} == {
        "x": "ss01",
        "B": "sss012",
        "c": "s0",
    }
    assert (made.counts["scan"], made.counts["repeat"], made.counts["write"]) == (4, 2, 3)
    assert str(made.notations[0].assignment) == "x(i_0,i_1) = sum[j] (B(i_0,i_1,j) * c(j))"
    report = run(made.graph, {"B": sparse(0, 10, 6), "c": np.ones(6)})
    assert report.problem.title == "x(i) = sum[j] (B(i,j) * c(j))"
    assert report.workload.shape == (10, 6)
    assert report.product.shape == (10,)
    assert report.verification.passed


def test_tiles_are_stored_as_the_loops_go() -> None:
    made = compile_expression(PRODUCT, ROWS, TILES, split="i:4,k:8")
    assert {name: str(one) for name, one in made.graph.formats.items()} == {
        "X": "sss021",
        "B": "ssss0213",
        "C": "sss021",
    }
    again = compile_expression(PRODUCT, ["X:ss,B:ss:10,C:ss:10"], TILES, split="i:4,k:8")
    assert again.graph == made.graph


def test_without_an_order_chunks_follow_that_of_the_formats() -> None:
    assert compile_expression(PRODUCT, ROWS, split="k:4").order == ("i", "k_0", "k_1", "j")
    moved = compile_expression(PRODUCT, ROWS, reorder=["k_0", "i"], split="k:4")
    assert moved.order == ("k_0", "i", "k_1", "j")


def test_a_product_of_vectors_is_the_published_one_in_chunks() -> None:
    made = compile_expression("x(i) = b(i) * c(i)", ["x:s,b:s,c:s"], split="i:64")
    for length in (1, 20, 100):
        operands = {name: f"sam-runs:length={length},operand={one}" for one, name in enumerate("bc", 1)}
        ours, published = (
            run(graph, operands, {"timing": "sam"}).cycles
            for graph in (made.graph, "examples/graphs/fig13_split.gv")
        )
        assert ours == published


@pytest.mark.parametrize("chunk", [1, 3, 4, 10, 1000])
def test_nothing_is_read_or_given_behind_the_last_coordinate(chunk) -> None:
    made = compile_expression("X(i,j) = B(i,j) + c(j)", ["X:dd,B:sd,c:d"], split=f"i:{chunk},j:{chunk}")
    b, c = sparse(1, 10, 7), np.arange(1.0, 8)
    assert run(made.graph, {"B": b, "c": c}).product.nonzeros == 70
    np.testing.assert_array_equal(dense(results_of(made.graph, {"B": b, "c": c})["X"]), b + c)


def test_tiles_on_copies_take_fewer_cycles() -> None:
    operands = {"B": sparse(1, 32, 24), "C": sparse(2, 24, 32)}
    cycles = []
    for copies in ("", "i_0:2", "i_0:4"):
        order = ["i_0", "k_0", "i_1", "k_1", "j"]
        made = compile_expression(PRODUCT, ROWS, order, split="i:8,k:8", parallelize=copies)
        report = run(made.graph, operands)
        assert report.verification.passed
        cycles.append(report.cycles)
    assert cycles[2] < cycles[1] < cycles[0]


def test_the_file_runs_by_itself(tmp_path, printed) -> None:
    file, again = str(tmp_path / "tiles.gv"), str(tmp_path / "again.gv")
    line = [
        "graph",
        "compile",
        PRODUCT,
        "--format",
        ROWS[0],
        "--split",
        "i:4,k:8",
        "--order",
        ",".join(TILES),
    ]
    assert "Split: k = 8 * k_0 + k_1" in printed(*line, "-o", file)
    operands = ["B=sam-random:shape=10x17,sparsity=0.5", "C=sam-random:shape=17x9,sparsity=0.5"]
    assert cli.run(["graph", "run", file, *operands, "--quiet"]) == 0
    assert cli.run(["graph", "optimise", file, "-o", again]) == 0
    assert read_gv(again).splits == {"i": 4, "k": 8}
    assert "X(i,j) = sum[k] (B(i,k) * C(k,j))\nSplit: i = 4 * i_0 + i_1\n" in printed("graph", "check", again)
    assert cli.run(["graph", "cost", file, *operands]) == 0


def test_a_folder_has_the_whole_tensor(tmp_path) -> None:
    for name, numbers in {"seg0": "0 2", "crd0": "1 8", "vals": "3 4", "shape": "9"}.items():
        (tmp_path / name).write_text(numbers)
    made = compile_expression("x(i) = b(i) * 2", ["x:s,b:s"], split="i:4")
    report = run(made.graph, {"b": str(tmp_path)})
    assert report.verification.passed
    assert report.product.shape == (9,)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'split="i:4"',
            'split="i:0"',
            "split='i:0' should be variables and their chunks, as in split=i:4,k:8",
        ),
        ('split="i:4"', f'split="i:{10**30}"', "should be variables and their chunks"),
        ('split="i:4"', 'split="j:4"', "split=j:4: there is no loop j_0; split=j:4: there is no loop j_1"),
    ],
)
def test_a_file_that_splits_wrongly_is_refused(old, new, message, tmp_path) -> None:
    made = compile_expression("x(i) = b(i) * c(i)", ["x:s,b:s,c:s"], split="i:4")
    file = tmp_path / "wrong.gv"
    file.write_text(gv_text(made.graph).replace(old, new))
    with pytest.raises(InputError, match=message):
        run(file, {"b": np.ones(9), "c": np.ones(9)})


def test_parts_that_do_not_go_together_are_no_chunks() -> None:
    made = compile_expression("X(i,j) = B(i,j) * C(i,j)", ["X:ss,B:ss,C:ss"])
    made.graph.splits = {"i": 4}
    for node in made.graph.nodes.values():
        for name, value in node.attributes.items():
            node.attributes[name] = {"i": "i_1", "j": "i_0"}.get(value, value)
    with pytest.raises(InputError, match=r"no tensor can be cut for split=i: .*is not X\(i\) in chunks"):
        run(made.graph, {"B": np.ones((9, 4)), "C": np.ones((9, 4))})


def test_the_name_of_a_part_is_refused() -> None:
    assignment = Assignment(Access.plain("x", ("i", "i_0")), Access.plain("B", ("i", "i_0")))
    with pytest.raises(InputError, match="split i:2: i_0 is a variable already; give i another name"):
        build_notation(assignment, splits={"i": 2})


def test_fibers_that_the_public_writer_runs_together_are_read() -> None:
    graph = compile_expression("X(i,j) = B(i,j) + C(i,j)", ["X:sb,B:ss,C:ss"], split="j:3").graph
    arrays = {"B": [[0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]], "C": [[0, 1, 0, -1, 0, 0], [1, 0, 1, 1, 0, 0]]}
    operands = {name: np.array(rows, float) for name, rows in arrays.items()}
    assert run(graph, operands, {"timing": "sam"}).verification.passed
