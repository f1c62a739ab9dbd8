"""Compiling: a line becomes a graph that means it, in little time; whatever the line, no traceback."""

import json
import random
import time

import numpy as np
import pytest

from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.models.graphs.execution import run as run_graph
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.gv_writer import gv_text

PRODUCT, STORED = "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss"
MTTKRP = ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "X:ss,B:sss,C:ss,D:ss")
LINES = (  # with formats
    (PRODUCT, STORED),
    (PRODUCT, "B:ss:10,C:dd"),
    MTTKRP,
    ("x(i) = b(i) - C(i,j) * d(j)", "x:s,b:s,C:ss,d:s"),
    ("x_i = alpha * B_{j,i} * c_j + beta * d_i", "B:ss:1,0, c:s,d:s"),
    ("x += -(a(i) / 2.5e-1 + b(i)) * c(i)", "a:s,b:d,c:s"),
    ("X(j,i) = (B(i,j) + C(i,j) - 1) * D(i,k) * e(k)", "B:dd,C:ds,D:ss,e:s"),
)
ORDERS = ("", "", "", "i,j", "i,k,j", "k,j,i", "j", "i,,j", "l,k,j,i")
LETTERS = "ijkXBCxb()=+-*/,:_{}. 0123.5e\n\tΣé\0"


def mutated(text, draw):
    """With some letters lost, doubled, swapped or of another kind."""
    letters = list(text)
    for _ in range(draw.choice((0, 0, 1, 1, 2, 5, 20))):
        place = draw.randrange(len(letters) + 1)
        cut = draw.randrange(3)
        letters[place : place + cut] = draw.choices(LETTERS, k=draw.randrange(3))
    return "".join(letters)


def nonsense(draw):
    """Words of the language one after the other."""
    words = (
        "x(i)",
        "B(i,j)",
        "C(j,k)",
        "=",
        "+=",
        "+",
        "-",
        "*",
        "/",
        "(",
        ")",
        "2",
        "a",
        "y_j",
        "sum(",
        ",",
    )
    return " ".join(draw.choices(words, k=draw.randrange(1, 30)))


def tried(seed):
    """Whether a line that was drawn is compiled; it may be refused, in one line."""
    draw = random.Random(seed)
    text, formats = draw.choice(LINES)
    text = nonsense(draw) if seed % 4 == 0 else mutated(text, draw)
    formats = mutated(formats, draw) if seed % 3 == 0 else formats
    order = draw.choice(ORDERS)
    try:
        compile_expression(
            text,
            [formats] if formats else [],
            order.split(",") if order else [],
            optimise=draw.choice(("", "", "all", "locate")),
            factor=draw.random() < 0.2,
        )
    except InputError as error:
        refusal = str(error)
    else:
        return True
    assert "\n" not in refusal
    assert len(refusal) < 400
    return False


