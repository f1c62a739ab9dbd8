"""The rows of the table of the Sparse Abstract Machine, counted by its rules."""

from itertools import permutations

import pytest

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.models.graphs.compiler.counts import count_primitives
from fiberscope.models.graphs.compiler.front_end import build_text_notation
from fiberscope.models.graphs.compiler.kernels import KERNELS
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.sums import accesses

COLUMNS = ("scan", "repeat", "intersect", "union", "alu", "reduce", "drop", "write", "array")
TABLE = [  # Table 1 of the paper, row by row, with the formats and the order that it is of
    ("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:s", "ij", (3, 1, 1, 0, 1, 1, 1, 2, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss:10", "ijk", (4, 2, 1, 0, 1, 1, 2, 3, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss,C:ss:10", "jik", (4, 2, 1, 0, 1, 1, 2, 3, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", "ikj", (4, 2, 1, 0, 1, 1, 1, 3, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss:10,C:ss:10", "jki", (4, 2, 1, 0, 1, 1, 1, 3, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss:10,C:ss", "kij", (4, 2, 1, 0, 1, 1, 0, 3, 2)),
    ("X(i,j) = B(i,k) * C(k,j)", "X:ss:10,B:ss:10,C:ss", "kji", (4, 2, 1, 0, 1, 1, 0, 3, 2)),
    ("X(i,j) = B(i,j) * C(i,k) * D(j,k)", "X:ss,B:ss,C:ss,D:ss", "ijk", (6, 3, 3, 0, 2, 1, 2, 3, 3)),
    ("x = B(i,j,k) * C(i,j,k)", "B:sss,C:sss", "ijk", (6, 0, 3, 0, 1, 3, 0, 1, 2)),
    ("X(i,j) = B(i,j,k) * c(k)", "X:ss,B:sss,c:s", "ijk", (4, 2, 1, 0, 1, 1, 2, 3, 2)),
    ("X(i,j,k) = B(i,j,l) * C(k,l)", "X:sss,B:sss,C:ss", "ijkl", (5, 3, 1, 0, 1, 1, 3, 4, 2)),
    ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "X:ss,B:sss,C:ss,D:ss", "ijkl", (7, 5, 3, 0, 2, 2, 3, 3, 3)),
    ("x(i) = b(i) - C(i,j) * d(j)", "x:s,b:s,C:ss,d:s", "ij", (4, 1, 1, 1, 2, 1, 1, 2, 3)),
    ("x(i) = a * B(j,i) * c(j) + e * d(i)", "x:s,B:ss:10,c:s,d:s", "ij", (4, 4, 1, 1, 4, 1, 1, 2, 5)),
    ("X(i,j) = B(i,j) + C(i,j)", "X:ss,B:ss,C:ss", "ij", (4, 0, 0, 2, 1, 0, 0, 3, 2)),
    ("X(i,j) = B(i,j) + C(i,j) + D(i,j)", "X:ss,B:ss,C:ss,D:ss", "ij", (6, 0, 0, 2, 2, 0, 0, 3, 3)),
    ("X(i,j,k) = B(i,j,k) + C(i,j,k)", "X:sss,B:sss,C:sss", "ijk", (6, 0, 0, 3, 1, 0, 0, 4, 2)),
]


@pytest.mark.parametrize(("text", "formats", "order", "counts"), TABLE)
def test_the_rules_give_the_published_table(text, formats, order, counts):
    assert count_primitives(build_text_notation(text, [formats], order)) == dict(
        zip(COLUMNS, counts, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "intersections", "unions"),
    [
        ("x(i) = (b(i) + c(i)) * d(i)", 1, 1),
        ("x(i) = b(i) * c(i) + d(i)", 1, 1),
        ("x(i) = b(i) * c(i) * d(i) / e(i)", 1, 0),
        ("x(i) = b(i) + -(c(i) - d(i))", 0, 1),
        ("x(i) = B(i,j) * c(j) + D(i,j) * e(j)", 2, 1),
    ],
)
def test_what_is_joined_in_several_ways_has_a_joiner_for_each(text, intersections, unions):
    counts = count_primitives(build_text_notation(text))
    assert (counts["intersect"], counts["union"]) == (intersections, unions)


BLOCKS = {  # of a graph, by the column of the table that counts them
    "scan": ("fiberlookup",),
    "repeat": ("repeat",),
    "intersect": ("intersect",),
    "union": ("union",),
    "alu": ("mul", "add"),
    "write": ("fiberwrite",),
    "array": ("arrayvals",),
}


def stored_for(text, order):
    """Formats of all tensors, compressed, in which this order goes through them."""
    assignment = parse(text)
    formats = {}
    for access in (assignment.result, *accesses(assignment.expression)):
        levels = sorted(range(len(access.variables)), key=lambda d, a=access: order.index(a.variables[d]))
        formats[access.tensor] = f"{access.tensor}:{'s' * len(levels)}:{''.join(map(str, levels))}"
    return [stored.removesuffix(":") for stored in formats.values() if "s" in stored]


CASES = [
    pytest.param(kernel, order, id=f"{kernel.name}-{''.join(order)}")
    for kernel in KERNELS
    for order in permutations(build_text_notation(kernel.text, [kernel.formats]).order)
]


@pytest.mark.parametrize(("kernel", "order"), CASES)
def test_the_graph_has_what_the_rules_count_in_every_order(kernel, order):
    """All but reducers and droppers, for the reasons that the page gives."""
    formats = stored_for(kernel.text, order)
    if kernel.name in ("Residual", "MatTransMul") and order == ("j", "i"):
        with pytest.raises(InputError, match="the sum over j is one of several terms"):
            compile_expression(kernel.text, formats, order)
        return
    compiled = compile_expression(kernel.text, formats, order)
    blocks, counts = compiled.graph.counts(), compiled.counts
    found = {column: sum(blocks[type] for type in types) for column, types in BLOCKS.items()}
    assert found == {column: counts[column] for column in BLOCKS}
    accumulators = blocks["spaccumulator"] + blocks["accumulate"]
    summed = [v for v in order if v not in compiled.notations[0].result.variables]
    innermost = tuple(summed) == order[len(order) - len(summed) :]
    assert blocks["reduce"] == counts["reduce"] if innermost else accumulators == 1
    assert blocks["crddrop"] <= counts["drop"]
    if innermost and not counts["union"]:
        assert blocks["crddrop"] == counts["drop"]
