"""Graph files in which any edges of a joiner or an ALU name their ports, and the others do not."""

from itertools import combinations

import pytest

from fiberscope.models.graphs.gv_reader import graph_from_text

UNION = """digraph SAM {
    comment="x=s0,b=s0,c=s0"
    0 [type="fiberlookup" index="i" tensor="b" mode="0" root="true"]
    1 [type="fiberlookup" index="i" tensor="c" mode="0" root="true"]
    2 [type="union" index="i"]
    3 [type="arrayvals" tensor="b"]
    4 [type="arrayvals" tensor="c"]
    5 [type="add" sub="1"]
    6 [type="fiberwrite" index="i" tensor="x" mode="0"]
    7 [type="fiberwrite" tensor="x" mode="vals"]
    0 -> 2 [type="crd" comment="in-b"]
    0 -> 2 [type="ref" comment="in-b"]
    1 -> 2 [type="crd" comment="in-c"]
    1 -> 2 [type="ref" comment="in-c"]
    2 -> 3 [type="ref" comment="out-b"]
    2 -> 4 [type="ref" comment="out-c"]
    3 -> 5 [type="val"]
    4 -> 5 [type="val"]
    2 -> 6 [type="crd"]
    5 -> 7 [type="val"]
}"""
NAMED = {
    '0 -> 2 [type="crd" comment="in-b"]': '0 -> 2 [type="crd" to="crd[0]"]',
    '0 -> 2 [type="ref" comment="in-b"]': '0 -> 2 [type="ref" to="ref[0]"]',
    '1 -> 2 [type="crd" comment="in-c"]': '1 -> 2 [type="crd" to="crd[1]"]',
    '1 -> 2 [type="ref" comment="in-c"]': '1 -> 2 [type="ref" to="ref[1]"]',
    '2 -> 3 [type="ref" comment="out-b"]': '2 -> 3 [type="ref" from="ref[0]"]',
    '2 -> 4 [type="ref" comment="out-c"]': '2 -> 4 [type="ref" from="ref[1]"]',
    '3 -> 5 [type="val"]': '3 -> 5 [type="val" to="val[0]"]',
    '4 -> 5 [type="val"]': '4 -> 5 [type="val" to="val[1]"]',
}


@pytest.mark.parametrize("size", range(1, len(NAMED) + 1))
def test_any_edges_may_name_their_ports(size: int) -> None:
    expected = graph_from_text(UNION).streams
    for edges in combinations(NAMED, size):
        text = UNION
        for edge in edges:
            assert edge in text
            text = text.replace(edge, NAMED[edge])
        assert graph_from_text(text).streams == expected, edges


def test_an_operand_that_names_the_first_ports_leaves_the_second_to_the_other() -> None:
    text = UNION
    for edge in ('1 -> 2 [type="crd" comment="in-c"]', '1 -> 2 [type="ref" comment="in-c"]'):
        text = text.replace(edge, NAMED[edge].replace("[1]", "[0]"))
    ports = {
        (stream.source, stream.input) for stream in graph_from_text(text).streams if stream.target == "2"
    }
    first, second = ({source for source, port in ports if port.endswith(end)} for end in ("[0]", "[1]"))
    assert (first, second) == ({"1"}, {"0"})
