# cython: infer_types=True
"""Pipelines through which rows flow, a token from every lane: what the blocks of several lanes share."""

from __future__ import annotations

from array import array

from fiberscope.hw.lanes.pipeline import Pipeline
from fiberscope.hw.stream import DATA
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError

MAXIMUM_LANES = 256
MAXIMUM_WIDTH = 62  # a sum of two numbers fits a signed word


class RowPipeline(Component):
    """Takes rows, and lets out a row for each ``depth`` cycles later.

    A row is one token from every lane. It is taken when all lanes show their token, and leaves when all
    outputs have space; the stages move in step, see ``fiberscope.hw.lanes.pipeline``. With a depth of 0 it
    leaves in the cycle in which it is taken: the channels behind are the block's only register.

    Subclasses declare an array of input and of output ports, and compute: ``_take`` looks at the heads of
    ``inputs`` and leaves the row that is to come out from ``place`` on in ``kinds``, ``coordinates``,
    ``references`` and ``values``. What they need beside the rows they say by ``_can_take``
    and ``_wait``, and take in by ``_prepare``.

    Args:
        name: instance name.
        ports: the names of the input and of the output ports.
        lanes: tokens a cycle, 1 to 256.
        depth: stages, those whose register the channels behind are left out.

    Raises:
        SimulationError: when built, unless as many ports are connected as there are lanes.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, depth: int) -> None:
        super().__init__(name)
        self.ports = ports
        self.lanes = lanes
        self.pipeline = Pipeline(depth)
        places = max(depth, 1) * lanes
        self.kinds = array("q", bytes(8 * places))
        self.coordinates = array("q", bytes(8 * places))
        self.references = array("q", bytes(8 * places))
        self.values = array("d", bytes(8 * places))
        self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels of the lanes."""
        self.inputs, self.outputs = (
            self.channels(port) for port in self.ports
        )  # C: inputs=list, outputs=list
        for port, channels in zip(self.ports, (self.inputs, self.outputs), strict=True):
            if len(channels) != self.lanes:
                raise SimulationError(
                    f"{self.name}: connect {self.lanes} {port}, one a lane, not {len(channels)}"
                )

    def tick(self, now: int) -> int:
        """Let the oldest row leave, if it is at the end, and take a new one."""
        pipeline = self.pipeline
        if pipeline.depth == 0:
            return self._pass_on(now)
        leaves = pipeline.stands(now)
        if leaves:
            full = self._full()
            if full >= 0:
                return self.wait_output(self.outputs[full])
            self._send(pipeline.leave(now) * self.lanes)
        shown = self._shown()
        enters = shown == self.lanes and self._can_take()
        if enters:
            self._enter(pipeline.enter(now) * self.lanes)
        prepares = self._prepare()
        if leaves or enters or prepares:
            return self.busy(now + 1)
        if pipeline.filled > 0:
            return self.busy(pipeline.due())
        return self._wait(shown)

    def _pass_on(self, now: int) -> int:
        """Without stages: let the row that shows out."""
        shown = self._shown()
        if shown < self.lanes or not self._can_take():
            return self.busy(now + 1) if self._prepare() else self._wait(shown)
        full = self._full()
        if full >= 0:
            return self.wait_output(self.outputs[full])
        self._enter(0)
        self._send(0)
        self._prepare()
        return self.busy(now + 1)

    def _can_take(self) -> bool:  # C: noexcept
        """Return whether all is there that a row needs beside its tokens."""
        return True

    def _prepare(self) -> bool:
        """Take in what is needed for rows to come; whether there was anything. Not while the stages stand."""
        return False

    def _take(self, place: int) -> None:
        """Leave what becomes of the row that shows in the arrays, from ``place`` on."""

    def _wait(self, shown: int) -> int:
        """Say for what the empty pipeline waits while this many lanes show a token."""
        return self.wait_input(self._missing()) if shown > 0 else self.idle()

    def _full(self) -> int:  # C: noexcept
        """The first output without space, or -1."""
        for lane in range(self.lanes):
            output = self.outputs[lane]  # C: Channel
            if not output.can_push():
                return lane
        return -1

    def _shown(self) -> int:  # C: noexcept
        """Count the lanes that show a token."""
        shown = 0
        for source in self.inputs:  # C: Channel
            if source.can_pop():
                shown += 1
        return shown

    def _missing(self) -> Channel:
        """The first lane that shows none; only when there is one."""
        lane = 0
        source = self.inputs[lane]  # C: Channel
        while source.can_pop():
            lane += 1
            source = self.inputs[lane]
        return source

    def _enter(self, place: int) -> None:
        """Take a row; what becomes of it is known at once, and waits in the pipeline."""
        self._take(place)
        for source in self.inputs:  # C: Channel
            source.pop()
        self.rows += 1

    def _send(self, first: int) -> None:
        """Let out the row that stands from here on."""
        for lane in range(self.lanes):
            place = first + lane
            output = self.outputs[lane]  # C: Channel
            if self.kinds[place] == DATA:
                output.push(DATA, self.coordinates[place], self.references[place], self.values[place])
            else:
                output.push(self.kinds[place])


