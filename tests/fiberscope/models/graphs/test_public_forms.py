"""Forms of the public repository's hand-made graphs, on graphs of our own: each against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import Graph, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.gv_reader import graph_from_text
from fiberscope.models.graphs.gv_writer import gv_text
from fiberscope.models.graphs.rewrites.joiners import chain_unions

INNER_PRODUCT = """digraph SAM {{
  comment="X=ss01,B=ss01,C=ss10"
  Bi [type=fiberlookup index=i tensor=B mode=0 root=true] gi [type=repsiggen index=i]
  rC [type=repeat index=i tensor=C root=true] Cj [type=fiberlookup index=j tensor=C mode=1]
  gj [type=repsiggen index=j] rB [type=repeat index=j tensor=B] Bk [type=fiberlookup index=k tensor=B mode=1]
  Ck [type=fiberlookup index=k tensor=C mode=0] k [type=intersect index=k] vB [type=arrayvals tensor=B]
  vC [type=arrayvals tensor=C] mul [type=mul] jk [type=crddrop outer=j inner=k]
  ij [type=crddrop outer=i inner=j] sum [type=reduce] wi [type=fiberwrite index=i tensor=X mode=0]
  wj [type=fiberwrite index=j tensor=X mode=1] w [type=fiberwrite tensor=X mode=vals]
  Bi -> gi [type=crd] gi -> rC [type=repsig] rC -> Cj [type=ref] Cj -> gj [type=crd] gj -> rB [type=repsig]
  Bi -> rB [type=ref] rB -> Bk [type=ref] Cj -> Ck [type=ref]
  Bk -> k [type=crd comment="in-B"] Bk -> k [type=ref comment="in-B"]
  Ck -> k [type=crd comment="in-C"] Ck -> k [type=ref comment="in-C"]
  k -> vB [type=ref comment="out-B"] k -> vC [type=ref comment="out-C"]
  vB -> mul [type=val] vC -> mul [type=val]
  mul -> jk [type=val comment="inner-k"] Cj -> jk [type=crd comment="outer-j"]
  jk -> sum [type=val comment="inner-k"]
  jk -> ij [type=crd comment="inner-j"] Bi -> ij [type=crd comment="outer-i"]
  {behind}
}}"""
PLAIN = """ij -> wi [type=crd comment="outer-i"] ij -> wj [type=crd comment="inner-j"] sum -> w [type=val]"""
RECTIFIED = """max [type=max] zero [type=valdrop outer=j inner=val] row [type=crddrop outer=i inner=j]
  sum -> max [type=val] max -> zero [type=val comment="relu-val"] ij -> zero [type=crd comment="inner-j"]
  zero -> row [type=crd comment="inner-j"] ij -> row [type=crd comment="outer-i"] zero -> w [type=val]
  row -> wi [type=crd comment="outer-i"] row -> wj [type=crd comment="inner-j"]"""


def drawn(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Whole numbers, most of them zero, some negative."""
    draws = np.random.default_rng(seed)
    return draws.integers(-5, 6, shape) * (draws.random(shape) < draws.choice([0.15, 0.5]))


@given(seed=st.integers(0, 2**32), timing=st.sampled_from(["machine", "sam"]))
def test_a_coordinate_dropper_takes_the_values_of_a_fiber(seed: int, timing: str) -> None:
    graph = graph_from_text(INNER_PRODUCT.format(behind=PLAIN))
    assert [str(one) for one in list_expressions(graph)] == ["X(i,j) = sum[k] (B(i,k) * C(k,j))"]
    report = run(graph, {"B": drawn((5, 6), seed), "C": drawn((6, 4), seed + 1)}, {"timing": timing})
    assert report.verification.passed


@given(seed=st.integers(0, 2**32))
def test_a_maximum_of_one_stream_is_that_with_zero_and_its_zeros_are_dropped(seed: int) -> None:
    graph = graph_from_text(INNER_PRODUCT.format(behind=RECTIFIED))
    assert [str(one) for one in list_expressions(graph)] == ["X(i,j) = max(sum[k] (B(i,k) * C(k,j)), 0)"]
    assert graph.notes == ["max (node max) takes one stream: the larger of it and 0"]
    report = run(graph, {"B": drawn((5, 6), seed), "C": drawn((6, 4), seed + 1)})
    assert report.verification.passed