@pytest.mark.parametrize("lines", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_whatever_the_line_there_is_no_traceback(lines):
    compiled = sum(tried(seed) for seed in range(lines))
    assert lines / 20 < compiled < lines / 2


def test_orders_and_formats_are_words_or_texts():
    apart = compile_expression(PRODUCT, [STORED], ("i", "k", "j"))
    made = compile_expression(PRODUCT, STORED, "i, k,j")
    assert gv_text(made.graph) == gv_text(apart.graph)
    assert compile_expression(PRODUCT, STORED, "i,k,j").order == ("i", "k", "j")
    assert compile_expression(PRODUCT, STORED, "ikj").order == ("i", "k", "j")
    moved = compile_expression(PRODUCT, STORED, reorder=("k", "j"))
    assert compile_expression(PRODUCT, STORED, reorder="k,j").order == moved.order
    with pytest.raises(InputError, match="order 'i,,j': write variables with commas"):
        compile_expression(PRODUCT, STORED, "i,,j")


def test_the_graph_means_what_was_written():
    compiled = compile_expression(PRODUCT, [STORED], "ikj")
    check(compiled.graph)
    assert [str(one) for one in list_expressions(compiled.graph)] == [str(compiled.notations[0].assignment)]
    assert str(compiled.notations[0]) == (
        "forall i\n  forall k\n    forall j\n      X(i,j) += B(i,k) * C(k,j)\nwith X=ss01, B=ss01, C=ss01"
    )


def test_a_sum_in_a_term_is_a_temporary_of_the_loop_nest():
    notation = compile_expression("t1(i) = b(i) - C(i,j) * d(j)", ["t1:s,b:s,C:ss,d:s"]).notations[0]
    assert str(notation).splitlines()[:5] == [
        "forall i",
        "  t1(i) = b(i) - t2",
        "  where",
        "    forall j",
        "      t2 += C(i,j) * d(j)",
    ]


def test_a_product_is_factored_into_a_cascade_that_computes_the_same():
    text, formats = "X(i,j) = B(i,j) * C(i,k) * D(j,k)", ["X:ss,B:ss,C:ss,D:ss"]
    cascade = compile_expression(text, formats, factor=True)
    assert [str(one.assignment) for one in cascade.notations] == [
        "T1(i,j) = sum[k] (C(i,k) * D(j,k))",
        "X(i,j) = B(i,j) * T1(i,j)",
    ]
    assert cascade.counts["scan"] == 8
    draw = np.random.default_rng(1)
    operands = {name: draw.integers(0, 3, (4, 4)) for name in "BCD"}
    fused = run_graph(compile_expression(text, formats).graph, operands)
    factored = run_graph(cascade.graph, operands)
    assert fused.verification.passed
    assert factored.verification.passed


def test_a_cascade_takes_orders_that_one_statement_does_not():
    text, formats = "x(i) = b(i) - C(i,j) * d(j)", ["x:s,b:s,C:ss:10,d:s"]
    with pytest.raises(InputError, match="--factor makes it a statement of its own"):
        compile_expression(text, formats)
    cascade = compile_expression(text, formats, factor=True)
    assert cascade.order == ("j", "i")
    operands = {"b": np.arange(3.0), "C": np.eye(3), "d": np.ones(3)}
    assert run_graph(cascade.graph, operands).verification.passed


@pytest.mark.parametrize(("text", "formats"), [(PRODUCT, STORED), MTTKRP])
def test_compiling_takes_less_than_50_ms(text, formats):
    compile_expression(text, [formats])
    times = []
    for _ in range(5):
        start = time.process_time()
        compile_expression(text, [formats])
        times.append(time.process_time() - start)
    assert min(times) < 0.05


def run(*words):
    return cli.run(["graph", "compile", *words])


def test_the_command_says_order_and_counts_in_json(capsys):
    assert run(PRODUCT, "--format", "B:ss", "--format", "X:ss,C:ss", "--order", "i,k,j", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["order"] == ["i", "k", "j"]
    assert found["counts"] == {
        "scan": 4,
        "repeat": 2,
        "intersect": 1,
        "union": 0,
        "alu": 1,
        "reduce": 1,
        "drop": 1,
        "write": 3,
        "array": 2,
    }
    assert found["blocks"]["spaccumulator"] == 1
    assert found["statements"] == ["X(i,j) = sum[k] (B(i,k) * C(k,j))"]


def test_the_command_writes_a_graph_that_runs(tmp_path, capsys):
    file = str(tmp_path / "product.gv")
    assert (
        run(PRODUCT, "--format", STORED, "--reorder", "j,k", "--show", "cin", "--show", "graph", "-o", file)
        == 2
    )
    assert "order i,j,k: C(k,j) is stored k before j; store it as C:ss:10" in capsys.readouterr().err
    assert run(PRODUCT, "--format", STORED, "--show", "cin", "--show", "graph", "-o", file) == 0
    said = capsys.readouterr().out
    assert "forall i" in said
    assert "fiberlookup B0 i" in said
    operands = ["B=sam-random:shape=6x5,sparsity=0.5", "C=sam-random:shape=5x4,sparsity=0.5"]
    assert cli.run(["graph", "run", file, *operands, "--quiet"]) == 0
    assert cli.run(["graph", "run", PRODUCT, "--format", STORED, *operands, "--quiet"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x(i) = b(i", "--json", "-"], "expression, column 11: found the end"),
        (["x(i) = b(i)", "--split", "i,4"], "split 'i,4': write variables and the coordinates of a chunk"),
        (["x(i) = b(i)", "--split", "i:0"], "split 'i:0': write variables and the coordinates of a chunk"),
        (["x(i) = b(i)", "--split", "i:4,i:2"], "i occurs twice; a variable is split once"),
        (["x(i) = b(i)", "--split", "i:4,i_0:2"], "split i_0:2: the expression has no i_0; it has i"),
        (["X(i,j) = B(i,j) + B(j,i)", "--split", "i:4"], "B is read as B(i,j) and as B(j,i); split i and j"),
        (["X(i,j) = B(i,j) + B(j,i)", "--split", "i:4,j:2"], "B is read as B(i,j) and as B(j,i); split i"),
        (
            ["x(i) = b(i)", "--split", "i:4", "--order", "i"],
            "order i: the expression has no i; it has i_0,i_1",
        ),
        (["x(i) = b(i)", "--parallelize", "i"], "parallelize 'i': write a loop and a number of copies"),
        (["x(i) = b(i)", "--parallelize", "k:2"], "parallelize k:2: there is no loop k"),
        (["x = b(i)", "--parallelize", "i:2"], "brings together what different i give"),
        (["x(i) = b(i)", "--order", "i,"], "--order 'i,': write variables with commas"),
        (["X(i,j) = B(i,j)", "--reorder", "i,k"], "reorder i,k: there is no loop k; there are i,j"),
        (["X(i,j) = B(i,j)", "--reorder", "i,i"], "reorder i,i: i occurs twice"),
        (["x(i) = b(i)", "--optimise", "nothing"], "there is no rewrite 'nothing'"),
        (["x(i) = b(i)", "-o", "no/such/x.gv"], "there is no folder no/such"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(words, message, capsys):
    assert run(*words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_formats_belong_to_expressions(tmp_path, refusal):
    file = tmp_path / "sum.gv"
    assert run("x(i) = b(i) + c(i)", "-o", str(file)) == 0
    error = refusal("graph", "run", str(file), "--format", "b:s", "b=ones:shape=3", "c=ones")
    assert "--format and --order are options of an expression" in error


def test_expressions_are_drawn_and_exported_too(here):
    pytest.importorskip("pyrtl")
    line = ["x(i) = B(i,j) * c(j)", "--format", "x:s,B:ss,c:s"]
    assert cli.run(["graph", "draw", *line]) == 0
    assert (here / "graph.svg").read_text().startswith("<")
    operands = ["B=sam-random:shape=6x5,sparsity=0.5", "c=ones:shape=5"]
    for order in ([], ["--order", "auto"]):
        assert cli.run(["graph", "export", *line, *order, *operands]) == 0
    assert "module graph_" in (here / "build" / "graph.v").read_text()
