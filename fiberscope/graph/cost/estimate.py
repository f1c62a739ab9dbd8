"""Expected tokens of every stream of a graph, from statistics of its tensors and without a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fiberscope.graph.cost.expected import (
    ROOT,
    Expected,
    Spread,
    distinct,
    intersected,
    ratio,
    scaled,
    thinned,
    united,
)
from fiberscope.graph.cost.statistics import TensorStatistics
from fiberscope.graph.nests import Nests, drops_empty, in_order, nests_of
from fiberscope.graph.netlist import Graph, Node

__all__ = ["Estimate", "Inestimable", "estimate"]


class Inestimable(ValueError):  # noqa: N818 - what it says is about the graph, not an error of its user
    """A graph has blocks of which no tokens can be estimated; the message says which."""


@dataclass(frozen=True)
class Estimate:
    """What a graph is expected to do.

    Args:
        streams: by node and output.
        work: by node the tokens that it takes or makes, whichever are more: about its cycles.
        depth: blocks on the longest path, each of which has a token for a cycle.
    """

    streams: Mapping[tuple[str, str], Expected]
    work: Mapping[str, float]
    depth: int

    @property
    def tokens(self) -> float:
        """Of all streams together."""
        return sum(stream.tokens for stream in self.streams.values())

    @property
    def busiest(self) -> str:
        """The block with the most work, which bounds the cycles from below."""
        return max(self.work, key=self.work.__getitem__)

    @property
    def cycles(self) -> float:
        """Those of the busiest block and of the way to the end: about the graph's, if nothing stalls."""
        return self.work[self.busiest] + self.depth


def estimate(graph: Graph, statistics: Mapping[str, TensorStatistics]) -> Estimate:
    """Estimate the tokens of a graph.

    Args:
        graph: checked, of one phase.
        statistics: of its tensors, by name.

    Raises:
        Inestimable: it has blocks that are not known here.
    """
    if len(graph.phases) > 1:
        raise Inestimable("it runs in phases after one another")
    walk = _Walk(graph, statistics)
    for node in in_order(graph):
        walk.visit(node)
    return Estimate(walk.streams, walk.work, max(walk.depth.values()))


