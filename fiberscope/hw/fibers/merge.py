# cython: infer_types=True
"""The high-radix merger: a balanced tree of comparators over the heads of its ways, in pipeline stages."""

from __future__ import annotations

from array import array

from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

# Ways 0 to fan_in - 1 take part. The number of the task is shown in waveforms only.
MERGE_TASK = Protocol("merge task", coordinate="fan_in", reference="task")
RADIX = (2, 256)  # least and most ways of a merger
COORDINATE_BITS = 55  # most bits of a coordinate
SLOTS = 2  # slots of a node's output buffer; two slots sustain one token per cycle
# The record of a node fills a line of the host's cache; the index of its first word stands for the node.
# Words 0 to 2 and words 3 to 5 are the tokens of the node's output buffer, each with its coordinate first.
REFERENCE = 1  # word of a token
VALUE = 2  # word of a token
TOKEN = 3  # words of a token
NODE = 8  # words of a record
SHORTS = 4  # short words in a word; words 6 and 7 are the following short words, by index in the record:
FIRST = 24  # the first input: a way in the first stage, a node in the later stages
FAN = 25  # number of inputs that take part
PARENT = 26  # the node whose input the buffer is
LACKING = 27  # number of missing items: heads of inputs (those of all ways count as one), and buffer space
HELD = 28  # number of tokens in the buffer
FRONT = 29  # first word of the oldest token, 0 or TOKEN
AWAITED = 30  # first way whose head is awaited
AWAITED_END = 31  # last way whose head is awaited, plus 1
NEW = -1  # in place of a coordinate: the first head of the way has not been seen
ENDED = 1 << 62  # in place of a coordinate: a stop, which follows all elements

PHASES = ("idle", "loading", "merging", "ending")
IDLE_PHASE, LOADING, EMITTING, ENDING = range(len(PHASES))


