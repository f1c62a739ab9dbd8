"""Rewrites of graphs: the same results with fewer blocks, and what each of them finds."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from streams.compiled import dense, results_of
from streams.public_graphs import compiled, public_text
from streams.random_expressions import RandomExpression
from streams.random_graphs import RandomGraph

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import Graph, compile_expression, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.expression import list_accesses, list_expressions
from fiberscope.models.graphs.gv_reader import graph_from_text, read_gv
from fiberscope.models.graphs.gv_writer import gv_text
from fiberscope.models.graphs.rewrites import REWRITES, apply_rewrites, parse_rewrites

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "graphs"
FEW, MANY = 20, 2_000
FILES = [file for file in sorted(EXAMPLES.glob("*.gv")) if "fig13" not in file.stem]
SETS = [[name] for name in REWRITES] + [list(REWRITES)]


def operands_of(graph, seed):
    """Operands of random sizes and density, some of them empty."""
    draws, numbers = random.Random(seed), np.random.default_rng(seed)
    sizes = {variable: draws.randrange(1, 9) for variable in "ijkl"}
    density = draws.choice((0.0, 0.1, 0.3, 0.6, 1.0))
    found = {}
    for access in list_accesses(list_expressions(graph)):
        if graph.formats.get(access.tensor) and access.tensor in {n["tensor"] for n in graph.writers}:
            continue
        shape = tuple(sizes[variable] for variable in access.variables)
        found[access.tensor] = numbers.integers(1, 9, shape) * (numbers.random(shape) < density)
    return found


def check_all(graph, seed):
    """Every rewrite by itself and all of them leave the result as it is, entry by entry."""
    before = gv_text(graph)
    operands, wanted = operands_of(graph, seed), None
    for names in SETS:
        made = apply_rewrites(graph, names)
        if made == graph:
            continue
        wanted = wanted or run(graph, operands)
        check(made, operands)
        assert graph_from_text(gv_text(made)) == made
        found = run(made, operands)
        assert found.verification.passed
        assert found.product == wanted.product
        assert len(made.nodes) <= len(graph.nodes) or "locate" in names
    assert gv_text(graph) == before, "the graph that was given has changed"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_shipped_graphs_compute_the_same(file):
    for seed in range(2):
        check_all(read_gv(file), seed)


def test_compiled_graphs_compute_the_same():
    for case in compiled().values():
        check_all(graph_from_text(public_text(case)), 1)


def test_a_few_random_graphs_compute_the_same():
    for seed in range(FEW):
        check_all(RandomGraph(seed).graph, seed)


def check_compiled(seed, **drawing):
    """What a random expression is compiled to gives the same whatever it is rewritten to."""
    drawn = RandomExpression(seed, **drawing)
    try:
        graph = lower([drawn.assignment], drawn.formats, drawn.order)
    except InputError:
        return 0
    wanted = dense(results_of(graph, drawn.operands)["X"])
    for made in (apply_rewrites(graph, names) for names in SETS):
        if made != graph:
            check(made, drawn.operands)
            assert graph_from_text(gv_text(made)) == made
            found = dense(results_of(made, drawn.operands)["X"])
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=str(drawn.assignment))
    return 1


def test_a_few_compiled_expressions_compute_the_same():
    assert sum(map(check_compiled, range(30))) > 20


def test_references_that_a_union_lacks_do_not_keep_a_level_from_being_located():
    assert check_compiled(177, letters=("s", "s", "d", "sd"), wide=False)


def test_bit_vectors_are_rewritten_as_compressed_levels_are():
    blocks = {}
    for letter in "sb":
        formats = f"X:ss,B:{letter * 2},C:{letter * 2},d:d"
        graph = compile_expression("X(i,j) = B(i,j) * d(j) + C(i,j)", [formats]).graph
        blocks[letter] = Counter(apply_rewrites(graph, list(REWRITES)).counts())
    assert blocks["b"] - blocks["s"] == Counter(bvexpand=4)
    assert not blocks["s"] - blocks["b"]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_compiled_expressions_compute_the_same(part):
    assert sum(check_compiled(seed) for seed in range(30 + part, MANY, 4)) > 0.8 * MANY / 4


@pytest.mark.slow
def test_many_random_graphs_compute_the_same():
    for seed in range(FEW, MANY):
        check_all(RandomGraph(seed).graph, seed)


def scanner(graph, tensor, variable, mode=0, above=None, **attributes):
    found = graph.add(
        "fiberlookup", index=variable, tensor=tensor, mode=mode, root=above is None, **attributes
    )
    if above is not None:
        graph.connect(*above, found, "ref")
    return found


def joiner(graph, kind, variable, *ways):
    """A joiner of scanners, or of (node with coordinates, its output of references)."""
    made = graph.add(kind, index=variable)
    for number, way in enumerate(ways):
        node, ref = way if isinstance(way, tuple) else (way, "ref")
        graph.connect(node, "crd", made, f"crd[{number}]")
        graph.connect(node, ref, made, f"ref[{number}]")
    return made


def array(graph, tensor, node, output="ref"):
    made = graph.add("arrayvals", tensor=tensor)
    graph.connect(node, output, made, "ref")
    return made


def alu(graph, kind, left, right, **attributes):
    made = graph.add(kind, **attributes)
    graph.connect(left, "val", made, "val[0]")
    graph.connect(right, "val", made, "val[1]")
    return made


def write(graph, values, *crds):
    for mode, (node, output) in enumerate(crds):
        writer = graph.add("fiberwrite", index="ij"[mode], tensor="x", mode=mode)
        graph.connect(node, output, writer, "crd")
    graph.connect(values, "val", graph.add("fiberwrite", tensor="x", mode="vals"), "val")
    return graph


def vectors(kind, forms):
    """x = b, c, d joined by a tree of two joiners, as the public repository writes it by hand."""
    graph = Graph({"x": "s", **dict(zip("bcd", forms, strict=True))})
    b, c, d = (
        scanner(graph, tensor, "i", format="dense" if form == "d" else "compressed")
        for tensor, form in zip("bcd", forms, strict=True)
    )
    first = joiner(graph, kind, "i", b, c)
    second = joiner(graph, kind, "i", d, (first, "ref[0]"))
    third = joiner(graph, kind, "i", d, (first, "ref[1]"))
    sign = "mul" if kind == "intersect" else "add"
    both = alu(graph, sign, array(graph, "b", second, "ref[1]"), array(graph, "c", third, "ref[1]"))
    return write(graph, alu(graph, sign, both, array(graph, "d", second, "ref[0]")), (third, "crd"))


@pytest.mark.parametrize("kind", ["intersect", "union"])
def test_a_tree_of_joiners_becomes_one(kind):
    graph = vectors(kind, "sss")
    made = apply_rewrites(graph, ["nary-joiners"])
    assert (graph.counts()[kind], made.counts()[kind]) == (3, 1)
    assert made.arity(next(node for node in made.nodes.values() if node.type == kind)) == 3
    check_all(graph, 5)


def test_joiners_of_two_kinds_stay_two():
    graph = Graph({"x": "s", "b": "s", "c": "s", "d": "s"})
    b, c, d = (scanner(graph, tensor, "i") for tensor in "bcd")
    both = joiner(graph, "union", "i", b, c)
    last = joiner(graph, "intersect", "i", (both, "ref[0]"), (both, "ref[1]"), d)
    sum_of = alu(graph, "add", array(graph, "b", last, "ref[0]"), array(graph, "c", last, "ref[1]"))
    write(graph, alu(graph, "mul", sum_of, array(graph, "d", last, "ref[2]")), (last, "crd"))
    assert apply_rewrites(graph, ["nary-joiners"]) == graph
    check_all(graph, 4)


@pytest.mark.parametrize(("forms", "located"), [("ssd", 1), ("dds", 2), ("ddd", 2), ("sss", 0)])
def test_dense_levels_of_an_intersection_are_located_but_for_one(forms, located):
    made = apply_rewrites(vectors("intersect", forms), ["nary-joiners", "locate"])
    assert made.counts()["locate"] == located
    check_all(vectors("intersect", forms), 7)


def test_dense_levels_of_a_union_are_walked_along():
    graph = vectors("union", "sdd")
    assert not apply_rewrites(graph, ["locate"]).counts()["locate"]


def spmv_by_a_dense_vector():
    graph = read_gv(EXAMPLES / "spmv.gv")
    for node in graph.nodes.values():
        if node.type == "fiberlookup" and node["tensor"] == "c":
            node.attributes["format"] = "dense"
    return Graph({**graph.formats, "c": "d"}, nodes=graph.nodes, streams=graph.streams)


def test_locating_takes_the_cycles_of_what_is_there_and_not_of_the_size():
    graph = spmv_by_a_dense_vector()
    operands = {"B": np.eye(40), "c": np.ones(40)}
    before, behind = (run(one, operands).cycles for one in (graph, apply_rewrites(graph)))
    assert before > 40 * 40
    assert behind < 40 * 4


RANDOM = "sam-random:shape=250x100,sparsity=0.95,seed=0"
MEASURED = {
    "figure 11 by co-iteration, K = 1": (
        lambda: read_gv(EXAMPLES / "fig11_coiterate.gv"),
        {"B": RANDOM, "C": "ones:shape=250x1", "D": "ones:shape=100x1"},
        ["locate", "dead-droppers"],
    ),
    "figure 11 by co-iteration, K = 10": (
        lambda: read_gv(EXAMPLES / "fig11_coiterate.gv"),
        {"B": RANDOM, "C": "ones:shape=250x10", "D": "ones:shape=100x10"},
        ["locate", "dead-droppers"],
    ),
    "x(i) = B(i,j) * c(j), c dense": (
        spmv_by_a_dense_vector,
        {"B": RANDOM, "c": "ones"},
        ["locate", "dead-droppers"],
    ),
    "x(i) = b(i) + c(i) + d(i) by three unions": (
        lambda: vectors("union", "sss"),
        {name: f"sam-random:shape=2000,sparsity=0.9,seed={seed}" for seed, name in enumerate("bcd")},
        ["nary-joiners"],
    ),
}


@pytest.mark.parametrize("title", MEASURED)
def test_the_page_has_the_blocks_and_cycles_before_and_behind(title):
    make, operands, names = MEASURED[title]
    before = make()
    behind = apply_rewrites(before, names)
    first, second = (run(one, operands).cycles for one in (before, behind))
    blocks = f"{len(before.nodes)} | {len(behind.nodes)}"
    row = f"| {title} | {', '.join(names)} | {blocks} | {first:,} | {second:,} |"
    assert row in (ROOT / "docs" / "graph_reference.md").read_text()


def test_a_scalar_stands_in_a_register():
    graph = Graph({"x": "s", "b": "s", "a": "none"})
    b = scanner(graph, "b", "i")
    repeat = graph.add("repeat", index="i", tensor="a", root=True)
    signal = graph.add("repsiggen", index="i")
    graph.connect(b, "crd", signal, "crd")
    graph.connect(signal, "repsig", repeat, "repsig")
    product = alu(graph, "mul", array(graph, "a", repeat), array(graph, "b", b))
    write(graph, product, (b, "crd"))
    made = apply_rewrites(graph, ["scalar-broadcast"])
    assert not {"repeat", "repsiggen"} & set(made.counts())
    assert run(made, {"b": np.array([0, 2, 3]), "a": 2.5}).verification.passed
    assert str(list_expressions(made)[0]) == "x(i) = b(i) * a"


def test_a_scalar_on_the_left_of_a_difference_stays_a_stream():
    graph = Graph({"x": "none", "a": "none", "b": "none"})
    a, b = (graph.add("arrayvals", tensor=tensor) for tensor in "ab")
    difference = alu(graph, "add", a, b, sub=1)
    graph.connect(difference, "val", graph.add("fiberwrite", tensor="x", mode="vals"), "val")
    made = apply_rewrites(graph, ["scalar-broadcast"])
    assert next(n for n in made.nodes.values() if n.type == "add")["scalar"] == "b"
    assert run(made, {"a": 5.0, "b": 3.0}).verification.passed


def test_a_tensor_read_twice_is_scanned_once():
    graph = Graph({"x": "s", "b": "s"})
    first, second = scanner(graph, "b", "i"), scanner(graph, "b", "i")
    both = joiner(graph, "intersect", "i", first, second)
    square = alu(graph, "mul", array(graph, "b", both, "ref[0]"), array(graph, "b", both, "ref[1]"))
    write(graph, square, (both, "crd"))
    made = apply_rewrites(graph, ["common-scanners"])
    assert made.counts() == {"fiberlookup": 1, "arrayvals": 1, "mul": 1, "fiberwrite": 2}
    check_all(graph, 2)


def identity_with_dropper(formats):
    graph = Graph({"x": "ss", "b": formats})
    forms = {"s": "compressed", "d": "dense"}
    rows = scanner(graph, "b", "i", format=forms[formats[0]])
    columns = scanner(graph, "b", "j", 1, (rows, "ref"), format=forms[formats[1]])
    dropper = graph.add("crddrop", outer="i", inner="j")
    graph.connect(rows, "crd", dropper, "outer")
    graph.connect(columns, "crd", dropper, "inner")
    return write(graph, array(graph, "b", columns), (dropper, "outer"), (dropper, "inner"))


@pytest.mark.parametrize(("formats", "left"), [("ss", 0), ("dd", 0), ("sd", 0), ("ds", 1)])
def test_a_dropper_goes_where_no_fiber_can_be_empty(formats, left):
    graph = identity_with_dropper(formats)
    assert apply_rewrites(graph, ["dead-droppers"]).counts()["crddrop"] == left
    check_all(graph, 3)


def test_a_dropper_behind_an_intersection_stays_until_that_is_located():
    graph = read_gv(EXAMPLES / "fig11_coiterate.gv")
    assert apply_rewrites(graph, ["dead-droppers"]).counts()["crddrop"] == 1
    assert apply_rewrites(graph, ["locate", "dead-droppers"]).counts()["crddrop"] == 0


def test_a_wrong_name_is_refused():
    assert parse_rewrites("all") == list(REWRITES)
    with pytest.raises(InputError, match="there is no rewrite 'located'; did you mean locate"):
        parse_rewrites("locate, located")
