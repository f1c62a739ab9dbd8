# cython: infer_types=True
"""The memory of an operand's tiles, between the loops over tiles and the graph inside a tile."""

from __future__ import annotations

from array import array
from fractions import Fraction
from typing import ClassVar

from fiberscope.hw.streams.arrays import check_address
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import DATA, DONE, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Signal

_OUTPUT_CAPACITY = 2  # capacity of an output channel: tokens that wait for the graph; their tiles are loaded


class TileMemory(StreamBlock):
    """Holds each reference to a tile back until the tile is loaded.

    Interface: references on ``in_ref`` leave on ``out_ref`` in the same order. Reference r names tile r.
    Stops, done and N name no tile, and wait only for the tokens before them. Each output channel must have a
    capacity of ``OUTPUT_CAPACITY`` tokens, and there must be at least one.

    Timing: in each cycle the block can pop one token and send one token. A block that holds ``ahead`` tokens
    pops none, even in the cycle in which it sends one. A load begins when the reference is popped. The tiles
    are transferred one after another. The end of a transfer is exact, in fractions of a cycle. A tile arrives
    ``latency`` cycles after the end of its transfer, rounded up to a whole cycle. A token leaves at the
    earliest in the cycle in which its tile arrives, which can be the cycle in which the token was popped.
    Loads continue while the outputs have no free slot.

    Space: a load occupies the bytes of its tile from its beginning on. A tile that is in memory or on its way
    is not loaded again. If a tile does not fit, the least recently referenced tiles are evicted (LRU). These
    tiles stay: the tiles of held tokens, of the tokens in the output channels, and the tile in use. The tile
    in use is that of the last reference that the graph took. Each stop or N in an output channel keeps the
    tile of one older reference as well. Without space, the reference waits at the input, and all later tokens
    wait behind it.

    Accounting: a cycle in which a token moves is busy, and so is a cycle in which the oldest token waits for
    its tile. A cycle counts as waiting for output if the oldest token finds an output full, or if the block
    holds no token and the next reference has no space.

    Counts: ``loads`` and ``read_bytes``, from the beginning of a load on; ``reused`` references, whose tiles
    were in memory or on their way; ``evicted`` tiles; ``late_cycles``, in which the oldest token waited for
    its tile, counted when the token leaves.

    Source: SAM (ASPLOS 2023), Section 6.4, has memories of a capacity, bandwidth and latency, and buffers
    several tiles. The replacement of tiles is a choice of this model.

    Args:
        sizes: bytes of each tile.
        capacity: bytes of the memory, at least those of the two largest tiles.
        bytes_per_cycle: bandwidth; 0 for a transfer in no time.
        latency: cycles from the end of a transfer to the arrival of the tile.
        ahead: largest number of tokens held (references, stops, N and done), at least 1.

    Raises:
        SimulationError: during the run, if a reference names no tile.
    """

    PORTS = (Input("in_ref", REF), output_stream("out_ref", REF))
    COUNTERS: ClassVar[tuple[str, ...]] = ("loads", "read_bytes", "reused", "evicted", "late_cycles")
    OUTPUT_CAPACITY: ClassVar[int] = _OUTPUT_CAPACITY  # for importers: a compiled module hides its constants
    SIGNALS = (*StreamBlock.SIGNALS, Signal("held", 16), Signal("used_bytes", 48))

    in_ref: Channel
    out_ref: OutputStream

    def __init__(
        self,
        name: str,
        sizes: memoryview[int],
        capacity: int,
        bytes_per_cycle: Fraction,
        latency: int,
        ahead: int,
    ) -> None:
        super().__init__(name)
        self.sizes = sizes  # C: long[::1]
        self.capacity = capacity
        self.latency = latency
        self.ahead = ahead
        # Fractions of a cycle are counted in units; without a bandwidth, a transfer takes none.
        self._units_per_cycle = int(bytes_per_cycle.numerator) or 1  # C: long
        self._units_per_byte = int(bytes_per_cycle.denominator) if bytes_per_cycle else 0  # C: long
        # The cycle in which the last transfer ends, and units beyond this cycle
        self._transfer_end_cycle = self._transfer_end_units = 0
        self.arrival_by_tile: dict[int, int] = {}  # tiles in the order of the references
        self.used_bytes = 0
        self.loads = self.read_bytes = self.reused = self.evicted = self.late_cycles = 0
        self.loaded = bytearray(len(sizes))  # whether a tile was ever loaded
        # The held tokens are a ring of ``ahead`` slots in four arrays, from slot ``_head`` on: kind, payload,
        # cycle of the pop, and the cycle from which the token may leave.
        self.held = self._head = 0
        self._kinds, self._payloads, self._pop_cycles, self._due_cycles = (
            array("q", bytes(8 * ahead)) for _ in range(4)
        )
        # A ring of the references that left last: those in a full output channel, and the one in use.
        self._sent = array("q", bytes(8 * (_OUTPUT_CAPACITY + 1)))
        self._sent_count = 0
        self._last_sent = -1  # cycle in which the last token left

    def tick(self, now: int) -> int:
        """Pop a token and begin its load, and send the oldest token if its tile has arrived."""
        if self.done:
            return self.idle()
        if self.first_input < 0:
            self._look_for_input(now)
        has_moved = self._accept(now)
        full: Channel | None = None
        if self.held > 0 and self._due_cycles[self._head] <= now:
            full = self._first_full()
            if full is None:
                if self._send(now) == DONE:
                    return self.finish(now)
                has_moved = True
        return self.busy(now + 1) if has_moved else self._wait(full)

    def _accept(self, now: int) -> bool:
        """Pop a token if it and its tile have space, and begin the load; return whether it was popped."""
        if self.held == self.ahead or not self.in_ref.can_pop():
            return False
        due, payload = now, self.in_ref.coordinate()
        if self.in_ref.control() == DATA:
            check_address(self.name, payload, len(self.sizes))
            if payload not in self.arrival_by_tile and not self._make_space(self.sizes[payload]):
                return False
            due = self._look_up_or_load(payload, now)
        slot = (self._head + self.held) % self.ahead
        self._kinds[slot] = self.in_ref.control()
        self._payloads[slot] = payload
        self._pop_cycles[slot] = now
        self._due_cycles[slot] = due
        self.held += 1
        self.in_ref.pop()
        return True

    def _look_up_or_load(self, tile: int, now: int) -> int:
        """Return the cycle in which a tile arrives or has arrived.

        The method begins a load if the tile is neither in memory nor on its way; ``_accept`` has made the
        space. The tile becomes the most recently referenced tile.
        """
        if tile in self.arrival_by_tile:
            self.reused += 1
            arrival = self.arrival_by_tile.pop(tile)
        else:
            arrival = self._load(tile, now)
        self.arrival_by_tile[tile] = arrival  # at the end of the order
        return arrival

    def _load(self, tile: int, now: int) -> int:
        """Begin the load of a tile; return the cycle of its arrival."""
        size = self.sizes[tile]
        if self._transfer_end_cycle < now:  # no transfer is under way, and unused bandwidth is lost
            self._transfer_end_cycle = now
            self._transfer_end_units = 0
        units = self._transfer_end_units + size * self._units_per_byte
        self._transfer_end_cycle += units // self._units_per_cycle
        self._transfer_end_units = units % self._units_per_cycle
        self.used_bytes += size
        self.loads += 1
        self.read_bytes += size
        self.loaded[tile] = 1
        return self._transfer_end_cycle + (self._transfer_end_units > 0) + self.latency

    def _make_space(self, size: int) -> bool:
        """Evict tiles until ``size`` bytes are free; return whether they are.

        If the tiles that need not stay do not suffice together, all of them are evicted nevertheless. The
        reference then waits until further tiles need not stay.
        """
        if self.used_bytes + size <= self.capacity:
            return True
        needed = self._needed_tiles()
        victims, freed = [], 0
        for tile in self.arrival_by_tile:
            if tile not in needed:
                victims.append(tile)
                freed += self.sizes[tile]
                if self.used_bytes - freed + size <= self.capacity:
                    break
        for tile in victims:
            del self.arrival_by_tile[tile]
        self.evicted += len(victims)
        self.used_bytes -= freed
        return self.used_bytes + size <= self.capacity

    def _needed_tiles(self) -> set[int]:
        """Return the tiles that must stay; see ``Space`` in the docstring of the class.

        Tiles on their way are among them: the token that began a load is held until the tile arrives.
        """
        slots = [(self._head + number) % self.ahead for number in range(self.held)]
        tiles = {self._payloads[slot] for slot in slots if self._kinds[slot] == DATA}
        # The tokens in the fullest channel, all counted as references, though some may be stops or N.
        queued = _OUTPUT_CAPACITY - min([channel.free() for channel in self.bounds])
        for age in range(min(self._sent_count, queued + 1)):
            tiles.add(self._sent[(self._sent_count - 1 - age) % (_OUTPUT_CAPACITY + 1)])
        return tiles

    def _send(self, now: int) -> int:
        """Send the oldest token; return its kind."""
        slot = self._head
        kind, payload = self._kinds[slot], self._payloads[slot]
        # The token became the oldest when it was popped, or in the cycle after the last token left.
        self.late_cycles += max(0, self._due_cycles[slot] - max(self._pop_cycles[slot], self._last_sent + 1))
        self.out_ref.push(kind, payload)
        if kind == DATA:
            self._sent[self._sent_count % (_OUTPUT_CAPACITY + 1)] = payload
            self._sent_count += 1
        self._last_sent = now
        self.held -= 1
        self._head = slot + 1 if slot + 1 < self.ahead else 0
        return kind

    def _wait(self, full: Channel | None) -> int:
        """Return the wait state of a cycle without movement; ``full`` is a full output or None."""
        if full is not None:
            return self.wait_output(full)
        lacks_space = self.held < self.ahead and self.in_ref.can_pop()
        for channel in self.bounds if lacks_space else ():
            channel.want(channel.free() + 1)  # a token that the graph takes frees the space of a tile
        if self.held > 0:
            return self.busy(self._due_cycles[self._head])
        # Every consumer can wake the block, but a cycle is accounted to one channel, here the first.
        return self.wait_output(self.bounds[0]) if lacks_space else self.wait_input(self.in_ref)

    @property
    def distinct_bytes(self) -> int:
        """Return the bytes of all tiles that were loaded, each counted once."""
        return sum(size for size, loaded in zip(self.sizes, self.loaded, strict=True) if loaded)