def fan_ins(radix: int, stages: int) -> tuple[int, ...]:
    """Return the number of inputs of a node of each pipeline stage, first stage first: powers of two.

    The levels of the tree are divided evenly among the stages; the first stages get the remaining levels.
    There are at most as many stages as levels.
    """
    levels = (radix - 1).bit_length()
    stages = min(stages, levels)
    return tuple(1 << levels // stages + (stage < levels % stages) for stage in range(stages))


def nodes_of(radix: int, stages: int) -> tuple[tuple[int, int], ...]:
    """Return the first input and the number of inputs of each node, stage by stage; the last is the root.

    Inputs 0 to ``radix`` - 1 are the ways; input ``radix`` + n is the output buffer of node n.
    """
    nodes: list[tuple[int, int]] = []
    first, end = 0, radix
    for fan_in in fan_ins(radix, stages):
        nodes += [(input_, min(fan_in, end - input_)) for input_ in range(first, end, fan_in)]
        first, end = end, radix + len(nodes)
    return tuple(nodes)


class HighRadixMerger(Component):
    """Merges up to ``radix`` fibers into one stream ordered by coordinate, one element a cycle.

    Interface: a token on ``tasks`` starts a merge and gives the number of ways that take part (0 for an empty
    fiber). Each of these ways brings one fiber: elements with increasing coordinates, then a stop. The
    elements leave on ``merged`` with their references, equal coordinates in the order of their ways, and a
    stop follows the last element. A coordinate has up to ``COORDINATE_BITS`` bits.

    Timing: the tree of comparators is divided into ``stages``. A node passes on its smallest head in each
    cycle in which all its inputs have a head (an element or a stop) and its output has a free slot. The
    output is a buffer of ``SLOTS`` tokens; the output of the root is the channel at ``merged``. If all heads
    are stops, the node takes them and passes on one stop, which takes a cycle. A token in a buffer is
    visible in the cycle after it entered, and its slot is free in the cycle after it left. A task is taken
    when no node of the first stage merges another task. Without stalls, the first element leaves
    ``stages`` - 1 cycles after the heads of its ways are visible, and one element leaves in each later cycle.

    Accounting: busy while a token leaves a way or the merger; else waiting for ``merged``, if the root has a
    token; else waiting for the first way of the task without a head; else busy until all stops have left.

    Source: Gamma (ASPLOS 2021), whose processing element merges 64 fibers by a balanced tree; here the radix
    is up to 256. The buffers, and nodes that wait for all their inputs, are choices of this model.

    Args:
        radix: number of ways.
        stages: number of pipeline stages, at most one per level of the tree; 1 for a tree of one cycle.

    Raises:
        ValueError: if ``radix`` is out of ``RADIX``, or ``stages`` is less than 1.
        SimulationError: when built, if the number of connected ways is not ``radix``; in the run, if a task
            has more ways than that.
    """

    PORTS = (Input("tasks", MERGE_TASK), Input("ways", STREAM, array=True), Output("merged", STREAM))
    COUNTERS = ("merges", "merged_elements")
    SIGNALS = (
        Signal("phase", 2, "state", PHASES),
        Signal("task", 48, "integer"),
        Signal("fan_in", 9),
        Signal("alive", 9),
        Signal("way", 9, "integer"),
        Signal("coordinate", 56, "integer"),
        Signal("rival_way", 9, "integer"),
        Signal("rival", 56, "integer"),
    )

    tasks: Channel
    ways: list[Channel]
    merged: Channel

    def __init__(self, name: str, radix: int, stages: int = 1) -> None:
        super().__init__(name)
        minimum, maximum = RADIX
        if not minimum <= radix <= maximum:
            raise ValueError(f"{name}: radix must be from {minimum} to {maximum}, not {radix}")
        if stages < 1:
            raise ValueError(f"{name}: stages must be at least 1, not {stages}")
        self.radix = radix
        self.stages = len(fan_ins(radix, stages))
        self._lay_out(nodes_of(radix, stages))
        self.task = -1  # number of the task, as its source counts
        self.fan_in = 0
        self.merging = 0  # number of nodes of the first stage that merge the task
        self.blocked = False  # whether the root had a token but no space in this tick
        self.has_moved = False  # whether a token left a way or the merger in this tick
        self.under_way = 0  # number of merges whose stop has not left
        self.merged_elements = 0
        self.merges = 0

    def _lay_out(self, nodes: tuple[tuple[int, int], ...]) -> None:  # C: def
        """Create the records of the nodes and their output buffers, and the state of the ways."""
        self.tree = nodes
        count = len(nodes)
        self.root = NODE * (count - 1)
        self.leaves = sum(first < self.radix for first, _ in nodes)
        self.leaves_end = NODE * self.leaves
        self.ready_begin = self.ready_end = 0  # turns of the nodes in the ring ``ready``
        self.ready_mask = (1 << count.bit_length()) - 1
        self.watching_count = 0
        memory = memoryview(bytearray(8 * NODE * count))
        # Views of the same memory: coordinates and references, values, state.
        self.words, self.values, self.nodes = memory.cast("q"), memory.cast("d"), memory.cast("h")
        self.heads = array("q", [NEW] * self.radix)  # by way, coordinate of its latest head
        self.ready = array("h", bytes(2 * (self.ready_mask + 1)))  # ring of nodes, by turn
        self.watching = array("h", bytes(2 * count))  # nodes that wait for heads of their ways
        self.max_fans = array("h", [ways for _, ways in nodes])  # number of inputs, by node
        for node, (first, ways) in enumerate(nodes):
            self._lay_out_node(SHORTS * NODE * node, first, ways)

    def _lay_out_node(self, node: int, first: int, ways: int) -> None:  # C: def
        inner = first >= self.radix
        self.nodes[node + FIRST] = NODE * (first - self.radix) if inner else first
        self.nodes[node + FAN] = ways
        self.nodes[node + LACKING] = ways if inner else 1
        for child in range(first, first + ways) if inner else ():
            self.nodes[SHORTS * NODE * (child - self.radix) + PARENT] = node // SHORTS

    def elaborate(self) -> None:
        """Look up the channels, and check the number of ways."""
        super().elaborate()
        if len(self.ways) != self.radix:
            raise SimulationError(
                f"{self.name}: connect {self.radix} ways, as its radix says, not {len(self.ways)}"
            )

    def tick(self, now: int) -> int:
        """Let every ready node pass on its smallest head."""
        if self.merging == 0 and self.tasks.can_pop():
            self._start_task()
        self.blocked = self.has_moved = False
        self._watch_ways()
        if self._pass_on_all():
            self.wake_at(now + 1)  # tokens between nodes move also while the merger accounts for a wait
        return self._state_of(now)

    def _state_of(self, now: int) -> int:
        if self.has_moved:
            return self.busy(now + 1)
        if self.blocked:
            return self.wait_output(self.merged)
        if self.watching_count > 0:
            return self.wait_input(self.ways[self._missing()])
        return self.busy(now + 1) if self.under_way > 0 else self.idle()

    def _missing(self) -> int:  # C: noexcept
        """Return the first way without a head; no token may have left a way in this tick."""
        missing = self.radix  # C: long
        for i in range(self.watching_count):
            missing = min(missing, self.nodes[SHORTS * self.watching[i] + AWAITED])
        return missing

    def _start_task(self) -> None:
        self.fan_in = self.tasks.coordinate()
        if self.fan_in < 0 or self.fan_in > self.radix:
            raise SimulationError(f"{self.name}: a task of {self.fan_in} ways, but it has {self.radix}")
        self.task = self.tasks.reference()
        self.tasks.pop()
        self.merges += 1
        self.under_way += 1
        self.merging = self.leaves
        for way in range(self.fan_in):
            self.heads[way] = NEW
        for leaf in range(self.leaves):
            node = NODE * leaf
            first = self.nodes[SHORTS * node + FIRST]
            fan = min(max(self.fan_in - first, 0), self.max_fans[leaf])
            self.nodes[SHORTS * node + FAN] = fan
            self._watch(node, first, fan)

    def _watch(self, node: int, way: int, count: int) -> None:  # C: noexcept, inline
        """Let a node wait for the heads of ``count`` ways from ``way`` on, beginning in the next tick."""
        self.nodes[SHORTS * node + AWAITED] = way
        self.nodes[SHORTS * node + AWAITED_END] = way + count
        self.watching[self.watching_count] = node
        self.watching_count += 1

    def _watch_ways(self) -> None:  # C: noexcept
        """Read the heads that have arrived at ways; a node with all its heads may become ready."""
        count = self.watching_count
        self.watching_count = 0
        for i in range(count):
            node = self.watching[i]
            if self._sees_all(node):
                self._note_available(node)
            else:
                self.watching[self.watching_count] = node
                self.watching_count += 1

    def _sees_all(self, node: int) -> bool:  # C: noexcept, inline
        for way in range(self.nodes[SHORTS * node + AWAITED], self.nodes[SHORTS * node + AWAITED_END]):
            if not inline.can_pop(self.ways, way):
                self.nodes[SHORTS * node + AWAITED] = way
                return False
            ends = inline.control(self.ways, way) != DATA
            self.heads[way] = ENDED if ends else inline.coordinate(self.ways, way)
        return True

    def _note_available(self, node: int) -> None:  # C: noexcept, inline
        """Note that a node has got a missing item, a head or a free slot; with all items it is ready."""
        self.nodes[SHORTS * node + LACKING] -= 1
        if self.nodes[SHORTS * node + LACKING] == 0:
            self._make_ready(node)

    def _make_ready(self, node: int) -> None:  # C: noexcept, inline
        self.ready[self.ready_end & self.ready_mask] = node
        self.ready_end += 1

    def _pass_on_all(self) -> bool:
        """Let each node that is ready now pass on a token; return whether at least one node did.

        Nodes that become ready meanwhile are appended to the ring and have their turn in the next cycle. A
        ready node stays ready until its turn, whatever other nodes do.
        """
        has_passed = False
        for turn in range(self.ready_begin, self.ready_end):
            node = self.ready[turn & self.ready_mask]
            self.ready_begin += 1
            if node == self.root and not self.merged.can_push():
                self.blocked = True
                self._make_ready(node)
            else:
                self._pass_on(node)
                has_passed = True
        return has_passed

    def _pass_on(self, node: int) -> None:  # C: inline
        """Pass on the smallest head of a node that is ready, or the stops of all its inputs as one."""
        if node < self.leaves_end:
            self._pass_from_way(node)
        else:
            self._pass_from_nodes(node)
        if self.nodes[SHORTS * node + LACKING] == 0:
            self._make_ready(node)

    def _pass_from_way(self, node: int) -> None:
        way = self._smallest_way(node)
        if way == NEW:
            self._push(node, ENDED, 0, 0.0)
            self._end_merge(node)
        else:
            self._push(node, self.heads[way], inline.reference(self.ways, way), inline.value(self.ways, way))
            inline.pop(self.ways, way)
            self.nodes[SHORTS * node + LACKING] += 1
            self._watch(node, way, 1)
            self.has_moved = True

    def _smallest_way(self, node: int) -> int:  # C: noexcept, inline
        """Return the way with the smallest head, ``NEW`` if all heads are stops."""
        smallest = NEW  # C: long
        coordinate = ENDED
        first = self.nodes[SHORTS * node + FIRST]
        for way in range(first, first + self.nodes[SHORTS * node + FAN]):
            smallest = way if self.heads[way] < coordinate else smallest
            coordinate = min(coordinate, self.heads[way])
        return smallest

    def _end_merge(self, node: int) -> None:
        """Pop the stops of a node's ways; the node then waits for the next task."""
        first = self.nodes[SHORTS * node + FIRST]
        for way in range(first, first + self.nodes[SHORTS * node + FAN]):
            inline.pop(self.ways, way)
            self.has_moved = True
        self.nodes[SHORTS * node + LACKING] += 1
        self.merging -= 1

    def _pass_from_nodes(self, node: int) -> None:  # C: inline
        """Pass on the smallest head of the child nodes, or their stops as one stop."""
        child = self._smallest_node(node)
        token = child + self.nodes[SHORTS * child + FRONT]
        self._push(node, self.words[token], self.words[token + REFERENCE], self.values[token + VALUE])
        if self.words[token] < ENDED:
            self._take(node, child)
        else:
            self._take_all(node)

    def _smallest_node(self, node: int) -> int:  # C: noexcept, inline
        """Return the child node with the smallest head, the first child if all heads are stops.

        The comparison uses arithmetic instead of a branch, which the host would mispredict half of the time.
        """
        smallest = child = self.nodes[SHORTS * node + FIRST]
        coordinate = self.words[child + self.nodes[SHORTS * child + FRONT]]
        for _ in range(1, self.nodes[SHORTS * node + FAN]):
            child += NODE
            head = self.words[child + self.nodes[SHORTS * child + FRONT]]
            smallest = child if head < coordinate else smallest
            coordinate = min(coordinate, head)
        return smallest

    def _take_all(self, node: int) -> None:  # C: noexcept
        first = self.nodes[SHORTS * node + FIRST]
        for place in range(self.nodes[SHORTS * node + FAN]):
            self._take(node, first + NODE * place)

    def _take(self, node: int, child: int) -> None:  # C: noexcept, inline
        """Remove the token that ``node`` has passed on from the output buffer of ``child``."""
        held = self.nodes[SHORTS * child + HELD]
        self.nodes[SHORTS * child + HELD] = held - 1
        self.nodes[SHORTS * child + FRONT] ^= TOKEN
        if held == SLOTS:
            self._note_available(child)
        else:
            self.nodes[SHORTS * node + LACKING] += 1

    def _push(self, node: int, coordinate: int, reference: int, value: float) -> None:  # C: inline
        """Put a token into the output of a node: its buffer, or for the root the channel ``merged``."""
        if node == self.root:
            self._emit(coordinate, reference, value)
        else:
            self._store(node, coordinate, reference, value)

    def _store(self, node: int, coordinate: int, reference: int, value: float) -> None:  # C: noexcept, inline
        """Put a token into the output buffer of a node, which may give the parent a missing head."""
        slot = node + (self.nodes[SHORTS * node + FRONT] ^ TOKEN * self.nodes[SHORTS * node + HELD])
        self.words[slot] = coordinate
        self.words[slot + REFERENCE] = reference
        self.values[slot + VALUE] = value
        self.nodes[SHORTS * node + HELD] += 1
        if self.nodes[SHORTS * node + HELD] == SLOTS:
            self.nodes[SHORTS * node + LACKING] += 1
        else:
            self._note_available(self.nodes[SHORTS * node + PARENT])

    def _emit(self, coordinate: int, reference: int, value: float) -> None:
        if coordinate == ENDED:
            self.merged.push(STOP)
            self.under_way -= 1
        else:
            self.merged.push(DATA, coordinate, reference, value)
            self.merged_elements += 1
        self.has_moved = True

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current task and the two smallest heads at its ways; -1 stands for none.

        - ``phase``: loading (first heads are awaited), merging (elements leave ways), ending (only stops);
        - ``task``, ``fan_in``: the task and the number of its ways; ``alive``: ways that have not ended;
        - ``way``, ``coordinate``: the smallest head, which left in this cycle or, in a stall, leaves next;
        - ``rival_way``, ``rival``: the smallest head of the other ways.
        """
        seen = alive = 0
        fan_in = self.fan_in if self.merging else 0
        way = coordinate = rival_way = rival = -1
        for place in range(fan_in):
            head = self.heads[place]
            seen += 1 if head > NEW else 0
            if NEW < head < ENDED:
                alive += 1
                if way < 0 or head < coordinate:
                    way, coordinate, rival_way, rival = place, head, way, coordinate
                elif rival_way < 0 or head < rival:
                    rival_way, rival = place, head
        phase = LOADING if seen < fan_in else EMITTING if alive else ENDING if self.merging else IDLE_PHASE
        values[0], values[1], values[2] = phase, self.task if self.merging else -1, fan_in
        values[3], values[4], values[5], values[6], values[7] = alive, way, coordinate, rival_way, rival
