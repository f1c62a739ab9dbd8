"""Count the primitives of an expression by the rules of SAM's Table 1.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Table 1, whose rows these rules reproduce.
The rules do not count repeat signal generators, accumulators and holds. A joiner of three operands counts as
one. The table also counts droppers below a unioner, where a graph must not drop.
"""

from __future__ import annotations

from collections import Counter

from fiberscope.models.graphs.compiler.notation import Notation
from fiberscope.models.graphs.compiler.sums import is_addition
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Sum, iterate_subexpressions

NOTHING, SCAN, INTERSECT, UNION = "nothing", "scan", "intersect", "union"


def count_primitives(notation: Notation) -> dict[str, int]:
    """Return the columns of the table: scan, repeat, intersect, union, alu, reduce, drop, write, array."""
    joiners = {variable: _count_joiners(notation.expression, variable)[1] for variable in notation.order}
    total = sum(joiners.values(), Counter[str]())
    nodes = list(iterate_subexpressions(notation.expression))
    return {
        "scan": sum(len(path.variables) for path in notation.operands),
        "repeat": sum(len(path.broadcast) for path in notation.operands),
        "intersect": total[INTERSECT],
        "union": total[UNION],
        "alu": sum(isinstance(node, Call) for node in nodes),
        "reduce": sum(len(node.variables) for node in nodes if isinstance(node, Sum)),
        "drop": _count_droppers(notation, {v for v, counts in joiners.items() if counts[INTERSECT]}),
        "write": len(notation.result.variables) + 1,
        "array": len(notation.operands),
    }


def _count_droppers(notation: Notation, intersected: set[str]) -> int:
    """Return the number of loops inside a loop of the result with an intersection at or inside them."""
    order, result_variables = notation.order, set(notation.result.variables)
    return sum(
        bool(result_variables & set(order[:depth]) and intersected & set(order[depth:]))
        for depth in range(1, len(order))
    )


def _count_joiners(expression: Expression, variable: str) -> tuple[str, Counter[str]]:
    """Return the outermost block of a variable (a scan or a joiner), and the number of each joiner."""
    if isinstance(expression, Access):
        return (SCAN if variable in expression.variables else NOTHING), Counter()
    if isinstance(expression, Sum):
        outermost, counts = _count_joiners(expression.operand, variable)
        return (NOTHING if variable in expression.variables else outermost), counts
    operands = expression.operands if isinstance(expression, Call) else ()
    operand_joiners = [_count_joiners(operand, variable) for operand in operands]
    counts = sum((inner for _, inner in operand_joiners), Counter[str]())
    carriers = [outermost for outermost, _ in operand_joiners if outermost != NOTHING]
    if len(carriers) < 2:
        return (*carriers, NOTHING)[0], counts
    kind = UNION if is_addition(expression) else INTERSECT
    counts[kind] += 1 - carriers.count(kind)  # equal nested joiners are one joiner
    return kind, counts
