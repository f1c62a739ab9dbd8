"""Build the blocks of ``fiberscope.hw.streams`` from the nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from fiberscope.base.errors import InputError
from fiberscope.hw.fibers.level import Level as Fibers
from fiberscope.hw.streams.tokens import BV, CRD, REF, VAL
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.loops import Nest, Nests
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.sim.protocol import Protocol

AnyLevel = TypeVar("AnyLevel", bound=Level)

CARRIES: Mapping[str, Protocol] = {"crd": CRD, "ref": REF, "val": VAL, "bv": BV}


@dataclass(frozen=True)
class Context:
    """Context from which blocks are built.

    Args:
        graph: graph of the blocks.
        tensors: stored tensors, by name.
        quirks: quirks of the public simulator that the blocks imitate, as a bit mask (``hw.streams.quirks``).
        registered: whether the memories of the blocks have a latency of one cycle.
    """

    graph: Graph
    tensors: Mapping[str, StoredTensor]
    quirks: int
    registered: bool = False

    def level_of(self, node: Node, kind: type[AnyLevel]) -> AnyLevel:
        """Return the level that a node scans.

        Args:
            node: a node with the attributes ``tensor``, ``mode`` and ``format``.
            kind: class of the level that the node's block can read.

        Raises:
            InputError: the stored level is of another class, as the operand was stored in another format than
                the node declares.
        """
        tensor = self.tensors[node["tensor"]]
        level = tensor.level(int(node["mode"]))
        if not isinstance(level, kind):
            layout = f"{node['tensor']} is {tensor.format}"
            raise InputError(f"{node} scans a level of format {node['format']}, and {layout}")
        return level

    @cached_property
    def _fibers(self) -> dict[tuple[str, str], Fibers]:
        # by tensor and mode; a cached property, as a frozen dataclass cannot set an attribute
        return {}

    def read_fibers_of(self, node: Node) -> Fibers:
        """Return the level that a node scans in the form that a block reads, shared by all blocks.

        Raises:
            InputError: the stored level is not compressed.
        """
        self.level_of(node, CompressedLevel)
        return self.read_fibers_at(node["tensor"], node["mode"])

    def read_fibers_at(self, tensor: str, mode: str) -> Fibers:
        """Return a compressed level in the form that a block reads, shared by all blocks.

        Args:
            tensor: name of the tensor.
            mode: dimension of the level, as text; the level must be compressed.
        """
        if (tensor, mode) not in self._fibers:
            level = self.tensors[tensor].level(int(mode))
            assert isinstance(level, CompressedLevel)
            self._fibers[tensor, mode] = Fibers(level.segments, level.coordinates)
        return self._fibers[tensor, mode]

    @cached_property
    def nests(self) -> Nests:
        """Return the loop nests of all streams, by the names of node and output; computed once."""
        return derive_nests(self.graph)

    def nest_into(self, node: Node, port: str) -> Nest:
        """Return the loop nest of the stream into an input of a block.

        Raises:
            StopIteration: the input is not connected.
        """
        stream = next(stream for stream in self.graph.list_streams_into(node) if stream.input == port)
        return self.nests[stream.source, stream.output]

    def find_protocol_into(self, node: Node, port: str = "") -> Protocol:
        """Return the protocol of the stream into an input of a block.

        Args:
            node: node of the block.
            port: name of the input; if empty, the first input that is connected and not ``ref``.

        Returns:
            The protocol; the protocol of references if no such stream enters the block, as a block whose only
            input is ``ref`` reads references.
        """
        streams = self.graph.list_streams_into(node)
        kinds = (
            stream.kind for stream in streams if (stream.input == port if port else stream.input != "ref")
        )
        return CARRIES[next(kinds, "ref")]
