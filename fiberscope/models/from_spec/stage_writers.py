"""Writers of the results of a stage to memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiberscope.hw.streams.entry_exchange import EntryExchange
from fiberscope.hw.streams.kept import NEVER
from fiberscope.hw.streams.line_writer import LineWriter, ReadBackWriter
from fiberscope.models.from_spec.chains import Chain, Chains
from fiberscope.models.from_spec.linked_lists import find_linked_ranks
from fiberscope.models.from_spec.memory import MappedMemory
from fiberscope.models.from_spec.stage_graph import StageGraph
from fiberscope.models.from_spec.stages import Stage, refuse
from fiberscope.models.graphs.loops import Nests
from fiberscope.models.graphs.netlist import Node
from fiberscope.sim.clock import Clock


class StageWriters:
    """The writers of the blocks of a stage, before or after the cut.

    The methods that return writers add them to the machine, and register their requests with ``memory``.
    They are called once for each block. ``memory.build`` later connects the requests.

    Args:
        memory: the memory system of the machine.
        graph: graph of the stage.
        chains: chains of the data that these blocks move.
        nests: loop nests of the graph's streams.
        leaves: names of the instances; empty for the blocks before the cut.
        clock: clock of the writers; by default the first clock of the machine.
    """

    def __init__(
        self,
        memory: MappedMemory,
        stage: Stage,
        graph: StageGraph,
        chains: Chains,
        nests: Nests,
        leaves: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        self.numbers = {leaf: number for number, leaf in enumerate(leaves)}
        self.clock = clock or memory.machine.kernel.clocks[0]
        self.memory, self.stage, self.graph, self.chains, self.nests = memory, stage, graph, chains, nests
        self.linked = find_linked_ranks(memory.machine.specification, stage, graph.einsum.output)

    def copy_of(self, chain: Chain, leaf: str) -> int:
        """Return the copy of a chain's shared store that serves an instance; 0 for blocks before the cut."""
        # Neighbouring instances share a copy
        return self.numbers.get(leaf, 0) * chain.copies // max(1, len(self.numbers))

    def writers(self, leaf: str, number: int, node: Node, name: str) -> Iterator[LineWriter | EntryExchange]:
        """Yield the blocks that write a stream to memory: coordinates and fiber starts, or values.

        Args:
            leaf: name of the instance.
            number: number of the instance.
            node: node of the writer.
            name: name of its block.
        """
        output = self.graph.einsum.output
        ranks = self.graph.orders[output]
        if node.writes_values:
            level = 0 if self.graph.loops else NEVER  # without loops, the values of all tasks are one fiber
            kinds = ("payload", "elem")
            yield from self._iterate_writers(leaf, number, ranks[-1:], kinds, f"{name}.payloads", level=level)
            return
        index = ranks.index(node["index"]) if node["index"] in ranks else len(ranks)
        yield from self._iterate_writers(
            leaf, number, ranks[index : index + 1], ("coord",), f"{name}.coordinates"
        )
        if node["index"] in self.linked[:1]:
            yield from self._iterate_exchanges(leaf, f"{name}.heads")
        # A stop of this rank ends the fiber of an element of the rank above, which is then complete: a node
        # of a linked list, or the end of a segment. The fiber of the root rank has no such element.
        if index == len(self.linked) > 0:
            kinds = ("payload", "elem")
            yield from self._iterate_writers(
                leaf, number, self.linked[1:], kinds, f"{name}.links", of_stops=True
            )
        elif index > len(self.linked):
            parent = ranks[index - 1 : index]
            yield from self._iterate_writers(
                leaf, number, parent, ("payload",), f"{name}.segments", of_stops=True
            )

    def write_tasks(self, leaf: str, number: int, loop: str) -> Iterator[LineWriter | EntryExchange]:
        """Yield the blocks that write the coordinates of an instance's tasks in a loop before the cut.

        ``leaf`` and ``number`` are those of ``writers``; ``loop`` is the loop before the cut.
        """
        name = f"{leaf}tasks.{loop}"
        yield from self._iterate_writers(leaf, number, (loop,), ("coord",), name, level=NEVER)
        if loop in self.linked[:1]:
            yield from self._iterate_exchanges(leaf, f"{name}.heads")

    def _iterate_exchanges(self, leaf: str, name: str) -> Iterator[EntryExchange]:
        """Yield the block that replaces the head of a list when a node is added, if heads are moved."""
        output, memory = self.graph.einsum.output, self.memory
        chain = self.chains.get((output, self.linked[0], "payload"))
        if chain is None:
            return
        # The array has a head for every coordinate of the rank, whether or not its list gets a node
        rows, entries = memory.rows(chain), self.graph.plan.shape(self.linked[0])
        array = (output, "", self.graph.orders[output], self.linked[0], "payload", 1)
        exchange = memory.machine.add_at(
            self.clock,
            EntryExchange,
            name,
            memory.work_address(array, rows.count_bytes(-(-entries // rows.entries))),
            line_bytes=memory.line,
            entries=rows.entries * rows.rows,
            outstanding=memory.timing.ahead,
        )
        memory.connect_reads(chain, leaf, 0, exchange)
        yield exchange

    def sum_writers(self, leaf: str, number: int, name: str, *, reads_back: bool) -> Iterator[LineWriter]:
        """Yield the blocks that write sums of tasks, and with ``reads_back`` read them back.

        The other arguments are those of ``writers``, with ``name`` as the prefix of the blocks' names.

        Raises:
            ConfigurationError: the output is stored in linked lists. The iterator raises the error at its
                first step.
        """
        if self.linked:
            output, rank = self.graph.einsum.output, self.linked[-1]
            raise refuse(
                self.memory.machine.specification,
                f"rank {rank} of {output} is a linked list, but several tasks add to an element of {output}; "
                "use another format, or 'fiberscope model'",
            )
        # Without rows that stops end (``NEVER``), the number of an entry alone tells the line to read back
        for kinds in (("coord", "elem"), ("payload",)):
            ranks = self.graph.orders[self.graph.einsum.output][-1:]
            prefix = f"{name}.{kinds[0]}s"
            yield from self._iterate_writers(
                leaf, number, ranks, kinds, prefix, level=NEVER, reads_back=reads_back
            )

    def _iterate_writers(
        self,
        leaf: str,
        number: int,
        ranks: Sequence[str],
        kinds: Sequence[str],
        name: str,
        *,
        of_stops: bool = False,
        level: int = 0,
        reads_back: bool = False,
    ) -> Iterator[LineWriter]:
        """Yield a writer for each of these kinds of data of these ranks that moves to memory.

        Args:
            leaf, number: as of ``writers``.
            ranks, kinds: ranks of the output, and kinds of entries (``coord``, ``payload`` or ``elem``).
            name: name of the blocks.
            of_stops, level: options of ``LineWriter``.
            reads_back: whether the writers read entries back.
        """
        output, memory = self.graph.einsum.output, self.memory
        for rank in ranks:
            for kind in kinds:
                chain = self.chains.get((output, rank, kind))
                if chain is None:
                    continue
                rows = memory.rows(chain)
                array = (output, "", self.graph.orders[output], rank, kind, 1)
                base = memory.place_output(array, chain, number, reads_back=reads_back)
                writer = memory.machine.add_at(
                    self.clock,
                    ReadBackWriter if reads_back else LineWriter,
                    name,
                    base,
                    1,  # bytes of an entry, which ``row`` replaces
                    line_bytes=memory.line,
                    of_stops=of_stops,
                    level=level,
                    row=rows.entries,
                    rows=rows.rows,
                    page_lines=memory.page_lines,
                    pages=memory.machine.instances,
                    port=memory.port(chain, self.copy_of(chain, leaf)) if chain.cached else 0,
                )
                memory.connect_writes(chain, leaf, self.copy_of(chain, leaf), writer, reads_back=reads_back)
                yield writer
