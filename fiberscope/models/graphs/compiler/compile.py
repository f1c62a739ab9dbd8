"""From a text to a graph: ``compile_expression("X(i,j) = B(i,k) * C(k,j)", ["X:ss,B:ss,C:ss"])``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.counts import primitive_counts
from fiberscope.models.graphs.compiler.front_end import cascade_of, notation_of
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.compiler.notation import Notation
from fiberscope.models.graphs.compiler.schedule import parse_copies, parse_splits, parse_variables
from fiberscope.models.graphs.draw import svg_text
from fiberscope.models.graphs.formats import parse_formats
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.rewrites import rewrites_named, rewritten
from fiberscope.models.graphs.rewrites.parallelize import parallelized

__all__ = ["CompiledExpression", "compile_expression"]


@dataclass(frozen=True)
class CompiledExpression:
    """Result of the compilation of a text.

    Args:
        order: of all loops, outermost first.
        notations: a loop nest for each statement: one, or several that run one after the other.
        graph: the graph of them.
    """

    order: tuple[str, ...]
    notations: tuple[Notation, ...]
    graph: Graph

    @property
    def counts(self) -> dict[str, int]:
        """Primitives by the rules of SAM's table, whatever rewrites have made of the graph."""
        in_all = Counter[str]()
        for notation in self.notations:
            in_all.update(primitive_counts(notation))
        return dict(in_all)

    def _repr_svg_(self) -> str:
        """Return the picture for a notebook."""
        return svg_text(self.graph, "graph")

    def document(self) -> dict[str, object]:
        """Return plain data; ``blocks`` counts the graph's blocks by type."""
        return {
            "statements": [str(notation.assignment) for notation in self.notations],
            "formats": {name: str(stored) for name, stored in self.graph.formats.items()},
            "order": list(self.order),
            "split": self.graph.splits,
            "counts": self.counts,
            "blocks": dict(sorted(self.graph.counts().items())),
        }


def compile_expression(
    text: str,
    formats: str | Iterable[str] = (),
    order: str | Sequence[str] = (),
    *,
    reorder: str | Sequence[str] = (),
    factor: bool = False,
    optimise: str = "",
    split: str = "",
    parallelize: str = "",
) -> CompiledExpression:
    """Compile an expression into a graph.

    Args:
        text: an assignment in index notation.
        formats: ``B:ss,C:ss:10``; a tensor without one is dense.
        order: all loops, outermost first, ``i,k,j``, ``ikj`` or one by one; without it that of the formats.
        reorder: loops that take each other's places in that order, to follow one another as they do here.
        factor: make a statement of its own of each sum that is one term among others, or over few factors.
        optimise: names of rewrites with commas between them, or ``all``.
        split: ``i:4,k:8``, variables in chunks of so many coordinates: two loops each, ``i_0`` and ``i_1``.
        parallelize: ``i:4``, a loop and how many copies there are of the blocks within it.

    Raises:
        InputError: something of it cannot be; one line that says what would be right.
    """
    assignment = parse(text)
    stored = parse_formats([formats] if isinstance(formats, str) else formats)
    order, reorder = _variables(order, "order"), _variables(reorder, "reorder")
    splits = parse_splits(split) if split else {}
    if factor:
        loops, notations = cascade_of(assignment, stored, order, reorder, splits)
    else:
        notations = [notation_of(assignment, stored, order, reorder, splits)]
        loops = notations[0].order
    tensors = {
        name: stored_format for notation in notations for name, stored_format in notation.formats.items()
    }
    graph = lower([notation.assignment for notation in notations], tensors, loops)
    graph.splits = splits
    graph = rewritten(graph, rewrites_named(optimise) if optimise else [])
    if parallelize:
        graph = parallelized(graph, *parse_copies(parallelize))
    check(graph)
    return CompiledExpression(loops, tuple(notations), graph)


def _variables(variables: str | Sequence[str], argument: str) -> Sequence[str]:
    """Variables of a text with commas between them, or of letters that are one each."""
    return (
        parse_variables(variables, argument)
        if isinstance(variables, str) and "," in variables
        else tuple(variables)
    )
