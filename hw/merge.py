"""The high-radix merger: a balanced tree of comparators over the heads of its ways, in pipeline stages."""

from __future__ import annotations

from array import array

from hw.stream import DATA, STOP, STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError
from sim.protocol import Protocol

# Ways 0 to fan_in - 1 take part; the task is for waveforms.
MERGE_TASK = Protocol("merge task", coordinate="fan_in", reference="task")
RADIX = (2, 256)  # least and most ways of a merger
COORDINATE_BITS = 55  # of an element's coordinate, at the most
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
        self.missing = -1  # the first way that showed no head in this tick
        self.blocked = False  # whether the root had a token and no room in this tick
        self.moved = False  # whether a token left a way or the merger in this tick
        self.under_way = 0  # merges whose stop has not left
        self.merged_elements = 0
        self.merges = 0

    def _lay_out(self, nodes: tuple[tuple[int, int], ...]) -> None:
        """State of nodes, of their inputs and of the buffers behind them."""
        count = len(nodes)
        inputs = self.radix + count
        self.root = count - 1
        self.leaves = sum(first < self.radix for first, _ in nodes)
        self.first = array("q", [first for first, _ in nodes])
        self.most = array("q", [ways for _, ways in nodes])
        self.fan = array("q", self.most)  # inputs that take part
        self.running = array("q", [int(first >= self.radix) for first, _ in nodes])
        self.parent = array("q", [-1] * inputs)
        for node, (first, ways) in enumerate(nodes):
            for place in range(first, first + ways):
                self.parent[place] = node
        self.heads = array("q", [NEW] * inputs)  # coordinates, also of those that left last
        self.seen = array("q", bytes(8 * inputs))  # whether the head is there now
        self.held = array("q", bytes(8 * count))  # tokens in the buffer behind a node
        self.oldest = array("q", bytes(8 * count))  # the slot of the first of them
        self.pushed = array("q", [-1] * count)  # the last cycle in which one came
        self.popped = array("q", [-1] * count)  # the last cycle in which one left
        self.coordinates = array("q", bytes(8 * SLOTS * count))
        self.references = array("q", bytes(8 * SLOTS * count))
        self.values = array("d", bytes(8 * SLOTS * count))
        self.awake = array("q", bytes(8 * count))  # nodes to look at in the next tick
        self.is_awake = array("q", bytes(8 * count))
        self.looked_at = array("q", bytes(8 * count))
        self.awake_count = 0

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
        self.missing = -1
        self.blocked = self.moved = False
        if self._pass_on_all(now):
            self.wake_at(now + 1)
        return self._state_of(now)

    def _state_of(self, now: int) -> int:
        if self.moved:
            return self.busy(now + 1)
        if self.blocked:
            return self.wait_output(self.merged)
        if self.missing >= 0:
            return self.wait_input(self.ways[self.missing])
        return self.busy(now + 1) if self.under_way > 0 else self.idle()

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
            self.running[node] = 1
            self._wake(node)

    def _pass_on_all(self, now: int) -> bool:
        """Look at the nodes that are awake; whether a token left any of them."""
        count = self.awake_count
        self.awake_count = 0
        for i in range(count):
            self.looked_at[i] = self.awake[i]
            self.is_awake[self.awake[i]] = 0
        left = False
        for i in range(count):
            if self._pass_on(self.looked_at[i], now):
                left = True
        return left

    def _wake(self, node: int) -> None:
        if not self.is_awake[node]:
            self.is_awake[node] = 1
            self.awake[self.awake_count] = node
            self.awake_count += 1

    def _pass_on(self, node: int, now: int) -> bool:
        """Pass on the smallest head of a node, if it can; whether it did.

        A node that waits for a way or for the channel at ``merged`` stays awake; others are woken by the node
        whose token or room they wait for.
        """
        if not self.running[node]:
            return False
        smallest = self._smallest(node, now)
        if smallest == NEW or not self._has_room(node, now):
            return False
        if smallest == ENDED:
            self._pass_stop(node, now)
        else:
            self._pass_element(node, smallest, now)
        self._wake(node)
        return True

    def _smallest(self, node: int, now: int) -> int:
        """The input whose head is the smallest, ``ENDED`` if all have ended, ``NEW`` if one shows none."""
        smallest = ENDED
        coordinate = ENDED
        for place in range(self.first[node], self.first[node] + self.fan[node]):
            if not self.seen[place] and not self._sees(place, now):
                self._miss(place, node)
                return NEW
            if self.heads[place] < coordinate:
                coordinate = self.heads[place]
                smallest = place
        return smallest

    def _sees(self, place: int, now: int) -> bool:
        """Whether an input shows its head in this cycle, which is noted."""
        if place < self.radix:
            way = self.ways[place]
            if not way.can_pop():
                return False
            self.heads[place] = way.coordinate() if way.control() == DATA else ENDED
        else:
            behind = place - self.radix
            if self.held[behind] <= (1 if self.pushed[behind] == now else 0):
                return False
            self.heads[place] = self.coordinates[SLOTS * behind + self.oldest[behind]]
        self.seen[place] = 1
        return True

    def _miss(self, place: int, node: int) -> None:
        if place < self.radix:
            if self.missing < 0 or place < self.missing:
                self.missing = place
            self._wake(node)

    def _has_room(self, node: int, now: int) -> bool:
        if node == self.root:
            self.blocked = not self.merged.can_push()
            if self.blocked:
                self._wake(node)
            return not self.blocked
        return self.held[node] + (1 if self.popped[node] == now else 0) < SLOTS

    def _pass_element(self, node: int, place: int, now: int) -> None:
        coordinate = self.heads[place]
        if place < self.radix:
            way = self.ways[place]
            self._push(node, now, coordinate, way.reference(), way.value())
        else:
            slot = SLOTS * (place - self.radix) + self.oldest[place - self.radix]
            self._push(node, now, coordinate, self.references[slot], self.values[slot])
        self._take(place, now)

    def _pass_stop(self, node: int, now: int) -> None:
        for place in range(self.first[node], self.first[node] + self.fan[node]):
            self._take(place, now)
        self._push(node, now, ENDED, 0, 0.0)
        if node < self.leaves:
            self.running[node] = 0
            self.merging -= 1

    def _take(self, place: int, now: int) -> None:
        """Take the head of an input; the node behind which it was may have waited for its room."""
        self.seen[place] = 0
        if place < self.radix:
            self.ways[place].pop()
            self.moved = True
        else:
            behind = place - self.radix
            if self.held[behind] == SLOTS:
                self._wake(behind)
            self.held[behind] -= 1
            self.oldest[behind] ^= 1
            self.popped[behind] = now

    def _push(self, node: int, now: int, coordinate: int, reference: int, value: float) -> None:
        """Put a token behind a node, whose parent may have waited for it."""
        if node == self.root:
            self._emit(coordinate, reference, value)
        else:
            slot = SLOTS * node + (self.oldest[node] ^ (self.held[node] & 1))
            self.coordinates[slot] = coordinate
            self.references[slot] = reference
            self.values[slot] = value
            self.held[node] += 1
            self.pushed[node] = now
            if not self.seen[self.radix + node]:
                self._wake(self.parent[self.radix + node])

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

    def _phase(self, alive: int, new: int) -> int:
        if new > 0:
            return LOADING
        return EMITTING if alive > 0 else ENDING
