"""Scratchpad memory of a graph, with the units that read and write its levels and values."""

from __future__ import annotations

from fiberscope.hw.dram import SimpleMemory, SimpleSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, TENSORS
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fetch import Fetch
from fiberscope.hw.streams.line_writer import LineWriter
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.graphs.settings import ScratchpadParameters
from fiberscope.sim import Kernel

ARRAY_SHIFT = 32  # log2 of the address space of an array, in bytes
QUEUE = 4  # requests and replies between a block and the scratchpad's port


class ScratchpadLoop:
    """Builder of the fetch and write units between blocks and scratchpad, one per array.

    ``add_input_fetch``, ``find_output_block`` and ``writers`` add units to the kernel at each call, so each
    of them is called once for each block. ``close`` is called once, after all of them and before the kernel
    is built.

    Args:
        kernel: kernel of the graph.
        parameters: parameters of the scratchpad.
        hertz: clock frequency of the graph and the scratchpad.
        capacity: capacity of a channel of the graph, in tokens; None for no bound.
    """

    def __init__(
        self, kernel: Kernel, parameters: ScratchpadParameters, hertz: int, capacity: int | None
    ) -> None:
        self.kernel, self.parameters, self.hertz, self.capacity = kernel, parameters, hertz, capacity
        self._readers: list[Fetch] = []
        self._writers: list[LineWriter] = []
        self._tensors: dict[str, int] = {}
        self._arrays = 0

    def add_input_fetch(self, node: Node, block: StreamBlock) -> Fetch | None:
        """Return the fetch unit for the references into a block; None for a block without memory reads."""
        if node.primitive.loads:
            return self._fetch(f"{block.name}.values", node, self.parameters.value_bytes)
        reads = node.level.memory_reads(block, self.parameters) if node.primitive.scans else None
        if reads is None:
            return None
        array, entry_bytes, entries = reads
        return self._fetch(f"{block.name}.{array}", node, entry_bytes, entries)

    def find_output_block(self, node: Node, block: StreamBlock) -> StreamBlock:
        """Return the component with a block's outputs: for a scanner, the fetch unit of its coordinates."""
        if not (node.primitive.scans and node.level.loads_coordinates):
            return block
        fetch = self._fetch(f"{block.name}.coordinates", node, self.parameters.coordinate_bytes)
        for port in ("ref", "crd"):
            self.kernel.connect(block, f"out_{port}[0]", fetch, f"in_{port}", capacity=self.capacity)
        return fetch

    def writers(self, node: Node, block: StreamBlock) -> list[LineWriter]:
        """Return the units that write the stream of a writer to memory; none for any other block."""
        if not node.primitive.writes:
            return []
        values = {"lines": self.parameters.value_bytes}
        lines = values if node.writes_values else node.level.written_arrays(self.parameters)
        return [
            self._add_writer(f"{block.name}.{array}", node, entry_bytes, of_stops=array == "segments")
            for array, entry_bytes in lines.items()
        ]

    def close(self) -> None:
        """Add the scratchpad and its port, and connect all units to them."""
        port = self.kernel.add(Concentrator("graph.scratchpad_port", 0))
        memory = self.kernel.add(SimpleMemory("graph.scratchpad", self._build_specification()))
        self.kernel.connect(port, "requests", memory, "requests", capacity=QUEUE)
        self.kernel.connect(memory, "replies", port, "replies", capacity=QUEUE)
        # writers go last: they get no replies, and only the last inputs of the port may lack an output
        for number, user in enumerate([*self._readers, *self._writers]):
            self.kernel.connect(user, "requests", port, f"inputs[{number}]", capacity=QUEUE)
        for number, reader in enumerate(self._readers):
            self.kernel.connect(port, f"outputs[{number}]", reader, "replies", capacity=QUEUE)

    def _build_specification(self) -> SimpleSpecification:
        # bytes in a second: one line in each cycle of the graph's clock
        width = self.parameters.width
        return SimpleSpecification(
            width * self.hertz, self.hertz, latency=self.parameters.latency, request_bytes=width
        )

    def _fetch(self, name: str, node: Node, entry_bytes: int, entries: int = 1) -> Fetch:
        parameters = self.parameters
        fetch = Fetch(
            name,
            self._take_base_address(node),
            entry_bytes,
            line_bytes=parameters.width,
            entries=entries,
            window=parameters.window,
            outstanding=parameters.outstanding,
        )
        self._readers.append(self.kernel.add(fetch))
        return fetch

    def _add_writer(self, name: str, node: Node, entry_bytes: int, *, of_stops: bool) -> LineWriter:
        width = self.parameters.width
        writer = LineWriter(
            name, self._take_base_address(node), entry_bytes, line_bytes=width, of_stops=of_stops
        )
        self._writers.append(self.kernel.add(writer))
        return writer

    def _take_base_address(self, node: Node) -> int:
        """Return the address of the next array.

        The tensor's number is in the bits from ``TENSOR_SHIFT`` up, the array's number in the bits below it,
        down to ``ARRAY_SHIFT``. All tensors from the eighth on count as a single tensor. Array numbers repeat
        after 256 arrays. The blocks hold the data, so equal addresses of two arrays do not mix their data.
        """
        number = self._tensors.setdefault(node["tensor"], min(len(self._tensors), TENSORS - 1))
        self._arrays += 1
        return (number << TENSOR_SHIFT) + (self._arrays % (1 << (TENSOR_SHIFT - ARRAY_SHIFT)) << ARRAY_SHIFT)
