"""Graph files: those of the public compiler, the examples, what others get wrong, and what is refused."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line
from streams.public_graphs import compiled, public_text

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import Graph, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.gv_reader import graph_from_text, read_gv
from fiberscope.models.graphs.gv_writer import gv_text, write_gv
from fiberscope.models.graphs.nests import derive_nests, drops_empty_fibers
from fiberscope.results.errors import VerificationError

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "graphs").glob("*.gv"))
MEANT = {
    "x(i)=b(i)*c(i)+d(i)*e(i)": "x(i) = (b(i) * c(i)) + (d(i) * e(i))",
    "X(i,j)=B(i,k)*C(j,k)": "X(i,j) = sum[k] (B(i,k) * C(j,k))",
    "X(i,j)=B(i,j)*c(i)*d(j)": "X(i,j) = (c(i) * B(i,j)) * d(j)",
    "X(i,j,k)=B(i,j)*C(j,k)": "X(i,j,k) = B(i,j) * C(j,k)",
    "x=B(i,j)*c(j)*d(i)": "x = sum[i] (sum[j] (d(i) * (B(i,j) * c(j))))",
}
VECTORS = """
digraph SAM {
  comment="x=s0,b=s0,c=s0"
  5 [type="fiberlookup" index="i" tensor="b" mode="0" format="compressed" src="true" root="true"]
  6 [type="fiberlookup" index="i" tensor="c" mode="0" format="compressed" src="true" root="true"]
  4 [type="intersect" index="i"]
  1 [type="fiberwrite" index="i" tensor="x" mode="0" format="compressed" segsize="2" sink="true"]
  2 [type="mul"]  3 [type="arrayvals" tensor="b"]  7 [type="arrayvals" tensor="c"]
  0 [type="fiberwrite" tensor="x" mode="vals" size="1*b0_dim" sink="true"]
  5 -> 4 [type="crd" comment="in-b"]  5 -> 4 [type="ref" comment="in-b"]
  6 -> 4 [type="crd" comment="in-c"]  6 -> 4 [type="ref" comment="in-c"]
  4 -> 1 [type="crd" comment="i"]  4 -> 3 [type="ref" comment="out-b"]  4 -> 7 [type="ref" comment="out-c"]
  3 -> 2 [type="val"]  7 -> 2 [type="val"]  2 -> 0 [type="val"]
}
"""


@pytest.mark.parametrize("expression", MEANT)
def test_graphs_of_the_public_compiler_are_read(expression: str) -> None:
    case = compiled()[expression]
    graph = graph_from_text(public_text(case))
    check(graph)
    counts = Counter(case["node_counts"])
    counts.pop("broadcast", None)
    assert graph.counts() == counts
    assert [str(one) for one in list_expressions(graph)] == [MEANT[expression]]
    assert graph.notes == []


FORMS = {
    "a byte order mark": lambda text: "\ufeff" + text.lstrip(),
    "a chain of edges": lambda text: text.replace(
        '7 -> 2 [type="val"]  2 -> 0 [type="val"]', '7 -> 2 -> 0 [type="val"]'
    ),
    "a subgraph with settings of its picture": lambda text: text.replace(
        '4 [type="intersect" index="i"]',
        'subgraph a { label="joined"; comment="x=s9"; node [shape=box] 4 [type="intersect" index="i"] }',
    ),
    "a subgraph without a name": lambda text: text.replace(
        '2 [type="mul"]', '{ rank=same; 2 [type="mul"]; 3; 7 }'
    ),
    "edges within a subgraph": lambda text: text.replace(
        '2 -> 0 [type="val"]', 'subgraph s { subgraph { 2 -> 0 [type="val"] } }'
    ),
    "a subgraph as the end of an edge": lambda text: text.replace(
        '3 -> 2 [type="val"]  7 -> 2 [type="val"]', '{ 3 7 } -> subgraph { 2 } [type="val"]'
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_dot_that_mean_the_same_graph(form: str) -> None:
    text = FORMS[form](VECTORS)
    assert text != VECTORS
    graph, expected = graph_from_text(text), graph_from_text(VECTORS)
    check(graph)
    assert list_expressions(graph) == list_expressions(expected)
    assert graph.counts() == expected.counts()
    assert sorted(gv_text(graph).splitlines()) == sorted(gv_text(expected).splitlines())


@pytest.mark.parametrize("text", ["digraph { subgraph x }", "digraph { subgraph { 1", "digraph { { 1 } [a=b"])
def test_a_subgraph_that_does_not_end_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError, match=r"graph:1:?"):
        graph_from_text(text)


@pytest.mark.parametrize("expression", MEANT)
def test_what_is_written_reads_as_the_same_graph(expression: str) -> None:
    graph = graph_from_text(public_text(compiled()[expression]))
    assert graph_from_text(gv_text(graph)) == graph


def joined_at_random(seed: int) -> Graph:
    """Return scanners of few tensors, joiners of any of their streams, and arrays; streams in any order."""
    draws, graph = random.Random(seed), Graph({"x": "s", "b": "s", "c": "s"})
    crds, refs = [], []
    for tensor in draws.choices("bc", k=draws.randrange(2, 5)):
        scanner = graph.add("fiberlookup", index="i", tensor=tensor, mode=0, root=True)
        crds.append((scanner, "crd"))
        refs.append((scanner, "ref"))
    for _joiner in range(draws.randrange(1, 6)):
        joiner = graph.add(draws.choice(("intersect", "union")), index="i")
        operands = draws.choice((2, 2, 3))
        for number in range(operands):
            graph.connect(*draws.choice(crds), joiner, f"crd[{number}]")
            graph.connect(*draws.choice(refs), joiner, f"ref[{number}]")
        crds.append((joiner, "crd"))
        refs += [(joiner, f"ref[{number}]") for number in range(operands)]
    for ref in draws.sample(refs, len(refs) // 2):
        tensor = graph.find_tensor_at(graph.connect(*ref, graph.add("repeat", index="j", tensor="b"), "ref"))
        graph.connect(*ref, graph.add("arrayvals", tensor=tensor), "ref")
    draws.shuffle(graph.streams)
    return graph


def test_joiners_of_any_streams_read_as_they_are_written() -> None:
    for seed in range(300):
        graph = joined_at_random(seed)
        assert graph_from_text(gv_text(graph)) == graph, seed


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_are_sound_and_stand_as_they_would_be_written(file: Path, tmp_path: Path) -> None:
    graph = read_gv(file)
    check(graph)
    assert list_expressions(graph)
    write_gv(graph, tmp_path / file.name)
    assert (tmp_path / file.name).read_text() == file.read_text()


def test_there_are_all_examples() -> None:
    assert len(EXAMPLES) == 21


TOLERATED = {
    "a node that is declared twice": ('2 [type="mul"]', '2 [type="mul"] 2 [label="again"]'),
    "no comment where a writer is fed": ('4 -> 1 [type="crd" comment="i"]', "4->1[type=crd]"),
    "no comment behind a joiner": ('4 -> 3 [type="ref" comment="out-b"]', '4 -> 3 [type="ref"]'),
    "an empty port of a joiner": ('comment="in-b"]', 'comment="in-b" to="" from=""]'),
    "an empty port of an ALU": ('3 -> 2 [type="val"]', '3 -> 2 [type="val" to=""]'),
    "misspelt comments": ('5 -> 4 [type="crd" comment="in-b"]', '5 -> 4 [type="crd" comment="in_i-b"]'),
    "another separator": ('4 -> 7 [type="ref" comment="out-c"]', '4 -> 7 [type="ref" comment="outt_c"]'),
    "a label over lines": ('2 [type="mul"]', '2 [type="mul" label="Mul\n2"]'),
    "a bare value": ('2 [type="mul"]', "2 [type=mul];"),
    "commas and semicolons": ('4 [type="intersect" index="i"]', '4 [type="intersect", index="i"];'),
    "comments of the language": ('2 [type="mul"]', '// a\n2 /* b */ [type="mul"] # c\n'),
    "a type in the comment alone": ('2 [type="mul"]', '2 [comment="type=mul"]'),
    "an edge twice": ('2 -> 0 [type="val"]', '2 -> 0 [type="val"] 2 -> 0 [type="val"]'),
    "a broadcast": (
        '4 -> 1 [type="crd" comment="i"]',
        '8 [shape=point style=invis] 4 -> 8 [type="crd" comment="i"] 8 -> 1 [type="crd"]',
    ),
    "defaults of the drawing": ('2 [type="mul"]', 'node [shape=box] 2 [type="mul"]'),
    "a root in quotes or not": ('root="true"', "root=true"),
}


@pytest.mark.parametrize("what", TOLERATED)
def test_what_others_write_is_taken(what: str) -> None:
    before, after = TOLERATED[what]
    assert before in VECTORS
    assert graph_from_text(VECTORS.replace(before, after)).streams == graph_from_text(VECTORS).streams


REFUSED = {
    "not a graph": ("digraph SAM {", "graph SAM {", "g.gv:2:1: cannot read 'graph'; a graph file is"),
    "an end too early": ("}", "", "g.gv:15: the file ends within the graph; it should end with }"),
    "no such type": (
        '2 [type="mul"]',
        '2 [type="mull"]',
        "g.gv:8:3: node 2 has no type mull; did you mean mul or fp_mul?",
    ),
    "no type": ('2 [type="mul"]', "2 [a=b]", "g.gv:8:3: node 2 has no type at all; give it one"),
    "no such node": ('2 -> 0 [type="val"]', '2 -> 9 [type="val"]', "edge 2 -> 9: there is no node 9"),
    "no such stream": ('2 -> 0 [type="val"]', '2 -> 0 [type="vals"]', "no type vals; did you mean val?"),
    "no such tensor": ("out-c", "out-d", "intersect i (node 4) does not join d; it joins b, c"),
    "an attribute missing": ('tensor="c" mode="0"', 'tensor="c"', "node 6): mode is missing; a fiberlookup"),
    "no such format": ("c=s0", "c=x0", "g.gv: comment: c: x0 is no format"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(what: str) -> None:
    before, after, message = REFUSED[what]
    with one_line(InputError, message):
        graph_from_text(VECTORS.replace(before, after), "g.gv")


def test_all_faults_are_told_at_once() -> None:
    text = VECTORS.replace('2 -> 0 [type="val"]', "").replace('7 -> 2 [type="val"]', '5 -> 2 [type="crd"]')
    with pytest.raises(InputError) as refused:
        check(graph_from_text(text, "g.gv"), ["b", "d"])
    assert str(refused.value) == (
        "4 faults: g.gv:9:3: fiberwrite x vals (node 0): nothing is connected to val; "
        "g.gv:13:24: edge 5 -> 2: mul (node 2) takes val at val[1], not crd; "
        "tensor c is not given; give c=FILE; the graph reads no tensor d; it reads b, c"
    )


def test_a_node_that_cannot_be_read_hides_no_fault_of_edges() -> None:
    text = VECTORS.replace('[type="mul"]', '[type="mull"]').replace(
        '4 -> 1 [type="crd"', '4 -> 9 [type="crds"'
    )
    with pytest.raises(InputError) as refused:
        graph_from_text(text, "g.gv")
    assert str(refused.value).startswith("3 faults: g.gv:8:3: node 2 has no type mull")
    assert "there is no node 9" in str(refused.value)
    assert "has no type crds" in str(refused.value)


def test_streams_that_meet_must_be_as_deep() -> None:
    text = """digraph SAM {
      1 [type=fiberlookup index=i tensor=B mode=0 root=true] 2 [type=fiberlookup index=j tensor=B mode=1]
      3 [type=fiberlookup index=j tensor=c mode=0 root=true] 4 [type=intersect index=j]
      5 [type=arrayvals tensor=B] 6 [type=fiberwrite tensor=x mode=vals]
      1 -> 2 [type=ref] 2 -> 4 [type=crd] 2 -> 4 [type=ref] 3 -> 4 [type=crd] 3 -> 4 [type=ref]
      4 -> 5 [type=ref comment="out-B"] 5 -> 6 [type=val]
    }"""
    with pytest.raises(InputError) as refused:
        check(graph_from_text(text, "g.gv"))
    assert str(refused.value) == (
        "g.gv:3:62: intersect j (node 4): its input streams must have equal depths (crd[0]: loops i,j, "
        "crd[1]: loops j, ref[0]: loops i,j, ref[1]: loops j)"
    )


SUMMED = """digraph SAM {
  comment="x=s0,B=ds01"
  1 [type=fiberlookup index=i tensor=B mode=0 root=true format=dense]
  2 [type=fiberlookup index=j tensor=B mode=1] 3 [type=arrayvals tensor=B] 4 [type=reduce empty=drop]
  5 [type=crddrop outer=i inner=j]
  6 [type=fiberwrite index=i tensor=x mode=0] 7 [type=fiberwrite tensor=x mode=vals]
  1 -> 2 [type=ref] 2 -> 3 [type=ref] 3 -> 4 [type=val] 4 -> 7 [type=val] 1 -> 4 [type=crd to=crd]
  1 -> 5 [type=crd comment="outer-i"] 2 -> 5 [type=crd comment="inner-j"] 5 -> 6 [type=crd comment="outer-i"]
}"""


def test_a_reducer_that_reads_coordinates_drops_no_sum() -> None:
    with pytest.raises(InputError, match=r"reduce \(node 4\) .* keeps the sum of an empty fiber; leave out"):
        check(graph_from_text(SUMMED, "g.gv"))
    text = SUMMED.replace(" empty=drop", "")
    for graph, drops in (
        (graph_from_text(text), False),
        (graph_from_text(text.replace("1 -> 4 [type=crd to=crd]", "")), True),
    ):
        check(graph)
        assert drops_empty_fibers(graph, derive_nests(graph), graph.nodes["4"]) is drops


def test_a_sum_whose_coordinate_is_dropped_is_wrong() -> None:
    """In the values of a machine, the sum stands where the value of the next coordinate should."""
    operands = {"B": np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 0.0], [0.0, 0.0]])}

    def graph_with(empty: str) -> Graph:
        text = SUMMED.replace("1 -> 4 [type=crd to=crd]", "")
        return graph_from_text(text.replace("empty=drop", f"empty={empty}"))

    for empty in ("drop", "mark"):
        assert run(graph_with(empty), operands).verification.passed
    assert run(graph_with("keep"), operands, {"timing": "sam"}).verification.passed
    with pytest.raises(VerificationError, match="2 too many"):
        run(graph_with("keep"), operands)


def test_streams_that_go_in_a_circle_are_refused() -> None:
    text = VECTORS.replace('7 -> 2 [type="val"]', '2 -> 2 [type="val"]')
    with pytest.raises(InputError, match=r"the streams form a cycle through mul \(node 2\)"):
        check(graph_from_text(text, "g.gv"))


ACCUMULATED = """digraph SAM {
  comment="X=ss01,B=ss01,C=ss01"
  1 [type=fiberlookup index=i tensor=B mode=0 root=true] 2 [type=fiberlookup index=k tensor=B mode=1]
  3 [type=repsiggen index=i] 4 [type=repeat index=i tensor=C root=true]
  5 [type=fiberlookup index=k tensor=C mode=0] 6 [type=intersect index=k]
  7 [type=fiberlookup index=j tensor=C mode=1] 8 [type=repsiggen index=j] 9 [type=repeat index=j tensor=B]
  10 [type=arrayvals tensor=B] 11 [type=arrayvals tensor=C] 12 [type=mul] 13 [type=reduce]
  14 [type=spaccumulator order=1 in0=j in1=i label="SparseAccumulator 1
0=j 1=i"] 15 [type=crdhold outer=i inner=j] 16 [type=crdhold outer=i inner=k]
  17 [type=fiberwrite index=i tensor=X mode=0] 18 [type=fiberwrite index=j tensor=X mode=1]
  19 [type=fiberwrite tensor=X mode=vals] 20 [shape=point style=invis type=broadcast]
  21 [shape=point style=invis type=broadcast]
  1 -> 20 [type=crd] 20 -> 3 [type=crd] 20 -> 16 [type=crd comment="i"] 3 -> 4 [type=repsig]
  4 -> 5 [type=ref] 1 -> 2 [type=ref] 2 -> 6 [type=crd comment="in-B"] 2 -> 6 [type=ref comment="in-B"]
  5 -> 6 [type=crd comment="in-C"] 5 -> 6 [type=ref comment="in-C"] 6 -> 16 [type=crd comment="in-k"]
  6 -> 7 [type=ref comment="out-C"] 6 -> 9 [type=ref comment="out-B"] 7 -> 21 [type=crd]
  21 -> 8 [type=crd] 21 -> 15 [type=crd comment="j"] 8 -> 9 [type=repsig] 9 -> 10 [type=ref]
  7 -> 11 [type=ref] 10 -> 12 [type=val] 11 -> 12 [type=val] 12 -> 13 [type=val] 13 -> 14 [type=val]
  16 -> 15 [type=crd comment="outer-i"] 16 -> 14 [type=crd comment="inner-k"]
  15 -> 14 [type=crd comment="outer-i"] 15 -> 14 [type=crd comment="inner-j"]
  14 -> 17 [type=crd comment="out-i"] 14 -> 18 [type=crd comment="out-j"] 14 -> 19 [type=val]
}"""


def test_what_the_public_compiler_gets_wrong_at_accumulators_is_put_right() -> None:
    graph = graph_from_text(ACCUMULATED, "g.gv")
    check(graph)
    assert graph.notes == [
        "edge 16 -> 14 ignored: it has no meaning for its block",
        "reduce (node 13) removed: the accumulator after it sums, and needs every value",
    ]
    assert [str(one) for one in list_expressions(graph)] == ["X(i,j) = sum[k] (B(i,k) * C(k,j))"]
    b, c = np.array([[1.0, 2, 0], [0, 0, 3]]), np.array([[0.0, 4], [5, 0], [6, 7]])
    for timing in ("sam", "machine"):
        report = run(graph, {"B": b, "C": c}, {"timing": timing})
        assert report.verification.passed
        example = run(EXAMPLES[0].parent / "fig12_ikj.gv", {"B": b, "C": c}, {"timing": timing})
        assert report.cycles == example.cycles  # the same blocks, found by other edges


RECTIFIED = """digraph SAM {
  comment="X=ss01,B=ss01,C=ss10"
  1 [type=fiberlookup index=i tensor=B mode=0 root=true] 2 [shape=point style=invis type=broadcast]
  3 [type=repsiggen index=i] 4 [type=repeat index=i tensor=C root=true]
  5 [type=fiberlookup index=j tensor=C mode=1] 6 [shape=point style=invis type=broadcast]
  7 [type=repsiggen index=j] 8 [type=repeat index=j tensor=B] 9 [type=fiberlookup index=k tensor=B mode=1]
  10 [type=fiberlookup index=k tensor=C mode=0] 11 [type=intersect index=k] 12 [type=arrayvals tensor=B]
  13 [type=arrayvals tensor=C] 14 [type=mul] 15 [type=reduce] 16 [type="smax", const0="0"]
  17 [type=crddrop outer=j inner=val mode=0] 18 [type=crddrop outer=i inner=j]
  19 [type=fiberwrite index=i tensor=X mode=0] 20 [type=fiberwrite index=j tensor=X mode=1]
  21 [type=fiberwrite tensor=X mode=vals]
  1 -> 2 [type=crd] 2 -> 3 [type=crd] 3 -> 4 [type=repsig] 4 -> 5 [type=ref] 5 -> 6 [type=crd]
  6 -> 7 [type=crd] 7 -> 8 [type=repsig] 1 -> 8 [type=ref] 8 -> 9 [type=ref] 5 -> 10 [type=ref]
  9 -> 11 [type=crd comment="in-B"] 9 -> 11 [type=ref comment="in-B"] 10 -> 11 [type=crd comment="in-C"]
  10 -> 11 [type=ref comment="in-C"] 11 -> 12 [type=ref comment="out-B"] 11 -> 13 [type=ref comment="out-C"]
  12 -> 14 [type=val] 13 -> 14 [type=val] 14 -> 15 [type=val] 15 -> 16 [type=val comment="val"]
  6 -> 17 [type=crd comment="outer-j"] 16 -> 17 [type=val comment="innner-val"]
  17 -> 18 [label="crd_inner-j" type=crd comment="outer-j"] 2 -> 18 [type=crd comment="outer-i"]
  17 -> 21 [type=val comment="inner-val"] 18 -> 19 [type=crd comment="outer-i"]
  18 -> 20 [type=crd comment="inner-j"]
}"""


@pytest.mark.parametrize("timing", ["sam", "machine"])
def test_a_dropper_beside_values_drops_the_zeros(timing: str) -> None:
    """Explicit zeros too, of fibers that are empty: only coordinates of their own dropper take sums away."""
    graph = graph_from_text(RECTIFIED, "g.gv")
    b, c = np.array([[1.0, -2, 0], [0, 0, -3], [0, 4, 0]]), np.array([[0.0, 4], [5, 0], [6, 7]])
    report = run(graph, {"B": b, "C": c}, {"timing": timing})
    assert report.verification.passed
    dropper = next(name for name in report.components if "crddrop" in name and "val" in name)
    assert report.components[dropper].counters["dropped"] == np.count_nonzero(np.maximum(b @ c, 0) == 0)


@pytest.mark.parametrize("timing", ["sam", "machine"])
def test_a_dense_vector_is_compressed_by_a_value_dropper(timing: str) -> None:
    text = """digraph SAM { comment="x=s0,b=d0"
      1 [type=fiberlookup index=i tensor=b mode=0 format=dense root=true] 2 [type=arrayvals tensor=b]
      3 [type=crddrop outer=i inner=vals vals=true] 4 [type=fiberwrite index=i tensor=x mode=0]
      5 [type=fiberwrite tensor=x mode=vals] 1 -> 3 [type=crd comment="in-i"] 1 -> 2 [type=ref]
      2 -> 3 [type=val comment="in-vals"] 3 -> 4 [type=crd comment="outer-i"]
      3 -> 5 [type=val comment="inner-vals"]
    }"""
    report = run(graph_from_text(text, "g.gv"), {"b": np.array([0.0, 2, 0, 0, 5])}, {"timing": timing})
    assert report.verification.passed
    assert (
        report.cycles == 5 + 2 + 3
    )  # a token a cycle, and scanner, array, dropper and writer behind another


@pytest.mark.parametrize("timing", ["sam", "machine"])
@pytest.mark.parametrize(
    ("alu", "meant"), [("mul in2=3", "b(i) * 3"), ("smax const0=0", "max(b(i), 0)"), ("fp_exp", "exp(b(i))")]
)
def test_alus_of_one_stream(alu: str, meant: str, timing: str) -> None:
    text = f"""digraph SAM {{ comment="x=s0,b=s0"
      1 [type=fiberlookup index=i tensor=b mode=0 root=true] 2 [type=arrayvals tensor=b] 3 [type={alu}]
      4 [type=fiberwrite index=i tensor=x mode=0] 5 [type=fiberwrite tensor=x mode=vals]
      1 -> 2 [type=ref] 1 -> 4 [type=crd] 2 -> 3 [type=val] 3 -> 5 [type=val]
    }}"""
    graph = graph_from_text(text, "g.gv")
    assert [str(one) for one in list_expressions(graph)] == [f"x(i) = {meant}"]
    report = run(graph, {"b": np.array([0.0, 2, 0, -1.5])}, {"timing": timing})
    assert report.verification.passed
    assert report.operations[next(iter(set(report.operations) - {"multiply"} or ["multiply"]))] == 2


@pytest.mark.parametrize("opening", ["{", "subgraph {", "subgraph a { b -> {"])
def test_subgraphs_too_deep_within_each_other_are_refused(opening: str) -> None:
    with pytest.raises(InputError, match=r"graph:1:\d+: more than 100 subgraphs lie within each other"):
        graph_from_text("digraph SAM {" + opening * 5000 + "}" * 5000)


def test_of_many_faults_the_first_are_shown() -> None:
    nodes = "\n".join(f'{number} [type="mul"]' for number in range(2000))
    with pytest.raises(InputError, match=r"4001 faults: .*; and 3981 more$") as refused:
        check(graph_from_text(f"digraph SAM {{\n{nodes}\n}}"))
    assert len(str(refused.value)) < 5000
