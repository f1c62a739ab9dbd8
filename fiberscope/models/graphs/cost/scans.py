"""Estimate the output of a level scanner, from statistics of its tensor."""

from __future__ import annotations

import numpy as np

from fiberscope.models.graphs.cost.expected_streams import ExpectedStream, divide_or_zero, scale_counts
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.graphs.primitives.primitive import CostWalk


def scan_all(walk: CostWalk, node: Node, references: ExpectedStream) -> ExpectedStream:
    """Return the stream of all coordinates of a dense level, for each reference.

    Args:
        walk: the estimate, with the statistics of the tensors.
        node: the scanner.
        references: references into the scanner.
    """
    size = walk.statistics[node["tensor"]].level(int(node["mode"])).size
    # every fiber has all coordinates, so each point of an outer loop gets ``size`` points
    spread = {name: counts * size for name, counts in references.spread.items()}
    spread[node["index"]] = np.full(size, references.count)
    return ExpectedStream(references.count * size, spread, references, references.count, references.spread)


def scan_fibers(walk: CostWalk, node: Node, references: ExpectedStream) -> ExpectedStream:
    """Return the expected stream of the coordinates of compressed fibers, one fiber for each reference.

    Fibers at some coordinates of an outer loop are fuller than the mean fiber. The estimate multiplies the
    mean by this relative fill for each outer loop, as if the loops were independent.

    Args:
        walk, node, references: the arguments of ``scan_all``.
    """
    tensor, dimension = walk.statistics[node["tensor"]], int(node["mode"])
    level, parent = tensor.level(dimension), tensor.find_parent_level(dimension)
    # the outermost level is a single fiber, which has all elements
    mean = level.elements / parent.elements if parent and parent.elements else level.elements
    fill, spread = 1.0, {}
    for name, counts in references.spread.items():
        relative_fill = _compute_relative_fill(walk, node, name, counts)
        spread[name] = counts * relative_fill
        # the mean relative fill over the references, which reach some coordinates more often than others
        fill *= float(spread[name].sum() / counts.sum()) if counts.sum() else 0.0
    count = references.count * mean * fill
    # the coordinates within a fiber are distributed as in the whole tensor
    own_share = level.spread[dimension] / (level.elements or 1.0)
    spread = {**scale_counts(spread, count), node["index"]: own_share * count}
    filled_share = level.fibers / parent.elements if parent and parent.elements else float(level.elements > 0)
    filled = references.count * filled_share
    # a coordinate of an outer loop at which the tensor has no element has only empty fibers
    nonempty = {name: counts * (spread[name] > 0) for name, counts in references.spread.items()}
    return ExpectedStream(count, spread, references, filled, scale_counts(nonempty, filled))


def _compute_relative_fill(walk: CostWalk, node: Node, name: str, counts: np.ndarray) -> np.ndarray:
    """Return the fill of fibers at each coordinate of an enclosing loop, relative to the mean.

    The fill is 1 everywhere if the loop is over no outer dimension of the tensor, or the tensor is empty.
    """
    tensor, dimension = walk.statistics[node["tensor"]], int(node["mode"])
    level, parent = tensor.level(dimension), tensor.find_parent_level(dimension)
    other = _find_dimension(walk, node, name)
    if parent is None or other is None or other not in parent.spread or not level.elements:
        return np.ones_like(counts)
    mean = level.elements / parent.elements
    return divide_or_zero(level.spread[other], parent.spread[other]) / mean


def _find_dimension(walk: CostWalk, node: Node, variable: str) -> int | None:
    """Return the dimension with this index variable among the outer levels of a scanner's tensor, or None."""
    # follow the references of the tensor upwards, through joiners and repeaters, to the root
    output = walk.graph.stream_into(node, "ref")
    while output is not None:
        source = walk.graph.nodes[output.source]
        is_inner = source.primitive.position_output == output.output and source["tensor"] == node["tensor"]
        if is_inner and source["index"] == variable:
            return int(source["mode"])
        # a joiner forwards ``ref[n]`` from its input of this name, and a locator's fibers enter at ``base``
        inner = output.output if output.output.startswith("ref[") else "ref"
        inner = "base" if output.output == "located" else inner
        output = walk.graph.stream_into(source, inner)
    return None
