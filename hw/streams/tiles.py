"""Vectors and tiles as values: blocks that compute with small dense arrays.

A token says that a tile is there; the tile itself lies in the store of the block that made it (see
``hw.store``), under the number that the token carries. Only that block writes there, and a tile is never
changed once its token has left. Tiles are kept to the end of the run.

Source: the tiles as values, with a delay for each operation, in branches of the public simulator
(weiya711/sam); the vectorized blocks of SAM (ASPLOS 2023), Section 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hw.streams.block import StreamBlock
from hw.streams.output import OutputStream
from hw.streams.ports import output_stream
from hw.streams.quirks import CLEAN
from hw.streams.tokens import DATA, DONE, EMPTY, REF, STOP, VAL
from sim.channel import Channel
from sim.component import Input
from sim.errors import SimulationError
from sim.names import nearest
from sim.protocol import Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tile = NDArray[np.float64]

TILE = Protocol("tile", control="kind", coordinate="tile")

OPERATIONS = {
    "mul": np.multiply,
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "matmul": np.matmul,
}


class TileBlock(StreamBlock):
    """What makes tiles: ``tiles`` is its store.

    Args:
        name: instance name.
        delay: cycles that an operation takes beyond the one of an update.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the delay is negative.
    """

    out_tile: OutputStream

    def __init__(self, name: str, delay: int = 0, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if delay < 0:
            raise ValueError(f"{name}: a delay must be at least 0, not {delay}")
        self.tiles: list[Any] = []
        self.delay = delay
        self.working = False  # an operation is in progress
        self.ready = 0  # the cycle in which it is finished

    def send(self, tile: Tile) -> None:
        """Put a tile into the store, and send its number."""
        self.tiles.append(tile)
        self.out_tile.push(DATA, len(self.tiles) - 1)

    def operates(self, now: int) -> bool:
        """Whether the operation on the heads, which begins now if none is in progress, has to go on."""
        if not self.working:
            self.working, self.ready = True, now + self.delay
        self.working = now < self.ready
        return self.working


class TileLoad(TileBlock):
    """An array of tiles: references in, tiles out.

    Interface: a reference on ``in_ref`` gives that tile on ``out_tile``, an N one of zeros; stops pass.

    Timing: a token a cycle.

    Args:
        name: instance name.
        tiles: the array, tile behind tile, all of one shape.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if a reference names no tile.
    """

    PORTS = (Input("in_ref", REF), output_stream("out_tile", TILE))

    in_ref: Channel

    def __init__(self, name: str, tiles: Sequence[Tile], quirks: int = CLEAN) -> None:
        super().__init__(name, 0, quirks)
        self.count = len(tiles)
        shape = np.shape(tiles[0]) if self.count else (1, 1)
        self.tiles = [*tiles, np.zeros(shape)]

    def update(self, now: int) -> int:
        """Load a tile."""
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        kind, payload = self.in_ref.control(), self.in_ref.coordinate()
        if kind == DATA and not 0 <= payload < self.count:
            raise SimulationError(f"{self.name}: reference {payload} names no tile; there are {self.count}")
        self.in_ref.pop()
        self.out_tile.push(DATA if kind == EMPTY else kind, self.count if kind == EMPTY else payload)
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class TileAlu(TileBlock):
    """Computes with two streams of tiles of the same shape.

    Interface: tiles of the stores ``a`` and ``b`` on ``in_tile[0]`` and ``in_tile[1]``; results leave on
    ``out_tile``. All operations but ``matmul`` work element by element.

    Timing: a pair of tiles takes 1 + ``delay`` cycles, and its result leaves in the last of them. A stop
    takes one.

    Counts: ``operations`` done.

    Args:
        name: instance name.
        a: the block whose tiles come first.
        b: the block whose tiles come second.
        operation: ``"mul"``, ``"add"``, ``"sub"``, ``"max"``, ``"min"`` or ``"matmul"``.
        delay: see ``TileBlock``.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there is no such operation.
        SimulationError: in the run, if the streams have not the same shape, naming the cycle.
    """

    PORTS = (Input("in_tile", TILE, array=True), output_stream("out_tile", TILE))
    COUNTERS = ("operations",)

    in_tile: list[Channel]

    def __init__(
        self,
        name: str,
        a: TileBlock,
        b: TileBlock,
        operation: str = "mul",
        delay: int = 0,
        quirks: int = CLEAN,
    ) -> None:
        super().__init__(name, delay, quirks)
        if operation not in OPERATIONS:
            raise ValueError(f"{name} has no operation {operation}; {nearest(operation, OPERATIONS)}")
        self.compute = OPERATIONS[operation]
        self.stores = (a, b)
        self.operations = 0

    def update(self, now: int) -> int:
        """Combine the heads."""
        for channel in self.in_tile:
            if not channel.can_pop():
                return self.wait_input(channel)
        kinds = {
            (head.control(), head.coordinate() if head.control() == STOP else 0) for head in self.in_tile
        }
        if len(kinds) > 1:
            raise SimulationError(f"cycle {now}, {self.name}: the operands must have the same shape")
        ((kind, level),) = kinds
        if kind == DATA:
            if self.operates(now):
                return self.busy(self.ready)
            a, b = (
                store.tiles[head.coordinate()] for store, head in zip(self.stores, self.in_tile, strict=True)
            )
            self.send(self.compute(a, b))
            self.operations += 1
        else:
            self.out_tile.push(kind, level)
        for channel in self.in_tile:
            channel.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class TileReduce(TileBlock):
    """Adds up the tiles of each innermost fiber.

    Interface: tiles of depth d on ``in_tile``, of depth d - 1 on ``out_tile``; an empty fiber gives a tile of
    zeros.

    Timing: a tile takes 1 + ``delay`` cycles, the stop of a fiber one, in which its sum leaves, and one more
    for the stop of lists above, as in ``ScalarReduce``.

    Args:
        name: instance name.
        source: the block whose tiles they are.
        shape: of a tile.
        delay: see ``TileBlock``.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_tile", TILE), output_stream("out_tile", TILE))
    COUNTERS = ("operations",)

    in_tile: Channel

    def __init__(
        self, name: str, source: TileBlock, shape: tuple[int, ...], delay: int = 0, quirks: int = CLEAN
    ) -> None:
        super().__init__(name, delay, quirks)
        self.source = source
        self.shape = shape
        self.sum: Tile = np.zeros(shape)
        self.owed = -1  # level of the stop to send next
        self.operations = 0

    def update(self, now: int) -> int:
        """Add a tile, or send the sum."""
        if self.owed >= 0:
            self.out_tile.push(STOP, self.owed)
            self.owed = -1
            return self.busy(now + 1)
        if not self.in_tile.can_pop():
            return self.wait_input(self.in_tile)
        kind, payload = self.in_tile.control(), self.in_tile.coordinate()
        if kind == DATA:
            if self.operates(now):
                return self.busy(self.ready)
            self.sum = self.sum + self.source.tiles[payload]
            self.operations += 1
        elif kind == STOP:
            self.send(self.sum)
            self.sum = np.zeros(self.shape)
            self.owed = payload - 1
        else:
            self.out_tile.push(kind)
        self.in_tile.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class Pack(TileBlock):
    """Makes vectors of the values of each fiber: the parallelizer of values.

    Interface: values on ``in_val``; of each fiber leave vectors of ``lanes`` values on ``out_tile``, the last
    of what is left. A value N counts as 0.

    Timing: a value takes a cycle, and the last of a vector sends it. In front of a stop, a vector that is not
    full takes a cycle more.

    Args:
        name: instance name.
        lanes: values of a vector, at least 1.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there are no lanes.
    """

    PORTS = (Input("in_val", VAL), output_stream("out_tile", TILE))

    in_val: Channel

    def __init__(self, name: str, lanes: int, quirks: int = CLEAN) -> None:
        super().__init__(name, 0, quirks)
        if lanes < 1:
            raise ValueError(f"{name}: a vector has at least one lane, not {lanes}")
        self.lanes = lanes
        self.values: list[float] = []

    def update(self, now: int) -> int:
        """Take a value, or send what is behind it."""
        source = self.in_val
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        takes = kind in (DATA, EMPTY)
        if takes:
            self.values.append(source.value() if kind == DATA else 0.0)
        if self.values and (not takes or len(self.values) == self.lanes):
            self.send(np.array(self.values))
            self.values = []
            if not takes:
                return self.busy(now + 1)
        elif not takes:
            self.out_tile.push(kind, source.coordinate())
        source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class Unpack(StreamBlock):
    """Makes a stream of the values of tiles, row by row: the serializer of values.

    Interface: tiles of a block's store on ``in_tile``; their values leave on ``out_val``. Stops pass.

    Timing: a value a cycle, the first in the cycle in which its tile is seen.

    Args:
        name: instance name.
        source: the block whose tiles they are.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_tile", TILE), output_stream("out_val", VAL))

    in_tile: Channel
    out_val: OutputStream

    def __init__(self, name: str, source: TileBlock, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.source = source
        self.sent = 0  # values of the tile

    def update(self, now: int) -> int:
        """Send a value, or a stop."""
        head = self.in_tile
        if not head.can_pop():
            return self.wait_input(head)
        kind, payload = head.control(), head.coordinate()
        if kind == DATA:
            values = self.source.tiles[payload].ravel()
            self.out_val.push(DATA, 0, values[self.sent])
            self.sent += 1
            if self.sent < len(values):
                return self.busy(now + 1)
            self.sent = 0
        else:
            self.out_val.push(kind, payload)
        head.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)