DIFFERENCE = """digraph SAM {{
  comment="x=s0,{tensors}"
  bi [type=fiberlookup index=i tensor=b mode=0 root=true]
  ci [type=fiberlookup index=i tensor=c mode=0 root=true]
  i [type=union index=i] vb [type=arrayvals tensor=b] vc [type=arrayvals tensor=c] neg [type=neg]
  sub [type=add sub=1] wi [type=fiberwrite index=i tensor=x mode=0] w [type=fiberwrite tensor=x mode=vals]
  bi -> i [type=crd comment="in-b"] bi -> i [type=ref comment="in-b"]
  ci -> i [type=crd comment="in-c"] ci -> i [type=ref comment="in-c"]
  i -> vb [type=ref comment="out-b"] i -> vc [type=ref comment="out-c"] i -> wi [type=crd]
  {operands} vb -> neg [type=val] sub -> w [type=val]
}}"""
NEGATED, OTHER = "neg -> sub [type=val{0}]", "vc -> sub [type=val{1}]"


@pytest.mark.parametrize("operands", [f"{NEGATED} {OTHER}", f"{OTHER} {NEGATED}"])
@pytest.mark.parametrize(
    ("tensors", "meant"), [("b=s0,c=s0", "(neg(b(i))) - c(i)"), ("c=s0,b=s0", "c(i) - (neg(b(i)))")]
)
def test_a_difference_has_the_order_of_the_comment(operands: str, tensors: str, meant: str) -> None:
    graph = graph_from_text(DIFFERENCE.format(tensors=tensors, operands=operands.format("", "")))
    assert str(list_expressions(graph)[0]) == f"x(i) = {meant}"
    assert len(graph.notes) == (operands.startswith("neg") != tensors.startswith("b"))
    report = run(graph, {"b": np.array([0.0, 2, 0]), "c": np.array([0.0, 3, 0])})
    assert report.verification.passed
    assert graph_from_text(gv_text(graph)) == graph


def test_an_operand_that_is_named_stays_where_it_is() -> None:
    named = f"{NEGATED} {OTHER}".format(' to="val[1]"', ' to="val[0]"')
    graph = graph_from_text(DIFFERENCE.format(tensors="b=s0,c=s0", operands=named))
    assert str(list_expressions(graph)[0]) == "x(i) = c(i) - (neg(b(i)))"
    assert graph_from_text(gv_text(graph)) == graph


THREE = """digraph SAM {
  comment="x=s0,b=s0,c=s0,d=s0"
  bi [type=fiberlookup index=i tensor=b mode=0 root=true]
  ci [type=fiberlookup index=i tensor=c mode=0 root=true]
  di [type=fiberlookup index=i tensor=d mode=0 root=true] i [type=union index=i]
  vb [type=arrayvals tensor=b] vc [type=arrayvals tensor=c] vd [type=arrayvals tensor=d] add [type=add]
  all [type=add] wi [type=fiberwrite index=i tensor=x mode=0] w [type=fiberwrite tensor=x mode=vals]
  bi -> i [type=crd] bi -> i [type=ref] ci -> i [type=crd] ci -> i [type=ref]
  di -> i [type=crd] di -> i [type=ref]
  i -> vb [type=ref] i -> vc [type=ref] i -> vd [type=ref] i -> wi [type=crd] vb -> add [type=val]
  vc -> add [type=val] add -> all [type=val] vd -> all [type=val] all -> w [type=val]
}"""


def test_a_union_of_three_is_a_chain_of_two_in_the_public_simulator() -> None:
    """Worked by its rules, a token a cycle and a cycle to load, for b = {0}, c = {1}, d = {2}.

    Scanners send the coordinate, S0 and done in cycles 0 to 2. The first union loads in 1 and sends 0, 1, S0,
    done in 2 to 5; the second loads in 3 and sends 0, 1, 2, S0, done in 4 to 8. Done is then in the array in
    9, in the two adders in 10 and 11, and with the writer in 12, the 13th; a union of three sends it in 6.
    """
    graph = graph_from_text(THREE)
    units = {name: np.eye(3)[row] for row, name in enumerate("bcd")}
    report = run(graph, units, {"timing": "sam"})
    assert report.verification.passed
    assert report.cycles == 13
    assert graph.counts()["union"] == 1  # what was given stays


