"""Expected tokens of every stream of a graph, from statistics of its tensors and without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.models.graphs.cost.expected import (
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
from fiberscope.models.graphs.cost.statistics import LevelStatistics, TensorStatistics
from fiberscope.models.graphs.nests import Nests, accumulated, drops_empty, in_order, nests_of
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.storage import words_of

__all__ = ["Estimate", "Inestimable", "estimate"]


ACCUMULATORS = ("spaccumulator", "accumulate")


class Inestimable(ValueError):  # noqa: N818 - what it says is about the graph, not an error of its user
    """A graph has blocks of which no tokens can be estimated; the message says which."""


@dataclass(frozen=True)
class Estimate:
    """What a graph is expected to do.

    Args:
        streams: by node and output.
        work: by node the tokens that it takes or makes, whichever are more: about its cycles.
        cycles: of all phases; a block ends at the soonest a cycle behind those that feed it, its work done,
            and an accumulator that sends at the end has all of that before it. Nothing stalls.
    """

    streams: Mapping[tuple[str, str], Expected]
    work: Mapping[str, float]
    cycles: float

    @property
    def tokens(self) -> float:
        """Of all streams together."""
        return sum(stream.tokens for stream in self.streams.values())

    @property
    def busiest(self) -> str:
        """The block with the most work, which bounds the cycles from below."""
        return max(self.work, key=self.work.__getitem__)


def estimate(graph: Graph, statistics: Mapping[str, TensorStatistics]) -> Estimate:
    """Estimate the tokens of a graph.

    Args:
        graph: checked.
        statistics: of the tensors that it is given, by name; those of what a phase writes are estimated.

    Raises:
        Inestimable: it has blocks that are not known here.
    """
    walk = _Walk(graph, statistics)
    cycles = 0.0
    for phase in graph.phases:
        nodes = [node for node in in_order(graph) if node.phase == phase]
        for node in nodes:
            walk.visit(node)
        cycles += max(walk.ends[node.name] for node in nodes)
        walk.take_results([node for node in nodes if node.type == "fiberwrite"])
    return Estimate(walk.streams, walk.work, cycles)


class _Walk:
    """Goes along the streams; a block's turn comes when all that feeds it has been seen."""

    def __init__(self, graph: Graph, statistics: Mapping[str, TensorStatistics]) -> None:
        self._graph, self._statistics = graph, dict(statistics)
        self._nests: Nests = nests_of(graph)
        self.streams: dict[tuple[str, str], Expected] = {}
        self._bits: dict[str, Expected] = {}  # by the block that makes words, the coordinates in them
        self.work: dict[str, float] = {}
        self.ends: dict[str, float] = {}

    def visit(self, node: Node) -> None:
        """Estimate what a block makes of what it is fed."""
        fed = {
            stream.input: self.streams[stream.source, stream.output]
            for stream in self._graph.streams_into(node)
            if stream.input != "skip"
        }
        rule = getattr(self, f"_{node.type}", None)
        if rule is None and not any(name.startswith("val") for name in fed):
            raise Inestimable(f"{node} makes a stream that cannot be estimated")
        made = rule(node, fed) if rule else {"val": fed["val[0]"]}
        self.streams.update({(node.name, output): one for output, one in made.items()})
        most = max(one.tokens for one in (*made.values(), *fed.values()))
        self.work[node.name] = max(most, self.work.get(node.name, 0.0))
        self.ends[node.name] = max(
            self.work[node.name], self._fed_until(node) + 1 + self._sent_behind(node, made)
        )

    def _fed_until(self, node: Node) -> float:
        forward = (stream for stream in self._graph.streams_into(node) if stream.input != "skip")
        return max((self.ends[stream.source] for stream in forward), default=0.0)

    def _sent_behind(self, node: Node, made: Mapping[str, Expected]) -> float:
        """Tokens that a block sends when all that it takes has come."""
        return made["val"].tokens if node.type in ACCUMULATORS and _collects_all(node) else 0.0

    def take_results(self, writers: Sequence[Node]) -> None:
        """Have what was written read by the phases behind."""
        for tensor in dict.fromkeys(node["tensor"] for node in writers):
            form = self._graph.formats.get(tensor)
            levels = {int(n["mode"]): n for n in writers if n["tensor"] == tensor and not n.writes_values}
            if form is not None and sorted(levels) == sorted(form.order):
                made = tuple(self._written(levels, form.order[: 1 + level]) for level in range(len(levels)))
                self._statistics[tensor] = TensorStatistics(form, made)

    def _written(self, writers: Mapping[int, Node], dimensions: Sequence[int]) -> LevelStatistics:
        """The level of the last of these dimensions, from the stream of its coordinates."""
        writer = writers[dimensions[-1]]
        words = self._graph.feeding(writer, "bv")
        stream = self._graph.feeding(self._graph.nodes[words.source] if words else writer, "crd")
        assert stream is not None
        crd = self.streams[stream.source, stream.output]
        spread = {dimension: crd.spread[writers[dimension]["index"]] for dimension in dimensions}
        return LevelStatistics(len(spread[dimensions[-1]]), crd.count, crd.filled, spread)

    def _fiberlookup(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        references = fed.get("ref", ROOT)
        if node["format"] == "bitvector":
            self._bits[node.name] = made = self._scanned(node, references)
            words = _words(references, words_of(_size(made, node)))
            return {"crd": words, "ref": words}
        dense = node["format"] == "dense"
        made = self._whole(node, references) if dense else self._scanned(node, references)
        return {"crd": made, "ref": made}

    def _bvexpand(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        words = self._graph.feeding(node, "bv")
        assert words is not None
        made = self._bits[words.source]
        self.work[node.name] = _by_bit(made, fed["bv"], _size(made, node))
        return {"crd": made, "ref": made}

    def _bvintersect(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        sources = [stream.source for stream in self._graph.streams_into(node) if stream.kind == "bv"]
        made = intersected([self._bits[source] for source in sources], node["index"])
        self._bits[node.name] = made
        self.work[node.name] = _by_bit(made, fed["bv[0]"], _size(made, node))
        return {"bv": fed["bv[0]"], "ref[0]": made, "ref[1]": made}

    def _bitvector(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        """Words up to that of the last bit of each fiber, which lies as far as the last of so many draws."""
        crd = fed["crd"]
        bits = crd.count / crd.filled if crd.filled else 0.0
        last = _size(crd, node) * bits / (bits + 1)
        filled = Expected(crd.filled, crd.filled_spread, crd.parent)
        words = _words(filled, words_of(int(last)))
        self.work[node.name] = crd.tokens + words.count
        return {"bv": Expected(words.count, words.spread, crd.parent, crd.filled, crd.filled_spread)}

    def _whole(self, node: Node, references: Expected) -> Expected:
        """All coordinates for each of these references."""
        size = self._statistics[node["tensor"]].level(int(node["mode"])).size
        spread = {name: where * size for name, where in references.spread.items()}
        spread[node["index"]] = np.full(size, references.count)
        return Expected(references.count * size, spread, references, references.count, references.spread)

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
        reached = {name: where * (spread[name] > 0) for name, where in references.spread.items()}
        return Expected(count, spread, references, filled, scaled(reached, filled))

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
        return {"crd": fed["crd"], "located": fed["crd"]}

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
        return self._accumulated(node, fed["val"], ("crd_outer", "crd_inner"), (node["in1"], node["in0"]))

    def _accumulated(
        self, node: Node, values: Expected, outputs: Sequence[str], names: Sequence[str]
    ) -> dict[str, Expected]:
        """The different coordinates of the points that come, level by level."""
        made, level = {}, ROOT
        for number, output in enumerate(outputs, start=1):
            kept = names[:number]
            count = min(distinct(values, kept), values.count)
            spread = scaled({name: values.spread[name] for name in kept}, count)
            level = Expected(count, spread, level, level.count, level.spread)
            made[output] = level
        taken, sent = values.count, level.tokens
        self.work[node.name] = taken + sent if _collects_all(node) else max(taken, sent)
        return {**made, "val": level}

    def _accumulate(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        names = accumulated(node)
        outputs = [f"crd[{number}]" for number in range(len(names))]
        return self._accumulated(node, fed["val"], outputs, names)

    def _stopdrop(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {"out": Expected(fed["in"].count, fed["in"].spread)}

    def _fiberwrite(self, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {}


def _size(crd: Expected, node: Node) -> int:
    """How many coordinates there are of a block's variable."""
    return len(crd.spread[node["index"]])


def _words(fibers: Expected, each: int) -> Expected:
    """So many words for each of these fibers."""
    count = fibers.count * each
    return Expected(count, scaled(fibers.spread, count), fibers, fibers.count, fibers.spread)


def _by_bit(made: Expected, words: Expected, size: int) -> float:
    """Cycles for all bits of words, of which those without any take one too, if bits are spread evenly."""
    wide = size / words_of(size)
    full = min(1.0, made.count / (words.count * wide)) if words.count * wide else 0.0
    return made.tokens + words.count * float((1 - full) ** wide)


def _collects_all(node: Node) -> bool:
    """Whether an accumulator has no outer loop whose coordinates are complete before the end."""
    return int(node["order"]) == len(accumulated(node))


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