class ArrayPipeline(RowPipeline):
    """Takes arrays of unsigned integers row by row.

    An array ends with a row in which a lane and all behind it show stops; all lanes do, where its length is a
    multiple of the lanes.

    Subclasses compute: ``_begin`` at the first row of an array, ``_compute`` for each number, which is to
    leave its result at ``place`` in ``coordinates`` and ``references``. What an array needs beside its rows
    they say by ``_can_begin``.

    Args:
        name, ports, lanes, depth: as of a ``RowPipeline``.
        width: bits of a number, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many ports are connected as there are lanes; in the run, if a
            number is no unsigned integer of ``width`` bits, or is behind a stop in its row.
    """

    def __init__(self, name: str, ports: tuple[str, str], lanes: int, width: int, depth: int) -> None:
        super().__init__(name, ports, lanes, depth)
        self.width = width
        self.largest = (1 << width) - 1
        self.in_array = False  # an array
        self.numbers = 0

    def _can_take(self) -> bool:
        return self.in_array or self._can_begin()

    def _can_begin(self) -> bool:  # C: noexcept
        """Return whether all is there that an array needs beside its rows."""
        return True

    def _begin(self) -> None:
        """Prepare for an array, whose first row is taken in this cycle."""

    def _compute(self, number: int, reference: int, place: int) -> None:
        """Leave the result for a number, in the order of the array."""

    def _wait(self, shown: int) -> int:
        return self.wait_input(self._missing()) if self.in_array or shown > 0 else self.idle()

    def _take(self, place: int) -> None:
        if not self.in_array:
            self._begin()
        length = 0
        for lane in range(self.lanes):
            source = self.inputs[lane]  # C: Channel
            self.kinds[place + lane] = source.control()
            if source.control() == DATA:
                self._check(source.coordinate(), lane, length)
                self._compute(source.coordinate(), source.reference(), place + lane)
                self.values[place + lane] = source.value()
                length += 1
        self.in_array = length == self.lanes
        self.numbers += length

    def _check(self, number: int, lane: int, length: int) -> None:
        """Refuse a number that is too wide, or that comes behind a stop."""
        if length < lane:
            raise SimulationError(
                f"{self.name}: {self.ports[0]}[{lane}] shows a number in a row with a stop at "
                f"{self.ports[0]}[{length}]; all lanes behind a stop hold stops"
            )
        if number < 0 or number > self.largest:
            raise SimulationError(
                f"{self.name}: {number} at {self.ports[0]}[{lane}] is no unsigned integer "
                f"of {self.width} bits"
            )


class ConstantPipeline(ArrayPipeline):
    """Takes arrays that have a constant each, on a port of its own, for all lanes and with the first row.

    It is taken together with that row, even one of stops; so it is loaded once an array, and costs no cycle.

    Args:
        name, ports, lanes, width, depth: as of an ``ArrayPipeline``.
        constants: the name of the port for the constants.

    Raises:
        ValueError, SimulationError: as an ``ArrayPipeline``; in the run, if a constant is no unsigned integer
            of ``width`` bits.
    """

    def __init__(
        self, name: str, ports: tuple[str, str], lanes: int, width: int, depth: int, constants: str
    ) -> None:
        super().__init__(name, ports, lanes, width, depth)
        self.constants_port = constants  # C: str
        self.constant = 0  # of the array taken last

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.constants = self.channel(self.constants_port)  # C: Channel

    def _can_begin(self) -> bool:
        return self.constants.can_pop()

    def _begin(self) -> None:
        self.constant = self.constants.coordinate()
        if self.constant < 0 or self.constant > self.largest:
            raise SimulationError(
                f"{self.name}: {self.constant} at {self.constants_port} is no unsigned integer "
                f"of {self.width} bits"
            )
        self.constants.pop()

    def _wait(self, shown: int) -> int:
        if shown == self.lanes:
            return self.wait_input(self.constants)
        if self.in_array or shown > 0 or self.constants.can_pop():
            return self.wait_input(self._missing())
        return self.idle()


def check_size(name: str, lanes: int, width: int) -> None:
    """Refuse numbers of lanes and widths that cannot be.

    Raises:
        ValueError: naming the component and the range.
    """
    if not 1 <= lanes <= MAXIMUM_LANES:
        raise ValueError(f"{name}: lanes must be from 1 to {MAXIMUM_LANES}, not {lanes}")
    if not 1 <= width <= MAXIMUM_WIDTH:
        raise ValueError(f"{name}: width must be from 1 to {MAXIMUM_WIDTH}, not {width}")
