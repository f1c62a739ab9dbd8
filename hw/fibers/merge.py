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

# Ways 0 to fan_in - 1 take part; the task is for waveforms.
MERGE_TASK = Protocol("merge task", coordinate="fan_in", reference="task")
RADIX = (2, 256)  # least and most ways of a merger
COORDINATE_BITS = 55  # of an element's coordinate, at the most
# Words of a token in a buffer side by side; one is spare, so that a buffer fills a line of the host's cache.
COORDINATE = 0
REFERENCE = 1
VALUE = 2
WORDS = 4
SLOTS = 2  # of the buffer behind a node: a token in and one out in every cycle
NEW = -1  # instead of a coordinate: a way whose first head has not been seen
ENDED = 1 << 62  # the same of a stop, which comes behind all elements

PHASES = ("idle", "loading", "merging", "ending")
IDLE_PHASE, LOADING, EMITTING, ENDING = range(len(PHASES))


def fan_ins(radix: int, stages: int) -> tuple[int, ...]:
    """Ways of a node of each pipeline stage, powers of two, the first stage's first.

    The levels of the tree are shared out evenly, the first stages having one more where they do not go in;
    there are no more stages than levels.
    """
    levels = (radix - 1).bit_length()
    stages = min(stages, levels)
    return tuple(1 << levels // stages + (stage < levels % stages) for stage in range(stages))


def nodes_of(radix: int, stages: int) -> tuple[tuple[int, int], ...]:
    """First input and number of inputs of each node, stage by stage; the last is the root.

    Inputs 0 to ``radix`` - 1 are the ways, input ``radix`` + n is the buffer behind node n.
    """
    nodes: list[tuple[int, int]] = []
    first, end = 0, radix
    for most in fan_ins(radix, stages):
        nodes += [(at, min(most, end - at)) for at in range(first, end, most)]
        first, end = end, radix + len(nodes)
    return tuple(nodes)


class HighRadixMerger(Component):
    """Merges up to ``radix`` fibers into one stream ordered by coordinate, one element a cycle.

    Interface: a token on ``tasks`` starts a merge and says how many ways take part (0 gives an empty fiber);
    each of those ways brings one fiber, that is elements with increasing coordinates and a stop. The elements
    leave on ``merged`` with the reference they came with; equal coordinates leave in the order of their ways;
    a stop follows the last one. A coordinate has up to ``COORDINATE_BITS`` bits.

    Timing: the tree of comparators is cut into ``stages``. Each node of a stage passes on its smallest head
    in each cycle, provided that all of its inputs show their heads (an element or the stop) and that there is
    room behind it: a buffer of ``SLOTS`` tokens, or the channel at ``merged`` behind the last node. When all
    show stops it takes these and passes on one, in a cycle of its own. A token is seen in a buffer in the
    cycle after the one in which it came, and its slot is free in the cycle after that in which it left. A
    task is taken when no node of the first stage is in the midst of one. So a merge that nothing holds up
    gives its first element ``stages`` - 1 cycles after its heads are seen, and one in every cycle from there.

    Accounting: busy while a token leaves a way, or leaves at ``merged``; else waiting for space there, if one
    could leave; else for the first way of the task that shows no head; else busy until all stops have left.

    Source: Gamma (ASPLOS 2021) merges 64 fibers a processing element by a balanced tree; here any radix up to
    256. The buffers, and that nodes wait for all of their inputs, are choices of this model.

    Args:
        name: instance name.
        radix: number of ways.
        stages: pipeline stages, at the most one a level of the tree; 1 for all of it in one cycle.

    Raises:
        ValueError: if the radix is out of ``RADIX``, or there is no stage.
        SimulationError: when built, unless as many ways are connected as the radix says; in the run, if a
            task names more ways than there are.
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
        least, most = RADIX
        if not least <= radix <= most:
            raise ValueError(f"{name}: radix must be from {least} to {most}, not {radix}")
        if stages < 1:
            raise ValueError(f"{name}: stages must be at least 1, not {stages}")
        self.radix = radix
        self._lay_out(nodes_of(radix, stages))
        self.task = -1  # as the one who gives the tasks numbers them
        self.fan_in = 0
        self.merging = 0  # nodes of the first stage that are in the midst of the task
        self.blocked = False  # whether the root had a token and no room in this tick
        self.moved = False  # whether a token left a way or the merger in this tick
        self.under_way = 0  # merges whose stop has not left
        self.merged_elements = 0
        self.merges = 0

    def _lay_out(self, nodes: tuple[tuple[int, int], ...]) -> None:  # C: def
        """State of nodes, of their inputs and of the buffers behind them, in words as short as they can be.

        The host's cache holds the mergers of a whole machine then.
        """
        count = len(nodes)
        self.root = count - 1
        self.leaves = sum(first < self.radix for first, _ in nodes)
        self.first = array("h", [first for first, _ in nodes])
        self.most = array("h", [ways for _, ways in nodes])
        self.fan = array("h", self.most)  # inputs that take part
        self.parent = array("h", [self._parent_of(self.radix + node, nodes) for node in range(count)])
        # Things that a node waits for: the heads of its inputs, those of all its ways being one, and room.
        self.lacking = array("h", [1 if first < self.radix else ways for first, ways in nodes])
        self.heads = array("q", [NEW] * (self.radix + count))  # coordinates, also of those that left last
        self.held = array("b", bytes(count))  # tokens in the buffer behind a node
        # Where in ``words`` the first of them begins; the other slot's place differs in the bit ``WORDS``.
        self.front = array("h", [SLOTS * WORDS * node for node in range(count)])
        tokens = memoryview(bytearray(8 * WORDS * SLOTS * count))
        self.words, self.values = tokens.cast("q"), tokens.cast("d")  # the same memory
        self.ready = array("h", bytes(2 * count))  # a ring of the nodes that lack nothing
        self.next_ready = self.ready_count = 0
        self.watching = array("h", bytes(2 * self.leaves))  # nodes that wait for heads of their ways,
        self.watching_count = 0
        self.awaited = array("h", bytes(2 * self.leaves))  # the first of these ways,
        self.awaited_end = array("h", bytes(2 * self.leaves))  # and the one behind the last

    @staticmethod
    def _parent_of(place: int, nodes: tuple[tuple[int, int], ...]) -> int:
        return next((node for node, (first, ways) in enumerate(nodes) if first <= place < first + ways), -1)

    def elaborate(self) -> None:
        """Fetch the channels, and count the ways."""
        super().elaborate()
        if len(self.ways) != self.radix:
            raise SimulationError(
                f"{self.name}: connect {self.radix} ways, as its radix says, not {len(self.ways)}"
            )

    def tick(self, now: int) -> int:
        """Let every node pass on its smallest head that can."""
        if self.merging == 0 and self.tasks.can_pop():
            self._begin()
        self.blocked = self.moved = False
        self._watch_ways()
        if self._pass_on_all():
            self.wake_at(now + 1)
        return self._state_of(now)

    def _state_of(self, now: int) -> int:
        if self.moved:
            return self.busy(now + 1)
        if self.blocked:
            return self.wait_output(self.merged)
        if self.watching_count > 0:
            return self.wait_input(self.ways[self._missing()])
        return self.busy(now + 1) if self.under_way > 0 else self.idle()

    def _missing(self) -> int:  # C: noexcept
        """The first way that shows no head; only when no token has left a way in this tick."""
        missing = self.radix  # C: long
        for i in range(self.watching_count):
            missing = min(missing, self.awaited[self.watching[i]])
        return missing

    def _begin(self) -> None:
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
        for node in range(self.leaves):
            self.fan[node] = min(max(self.fan_in - self.first[node], 0), self.most[node])
            self._watch(node, self.first[node], self.fan[node])

    def _watch(self, node: int, way: int, count: int) -> None:  # C: noexcept
        """Look for the heads of these ways of a node from the next time on."""
        self.awaited[node] = way
        self.awaited_end[node] = way + count
        self.watching[self.watching_count] = node
        self.watching_count += 1

    def _watch_ways(self) -> None:  # C: noexcept
        """See the heads that have come to ways; a node all of whose ways show theirs may pass one on."""
        count = self.watching_count
        self.watching_count = 0
        for i in range(count):
            node = self.watching[i]
            if self._sees_all(node):
                self._lack_less(node)
            else:
                self.watching[self.watching_count] = node
                self.watching_count += 1

    def _sees_all(self, node: int) -> bool:  # C: noexcept
        for place in range(self.awaited[node], self.awaited_end[node]):
            way = inline.channel(self.ways[place])
            if not way.can_pop():
                self.awaited[node] = place
                return False
            self.heads[place] = way.coordinate() if way.control() == DATA else ENDED
        return True

    def _lack_less(self, node: int) -> None:  # C: noexcept, inline
        """A head that a node waited for has come, or room."""
        self.lacking[node] -= 1
        if self.lacking[node] == 0:
            self._make_ready(node)

    def _make_ready(self, node: int) -> None:  # C: noexcept, inline
        end = self.next_ready + self.ready_count
        self.ready[end if end <= self.root else end - self.root - 1] = node
        self.ready_count += 1

    def _pass_on_all(self) -> bool:
        """Let the nodes that are ready now pass on a token each; whether one did.

        What they make ready comes behind them in the ring: its turn is the next cycle. A node that is ready
        lacks nothing, whatever others do before its turn.
        """
        left = False
        for _ in range(self.ready_count):
            node = self.ready[self.next_ready]
            self.next_ready = self.next_ready + 1 if self.next_ready < self.root else 0
            self.ready_count -= 1
            if node == self.root and not self.merged.can_push():
                self.blocked = True
                self._make_ready(node)
            else:
                self._pass_on(node)
                left = True
        return left

    def _pass_on(self, node: int) -> None:
        """Pass on the smallest head of a node that is ready, or the stops of all its inputs as one."""
        smallest = self._smallest(node)
        if smallest == ENDED:
            self._pass_stop(node)
        elif smallest < self.radix:
            self._pass_from_way(node, smallest)
        else:
            self._pass_from_buffer(node, smallest - self.radix)
        if self.lacking[node] == 0:
            self._make_ready(node)

    def _smallest(self, node: int) -> int:  # C: noexcept, inline
        """The input whose head is the smallest, ``ENDED`` if all have ended."""
        smallest = coordinate = ENDED
        for place in range(self.first[node], self.first[node] + self.fan[node]):
            if self.heads[place] < coordinate:
                coordinate = self.heads[place]
                smallest = place
        return smallest

    def _pass_from_way(self, node: int, place: int) -> None:
        way = inline.channel(self.ways[place])
        self._push(node, self.heads[place], way.reference(), way.value())
        way.pop()
        self.moved = True
        self.lacking[node] += 1
        self._watch(node, place, 1)

    def _pass_from_buffer(self, node: int, behind: int) -> None:  # C: inline
        at = self.front[behind]
        self._push(node, self.words[at + COORDINATE], self.words[at + REFERENCE], self.values[at + VALUE])
        self._take(node, behind)

    def _pass_stop(self, node: int) -> None:
        self._push(node, ENDED, 0, 0.0)
        if node < self.leaves:
            self._end(node)
        else:
            for place in range(self.first[node], self.first[node] + self.fan[node]):
                self._take(node, place - self.radix)

    def _end(self, node: int) -> None:
        """Take the stops of a node's ways, whose heads it lacks until the next task."""
        for way in range(self.first[node], self.first[node] + self.fan[node]):
            inline.channel(self.ways[way]).pop()
            self.moved = True
        self.lacking[node] += 1
        self.merging -= 1

    def _take(self, node: int, behind: int) -> None:  # C: noexcept, inline
        """Take the token that a node has passed on out of the buffer behind another, which then has room."""
        if self.held[behind] == SLOTS:
            self._lack_less(behind)
        self.held[behind] -= 1
        self.front[behind] ^= WORDS
        if self.held[behind] > 0:
            self._show(behind)
        else:
            self.lacking[node] += 1

    def _show(self, node: int) -> None:  # C: noexcept, inline
        """Show the parent of a node the first token in the buffer behind it."""
        self.heads[self.radix + node] = self.words[self.front[node] + COORDINATE]

    def _push(self, node: int, coordinate: int, reference: int, value: float) -> None:  # C: inline
        """Put a token behind a node, whose parent may have waited for it."""
        if node == self.root:
            self._emit(coordinate, reference, value)
        else:
            self._store(node, coordinate, reference, value)

    def _store(self, node: int, coordinate: int, reference: int, value: float) -> None:  # C: noexcept, inline
        at = self.front[node] ^ WORDS * self.held[node]
        self.words[at + COORDINATE] = coordinate
        self.words[at + REFERENCE] = reference
        self.values[at + VALUE] = value
        self.held[node] += 1
        if self.held[node] == SLOTS:
            self.lacking[node] += 1
        else:
            self._show(node)
            self._lack_less(self.parent[node])

    def _emit(self, coordinate: int, reference: int, value: float) -> None:
        if coordinate == ENDED:
            self.merged.push(STOP)
            self.under_way -= 1
        else:
            self.merged.push(DATA, coordinate, reference, value)
            self.merged_elements += 1
        self.moved = True

    def sample(self) -> tuple[int, ...]:
        """What it merges, and the two smallest heads at its ways.

        - ``phase``: of the merge: its first heads come, elements leave the ways, or but the stop is left;
        - ``task``, ``fan_in``: the task and its ways; ``alive``: those of them that have not ended;
        - ``way``, ``coordinate``: the smallest head, which left in this cycle or, at a stall, leaves next;
        - ``rival_way``, ``rival``: the smallest head of the other ways.

        Numbers are -1 where there is no such thing.
        """
        if self.merging == 0:
            return (IDLE_PHASE, -1, 0, 0, -1, -1, -1, -1)
        heads = [(self.heads[way], way) for way in range(self.fan_in)]
        alive = sorted(head for head in heads if NEW < head[0] < ENDED)
        (coordinate, way), (rival, rival_way) = [*alive, (-1, -1), (-1, -1)][:2]
        ended = sum(head == ENDED for head, _ in heads)
        return (
            self._phase(len(alive), self.fan_in - len(alive) - ended),
            self.task,
            self.fan_in,
            len(alive),
            way,
            coordinate,
            rival_way,
            rival,
        )

    def _phase(self, alive: int, new: int) -> int:  # C: noexcept
        if new > 0:
            return LOADING
        return EMITTING if alive > 0 else ENDING
