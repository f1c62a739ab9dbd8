"""The loop nest of every stream: the index variables that it is nested in, outermost first.

A stream of depth d has d + 1 of them: one of references to fibers of rows has none, the coordinates of the
rows one, those of the columns two. Where two streams meet their nests must be as deep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from fiberscope.models.graphs.faults import Faults
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.ports import JOINERS, OUTER_INNER

__all__ = ["Nest", "Nests", "accumulated", "drops_empty", "in_order", "nests_of"]

Nest: TypeAlias = tuple[str, ...]
Nests: TypeAlias = Mapping[tuple[str, str], Nest]  # by node and output


def nests_of(graph: Graph, faults: Faults | None = None) -> Nests:
    """The nests of all streams that are fed; where those that meet are not as deep, a fault.

    Args:
        graph: with ports that fit.
        faults: to which the faults go; nowhere if not given.
    """
    return _Walk(graph, faults or Faults()).nests


class _Walk:
    """Goes from the roots along the streams; a block's turn comes when all that feeds it has been seen."""

    def __init__(self, graph: Graph, faults: Faults) -> None:
        self._graph, self._faults = graph, faults
        self.nests: dict[tuple[str, str], Nest] = {}
        for node in in_order(graph, faults):
            inputs = self._inputs(node)
            if all(nest is not None for nest in inputs.values()):
                self._visit(node, {port: nest for port, nest in inputs.items() if nest is not None})

    def _inputs(self, node: Node) -> dict[str, Nest | None]:
        fed = {s.input: self._nest(s) for s in self._graph.streams_into(node) if s.input != "skip"}
        return fed or ({"ref": ()} if node.root or node.type == "arrayvals" else {"ref": None})

    def _nest(self, stream: Stream) -> Nest | None:
        return self.nests.get((stream.source, stream.output))

    def _visit(self, node: Node, inputs: dict[str, Nest]) -> None:
        made = self._made(node, inputs)
        for port in node.primitive.outputs:
            name = port.name.removesuffix("[]")
            numbers = range(self._graph.arity(node)) if port.name.endswith("[]") else [None]
            for number in numbers:
                output = name if number is None else f"{name}[{number}]"
                self.nests[node.name, output] = made.get(output, made.get(name, made.get("", ())))

    def _made(self, node: Node, inputs: dict[str, Nest]) -> dict[str, Nest]:
        """The nests of a block's outputs by port; under the empty name that of all others."""
        first = inputs["stream[0]"] if node.type == "gather" else next(iter(inputs.values()))
        if node.type == "fiberlookup":
            return {"": (*first, node["index"])}
        if node.type == "repeat":
            signal = inputs.get("repsig", ())
            self._check_within(node, inputs.get("ref", ()), signal, "references", "repeat signals")
            return {"": signal}
        if node.type == "reduce":
            if not inputs["val"]:
                self._faults.add(node.place, f"{node} has nothing to sum: its values are a scalar already")
            if "crd" in inputs:
                self._check_within(node, inputs["crd"], inputs["val"], "coordinates", "values")
            return {"": inputs["val"][:-1]}
        if node.type in (*OUTER_INNER, "flatten"):
            return self._paired(node, inputs)
        if node.type == "spaccumulator":
            self._check_equal(node, inputs)
            nest = accumulated(node)
            return {"crd_outer": nest[:-1], "": nest}
        if node.type == "accumulate":
            self._check_equal(node, inputs)
            nest = accumulated(node)
            return {f"crd[{place}]": nest[: place + 1] for place in range(len(nest))} | {"": nest}
        if node.type == "split":
            return {
                "outer": (*first[:-1], f"{node['index']}1"),
                "inner": (*first[:-1], f"{node['index']}1", f"{node['index']}0"),
            }
        if node.type in ("bvexpand", "bvintersect", "merge", *JOINERS) or "val[]" in {
            port.name for port in node.primitive.inputs
        }:
            self._check_equal(node, inputs)
        return {"": first}

    def _paired(self, node: Node, inputs: dict[str, Nest]) -> dict[str, Nest]:
        """Blocks that read an outer stream beside the one within it."""
        outer, inner = inputs.get("outer", ()), inputs.get("inner", ())
        values = node.type == "crddrop" and node.primitive.makes("inner", node.attributes) == "val"
        if not (values and len(inner) == len(outer)):  # a value for each coordinate: zeros are dropped
            self._check_within(node, outer, inner, "outer stream", "inner stream")
        if node.type == "flatten":
            return {"": outer}
        return {"outer": inner if node.type == "crdhold" else outer, "inner": inner}

    def _check_within(self, node: Node, outer: Nest, inner: Nest, first: str, second: str) -> None:
        if len(inner) != len(outer) + 1:
            self._faults.add(
                node.place,
                f"{node}: its {second} ({_loops(inner)}) must be one loop deeper than its {first} "
                f"({_loops(outer)})",
            )

    def _check_equal(self, node: Node, inputs: dict[str, Nest]) -> None:
        if len({len(nest) for nest in inputs.values()}) > 1:
            told = ", ".join(f"{port}: {_loops(nest)}" for port, nest in sorted(inputs.items()))
            self._faults.add(node.place, f"{node}: its streams must be as deep as each other ({told})")


def accumulated(node: Node) -> Nest:
    """The variables that an accumulator keeps, outermost first."""
    numbered = (re.fullmatch(r"in(\d+)", name) for name in node.attributes)
    places = sorted((int(found[1]) for found in numbered if found and node[found[0]]), reverse=True)
    return tuple(node[f"in{place}"] for place in places)


def _loops(nest: Nest) -> str:
    return "loops " + ",".join(nest) if nest else "no loop"


def drops_empty(graph: Graph, nests: Nests, node: Node) -> bool:
    """Whether a reducer drops the sums of empty fibers: as it says, else if their coordinates are dropped."""
    if node["empty"]:
        return node["empty"] == "drop"

    def nest_into(one: Node, input: str) -> Nest:
        stream = next(stream for stream in graph.streams_into(one) if stream.input == input)
        return nests[stream.source, stream.output]

    nest = nest_into(node, "val")
    droppers = (one for one in graph.nodes.values() if one.type == "crddrop")
    return any(nest_into(one, "outer") == nest[:-1] and nest_into(one, "inner") == nest for one in droppers)


def in_order(graph: Graph, faults: Faults | None = None) -> list[Node]:
    """Blocks, each behind all that feed it; skips do not count, as they go back."""
    waiting = {node.name: 0 for node in graph.nodes.values()}
    forward = [stream for stream in graph.streams if stream.input != "skip"]
    consumers: dict[str, list[str]] = {name: [] for name in waiting}
    for stream in forward:
        waiting[stream.target] += 1
        consumers[stream.source].append(stream.target)
    ready = [name for name, count in waiting.items() if not count]
    ordered = []
    while ready:
        name = ready.pop()
        ordered.append(graph.nodes[name])
        for consumer in consumers[name]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
    left = [graph.nodes[name] for name, count in waiting.items() if count > 0]
    if left and faults is not None:
        faults.add(left[0].place, f"streams go in a circle through {', '.join(map(str, left[:4]))}")
    return ordered