@given(seed=st.integers(0, 2**32))
def test_a_chain_of_unions_sends_what_the_union_of_all_does(seed: int) -> None:
    graph = graph_from_text(THREE)
    chain = chain_unions(graph)
    assert chain.counts()["union"] == 3
    assert list_expressions(chain) == list_expressions(graph)
    tensors = {name: drawn((7,), seed + row) for row, name in enumerate("bcd")}
    whole, chained = (run(one, tensors, {"depth": 0}) for one in (graph, chain))
    assert chained.verification.passed
    assert 0 <= chained.cycles - whole.cycles <= 2


OUTER_PRODUCTS = """digraph SAM {{
  comment="X=ss01,B=ss01,C=ss01"
  Bi [type=fiberlookup index=i tensor=B mode=0 root=true] gi [type=repsiggen index=i]
  rC [type=repeat index=i tensor=C root=true] Ck [type=fiberlookup index=k tensor=C mode=0]
  Bk [type=fiberlookup index=k tensor=B mode=1] k [type=intersect index=k] gj [type=repsiggen index=j]
  Cj [type=fiberlookup index=j tensor=C mode=1] rB [type=repeat index=j tensor=B] vB [type=arrayvals tensor=B]
  vC [type=arrayvals tensor=C] mul [type=mul] sum [{reducer}] wi [type=fiberwrite index=i tensor=X mode=0]
  wj [type=fiberwrite index=j tensor=X mode=1] w [type=fiberwrite tensor=X mode=vals]
  ij [type=crddrop outer=i inner=j]
  Bi -> gi [type={signal}] gi -> rC [type=repsig] rC -> Ck [type=ref] Bi -> Bk [type=ref]
  Bk -> k [type=crd comment="in-B"] Bk -> k [type=ref comment="in-B"]
  Ck -> k [type=crd comment="in-C"] Ck -> k [type=ref comment="in-C"]
  k -> rB [type=ref comment="out-B"] k -> Cj [type=ref comment="out-C"] Cj -> gj [type=crd]
  gj -> rB [type=repsig] rB -> vB [type=ref] Cj -> vC [type=ref] vB -> mul [type=val] vC -> mul [type=val]
  {edges} mul -> sum [type=val] sum -> ij [type=crd comment="in-j"] Bi -> ij [type=crd comment="in-i"]
  ij -> wi [type=crd comment="outer-i"] ij -> wj [type=crd comment="inner-j"] sum -> w [type=val]
}}"""
REDUCERS = {
    "vectorreducer": ("type=vectorreducer accum_index=j", 'Cj -> sum [type=crd comment="j"]', "ref"),
    "spaccumulator": (
        "type=spaccumulator order=1 in0=j in1=i",
        'k -> sum [type=crd comment="k"] Cj -> sum [type=crd comment="in_j-C"]',
        "crd",
    ),
}


@pytest.mark.parametrize("kind", REDUCERS)
@given(seed=st.integers(0, 2**32), timing=st.sampled_from(["machine", "sam"]))
def test_the_fibers_of_a_list_are_added_up_without_outer_coordinates(
    kind: str, seed: int, timing: str
) -> None:
    reducer, edges, signal = REDUCERS[kind]
    graph = graph_from_text(OUTER_PRODUCTS.format(reducer=reducer, edges=edges, signal=signal))
    assert [str(one) for one in list_expressions(graph)] == ["X(i,j) = sum[k] (B(i,k) * C(k,j))"]
    assert len(graph.notes) == (1 if kind == "vectorreducer" else 2)
    report = run(graph, {"B": drawn((5, 6), seed), "C": drawn((6, 4), seed + 1)}, {"timing": timing})
    assert report.verification.passed
    assert graph_from_text(gv_text(graph)) == graph


def test_a_list_of_fibers_is_two_loops() -> None:
    graph = Graph({"x": "s0", "b": "s0"})
    scanner = graph.add("fiberlookup", index="i", tensor="b", mode=0, root=True)
    array, reducer = graph.add("arrayvals", tensor="b"), graph.add("vectorreducer")
    graph.connect(scanner, "ref", array, "ref")
    graph.connect(scanner, "crd", reducer, "crd")
    graph.connect(array, "val", reducer, "val")
    graph.connect(reducer, "val", graph.add("fiberwrite", tensor="x", mode="vals"), "val")
    with pytest.raises(InputError, match=r"\(node 2\) has no list of fibers to add up: its values are one"):
        check(graph)
