"""Compile a text to a graph: ``compile_expression("X(i,j) = B(i,k) * C(k,j)", ["X:ss,B:ss,C:ss"])``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.counts import count_primitives
from fiberscope.models.graphs.compiler.front_end import build_cascade, build_notation
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.compiler.notation import Notation
from fiberscope.models.graphs.compiler.schedule import parse_copies, parse_splits, parse_variables
from fiberscope.models.graphs.draw import format_svg
from fiberscope.models.graphs.formats import parse_formats
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.rewrites import apply_rewrites, parse_rewrites
from fiberscope.models.graphs.rewrites.parallelize import parallelize_loop


@dataclass(frozen=True)
class CompiledExpression:
    """Result of a compilation.

    Args:
        order: all loops, outermost first.
        notations: loop nest of each statement; several statements run one after another.
        graph: the stream graph.
    """

    order: tuple[str, ...]
    notations: tuple[Notation, ...]
    graph: Graph

    @property
    def counts(self) -> dict[str, int]:
        """Return the primitives before rewrites, counted by the rules of SAM's Table 1."""
        total = Counter[str]()
        for notation in self.notations:
            total.update(count_primitives(notation))
        return dict(total)

    def _repr_svg_(self) -> str:
        """Return the drawing for a notebook."""
        return format_svg(self.graph, "graph")

    def document(self) -> dict[str, object]:
        """Return plain data: ``counts`` as the property, ``blocks`` counts the graph's blocks by type."""
        return {
            "statements": [str(notation.assignment) for notation in self.notations],
            "formats": {name: str(format) for name, format in self.graph.formats.items()},
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
        formats: formats as in ``B:ss,C:ss:10``; a tensor without a format is dense.
        order: all loops, outermost first, as in ``i,k,j`` or ``ikj``; by default the order of the formats.
        reorder: loops that exchange their positions in the order, to follow one another as in this list.
        factor: make a sum a statement of its own if it is one of several terms, or if the product around it
            has other factors without its variable.
        optimise: comma-separated names of rewrites, or ``all``.
        split: chunk sizes of index variables, as in ``i:4,k:8``; each variable gets two loops, ``i_0`` and
            ``i_1``.
        parallelize: a loop and its number of copies, as in ``i:4``.

    Raises:
        InputError: an argument is invalid.
    """
    assignment = parse(text)
    formats_by_tensor = parse_formats([formats] if isinstance(formats, str) else formats)
    order, reorder = _parse_variables(order, "order"), _parse_variables(reorder, "reorder")
    splits = parse_splits(split) if split else {}
    if factor:
        loops, notations = build_cascade(assignment, formats_by_tensor, order, reorder, splits)
    else:
        notations = [build_notation(assignment, formats_by_tensor, order, reorder, splits)]
        loops = notations[0].order
    tensors = {
        name: tensor_format for notation in notations for name, tensor_format in notation.formats.items()
    }
    graph = lower([notation.assignment for notation in notations], tensors, loops)
    # set before the rewrites, which return copies of the graph with its splits
    graph.splits = splits
    graph = apply_rewrites(graph, parse_rewrites(optimise) if optimise else [])
    if parallelize:
        graph = parallelize_loop(graph, *parse_copies(parallelize))
    # without operands, which only a run has
    check(graph)
    return CompiledExpression(loops, tuple(notations), graph)


def _parse_variables(variables: str | Sequence[str], argument: str) -> Sequence[str]:
    """Return the index variables of a comma-separated text, or of a text with a letter per variable."""
    # a single name of several letters needs a list or a comma: the text ``i_0`` is three variables
    return (
        parse_variables(variables, argument)
        if isinstance(variables, str) and "," in variables
        else tuple(variables)
    )