class _Walk:
    """Goes along the streams; a block's turn comes when all that feeds it has been seen."""

    def __init__(self, graph: Graph, statistics: Mapping[str, TensorStatistics]) -> None:
        self._graph, self._statistics = graph, statistics
        self._nests: Nests = nests_of(graph)
        self.streams: dict[tuple[str, str], Expected] = {}
        self.work: dict[str, float] = {}
        self.depth: dict[str, int] = {}

    def visit(self, node: Node) -> None:
        """Estimate what a block makes of what it is fed."""
        fed = {
            stream.input: self.streams[stream.source, stream.output]
            for stream in self._graph.streams_into(node)
            if stream.input != "skip"
        }
        before = (
            self.depth[stream.source] for stream in self._graph.streams_into(node) if stream.input != "skip"
        )
        self.depth[node.name] = 1 + max(before, default=0)
        rule = getattr(self, f"_{node.type}", None)
        if rule is None and not any(name.startswith("val") for name in fed):
            raise Inestimable(f"{node} makes a stream that cannot be estimated")
        made = rule(node, fed) if rule else {"val": fed["val[0]"]}
        self.streams.update({(node.name, output): one for output, one in made.items()})
        most = max(one.tokens for one in (*made.values(), *fed.values()))
        self.work[node.name] = max(most, self.work.get(node.name, 0.0))

    def _fiberlookup(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        made = self._scanned(node, fed.get("ref", ROOT))
        return {"crd": made, "ref": made}

    def _scanned(self, node: Node, references: Expected) -> Expected:
        """The fibers of these references, by how full they are at the coordinates of outer loops."""
        tensor, dimension = self._statistics[node["tensor"]], int(node["mode"])
        level, above = tensor.level(dimension), tensor.above(dimension)
        mean = level.elements / above.elements if above and above.elements else level.elements
        fill, spread = 1.0, {}
        for name, where in references.spread.items():
            fuller = self._fuller(node, name, where)
            spread[name] = where * fuller
            fill *= float(spread[name].sum() / where.sum()) if where.sum() else 0.0
        count = references.count * mean * fill
        own = level.spread[dimension] / (level.elements or 1.0)
        spread = {**scaled(spread, count), node["index"]: own * count}
        whole = level.fibers / above.elements if above and above.elements else float(level.elements > 0)
        filled = references.count * whole
        return Expected(count, spread, references, filled, scaled(references.spread, filled))

    def _fuller(self, node: Node, name: str, where: np.ndarray) -> np.ndarray:
        """How many times as full as the mean the fibers at each coordinate of a loop around them are."""
        tensor, dimension = self._statistics[node["tensor"]], int(node["mode"])
        level, above = tensor.level(dimension), tensor.above(dimension)
        other = self._dimension_of(node, name)
        if above is None or other is None or other not in above.spread or not level.elements:
            return np.ones_like(where)
        mean = level.elements / above.elements
        return ratio(level.spread[other], above.spread[other]) / mean

    def _dimension_of(self, node: Node, variable: str) -> int | None:
        """The dimension that a tensor has this variable for, on the way to a scanner of it."""
        output = self._graph.feeding(node, "ref")
        while output is not None:
            source = self._graph.nodes[output.source]
            found = source.type in ("fiberlookup", "locate") and source["tensor"] == node["tensor"]
            if found and source["index"] == variable and output.output in ("ref", "located"):
                return int(source["mode"])
            inner = output.output if output.output.startswith("ref[") else "ref"
            inner = "base" if output.output == "located" else inner
            output = self._graph.feeding(source, inner)
        return None

    def _locate(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"crd": fed["crd"], "ref": fed["ref"], "located": fed["crd"]}

    def _repsiggen(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"repsig": fed["crd"]}

    def _repeat(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        references, signal = fed.get("ref", ROOT), fed["repsig"]
        return {"ref": _with_missing(references, signal)}

    def _intersect(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        made = intersected(self._ways(node), node["index"])
        self.work[node.name] = united(self._ways(node), node["index"]).tokens
        refs = {name: one for name, one in fed.items() if name.startswith("ref")}
        return {"crd": made, **{name: _with_missing(one, made) for name, one in refs.items()}}

    def _union(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        made = united(self._ways(node), node["index"])
        refs = {name: one for name, one in fed.items() if name.startswith("ref")}
        return {"crd": made, **{name: _within(one, made) for name, one in refs.items()}}

    def _ways(self, node: Node) -> list[Expected]:
        """The streams of coordinates that come together, each once."""
        crds = {
            (stream.source, stream.output)
            for stream in self._graph.streams_into(node)
            if stream.input.startswith("crd")
        }
        return [self.streams[crd] for crd in sorted(crds)]

    def _arrayvals(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"val": fed.get("ref", ROOT).points}

    def _reduce(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        values = fed["val"]
        above = values.parent.points if values.parent else ROOT
        if not drops_empty(self._graph, self._nests, node):
            return {"val": above}
        return {"val": _without_empty(values)}

    def _crddrop(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        outer, inner = fed["outer"], fed["inner"]
        if inner.parent is None or outer.spread.keys() == inner.spread.keys():
            return {"outer": outer, "inner": inner}
        left = _without_empty(inner)
        below = Expected(inner.count, inner.spread, left, inner.filled, inner.filled_spread)
        return {"outer": left, "inner": below}

    def _crdhold(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"outer": fed["inner"], "inner": fed["inner"]}

    def _spaccumulator(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        values, outer, inner = fed["val"], node["in1"], node["in0"]
        elements = min(distinct(values, outer, inner), values.count)
        hit = 1 - np.exp(-values.spread[outer])
        rows = min(float(hit.sum()), elements)
        above = Expected(rows, {outer: hit}, ROOT, min(rows, 1.0))
        spread = scaled({name: values.spread[name] for name in (outer, inner)}, elements)
        made = Expected(elements, spread, above, rows, dict(above.spread))
        overlap = node["order"] == "1"  # a row leaves while the next one comes
        self.work[node.name] = max(values.count, made.tokens) if overlap else values.count + made.tokens
        return {"crd_outer": above, "crd_inner": made, "val": made}

    def _stopdrop(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"out": Expected(fed["in"].count, fed["in"].spread)}

    def _fiberwrite(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {}


def _with_missing(references: Expected, points: Expected) -> Expected:
    """References that go along with these points: as many of them are N as were before."""
    if not references.missing:
        return points
    count = points.count * references.count / (references.count + references.missing)
    return _beside(points, count, scaled(points.spread, count))


def _within(references: Expected, points: Expected) -> Expected:
    """The references of one operand of a union: N where others alone have the coordinate."""
    return _beside(points, min(references.count, points.count), references.spread)


def _beside(points: Expected, count: float, spread: Spread) -> Expected:
    """So many references beside the coordinates of these points, and N for the others."""
    missing = points.count - count
    return Expected(count, spread, points.parent, points.filled, points.filled_spread, missing, points)


def _without_empty(inner: Expected) -> Expected:
    """The points above a stream whose fibers have any."""
    above = inner.parent.points if inner.parent else ROOT
    if above.parent is None:
        return Expected(min(1.0, inner.filled), {})
    return thinned(above, inner.filled, inner.filled_spread, above.parent)
