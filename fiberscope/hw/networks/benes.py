# cython: infer_types=True
"""Benes networks: the minimal one, which permutes, and SIGMA's, which multicasts in one pass."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.lanes.rows import RowPipeline
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

MINIMAL = "minimal"
DOUBLE = "double"
FORMS = (MINIMAL, DOUBLE)
LANES = (2, 256)  # least and most of a network, powers of two

ROUTE_TASK = Protocol("route task", coordinate="vectors")
SETTING = Protocol("setting", coordinate="bits")  # of one row of the network


def columns(form: str, lanes: int) -> int:
    """Columns of multiplexers, n being log2 of the lanes: 2 n - 1 of switches, or 2 n behind column 0."""
    n = lanes.bit_length() - 1
    return 2 * n - 1 if form == MINIMAL else 2 * n


def setting_rows(form: str, lanes: int) -> int:
    """Rows of settings: one for each row of switches (``minimal``) or of nodes (``double``)."""
    return lanes // 2 if form == MINIMAL else lanes


def setting_bits(form: str, lanes: int) -> int:
    """Bits of a row of settings.

    - ``minimal``: bit s of row i says whether switch i of stage s crosses; 2 n - 1 bits.
    - ``double``: bits 2 (j - 1) and 2 (j - 1) + 1 of row i are those of node (i, j), for its horizontal and
      its diagonal output; the last bit is that of output i. A 1 chooses the diagonal input. 4 n - 1 bits.
    """
    return columns(form, lanes) if form == MINIMAL else 2 * columns(form, lanes) - 1


def select_word(settings: Sequence[int], lanes: int) -> int:
    """The select word of SIGMA's RTL from rows of settings: those of all nodes, then those of the outputs.

    With N lanes, 2 N (2 n - 1) + N bits.
    """
    nodes = setting_bits(DOUBLE, lanes) - 1
    word = 0
    for row, bits in enumerate(settings):
        word |= (bits & ((1 << nodes) - 1)) << nodes * row | (bits >> nodes) << nodes * lanes + row
    return word


def distance(column: int, lanes: int) -> int:
    """Return how many rows a diagonal into this column of SIGMA's network crosses: 1, 2, 4 ... 4, 2, 1."""
    n = lanes.bit_length() - 1
    return 1 << (column - 1 if column <= n else 2 * n - column)


def wiring(lanes: int) -> list[list[int]]:
    """For each stage of a minimal network but the first, the place behind the one before it for each."""
    n = lanes.bit_length() - 1
    inward = [_halves(lanes, lanes >> level) for level in range(n - 1)]
    outward = [sorted(range(lanes), key=places.__getitem__) for places in reversed(inward)]
    return inward + outward


def _halves(lanes: int, block: int) -> list[int]:
    """Every block takes the even places of itself into its upper half, the odd ones into its lower half."""
    half = block // 2
    return [
        start + 2 * place + side
        for start in range(0, lanes, block)
        for side in (0, 1)
        for place in range(half)
    ]


def route_permutation(sources: Sequence[int]) -> list[int]:
    """The settings of a minimal network by the looping algorithm: output o shall take input ``sources[o]``.

    Raises:
        ValueError: if that is no permutation of a power of two of lanes.
    """
    lanes = len(sources)
    if sorted(sources) != list(range(lanes)) or lanes & (lanes - 1) or lanes < 2:
        raise ValueError(f"{list(sources)} is no permutation of 2, 4, 8, ... lanes")
    stages = _stages_of(list(sources))
    return [sum(stage[row] << number for number, stage in enumerate(stages)) for row in range(lanes // 2)]


def _stages_of(sources: list[int]) -> list[list[int]]:
    """Return whether each switch crosses, stage by stage."""
    if len(sources) == 2:
        return [[int(sources[0] == 1)]]
    lower = _lower_outputs(sources)
    last = [int(lower[even]) for even in range(0, len(sources), 2)]
    halves: list[list[int]] = [[], []]
    first = [0] * (len(sources) // 2)
    for output, source in enumerate(sources):
        halves[lower[output]].append(source // 2)
        if not source % 2:
            first[source // 2] = int(lower[output])
    upper_stages, lower_stages = map(_stages_of, halves)
    within = [above + below for above, below in zip(upper_stages, lower_stages, strict=True)]
    return [first, *within, last]


def _lower_outputs(sources: list[int]) -> list[bool]:
    """Which outputs are served through the lower half: of each switch at either end one."""
    taker = {source: output for output, source in enumerate(sources)}
    lower: dict[int, bool] = {}
    for start in range(0, len(sources), 2):
        output = start
        while output not in lower:
            lower[output], lower[output ^ 1] = False, True
            output = taker[sources[output ^ 1] ^ 1]  # must come from the upper half: its switch's other input
    return [lower[output] for output in range(len(sources))]


def sources_of(form: str, settings: Sequence[int]) -> list[int]:
    """The input that each output takes with these rows of settings."""
    if form == MINIMAL:
        return _permuted(settings)
    lanes = len(settings)
    return [_traced(settings, output, lanes) for output in range(lanes)]


def _permuted(settings: Sequence[int]) -> list[int]:
    """Stage by stage, which input is at each place."""
    lanes = 2 * len(settings)
    places = list(range(lanes))
    for stage, before in enumerate([places, *wiring(lanes)]):
        places = [places[place] for place in before]
        crosses = [settings[place // 2] >> stage & 1 for place in range(lanes)]
        places = [places[place ^ crosses[place]] for place in range(lanes)]
    return places


def _traced(settings: Sequence[int], output: int, lanes: int) -> int:
    """From an output of SIGMA's network back to the input."""
    row, wire = output, 0
    for column in range(columns(DOUBLE, lanes), 0, -1):
        wire = settings[row] >> (2 * (column - 1) + wire) & 1
        row ^= wire * distance(column, lanes)
    return row


def check_lanes(name: str, lanes: int) -> None:
    """Refuse numbers of lanes that no network has.

    Raises:
        ValueError: naming who wants them.
    """
    least, most = LANES
    if lanes not in range(least, most + 1) or lanes & (lanes - 1):
        raise ValueError(f"{name}: lanes must be a power of two from {least} to {most}, not {lanes}")


class BenesNetwork(RowPipeline):
    """Takes each output from the input that the settings say, for a vector a cycle.

    Interface: a token on ``tasks`` says for how many vectors the settings hold that come with it, one on each
    of ``settings``, see ``setting_bits``. A vector is a row of tokens, one on each of ``inputs``, see
    ``fiberscope.hw.lanes.rows``; on each of ``outputs`` leaves the token of the input to which the settings
    lead, unchanged. With ``double`` several outputs may take one input.

    - ``minimal``: 2 log2 N - 1 stages of N / 2 switches, which cross or not; ``route_permutation`` has the
      settings of any permutation.
    - ``double``: SIGMA's. N rows and 2 log2 N + 1 columns of nodes, numbered from 0. Node (i, j) has an input
      from node (i, j - 1) and a diagonal one from ``distance(j)`` rows away, and a horizontal and a diagonal
      output, each of which takes either input; column 0 has one input, and the last column one output.
      ``fiberscope.hw.networks.benes_router`` has the settings of any multicast.

    Timing: settings are taken into a register in a cycle, when no vector of the task before is left or the
    last one is taken in it, and hold from the next cycle on. A vector is taken when all inputs show their
    token, one a cycle, and leaves together ``stages`` + 1 cycles later, when all outputs have space: one
    register behind the last column and ``stages`` between columns. The stages move in step, see
    ``fiberscope.hw.lanes.pipeline``; no settings are taken while they stand.

    Accounting: busy while vectors or settings move; waiting for output while the oldest vector cannot leave;
    empty, within a task waiting for the first input that shows no token, else for the task or the first
    setting that is missing where anything shows, else idle.

    Source: Benes, *Mathematical Theory of Connecting Networks and Telephone Traffic* (1965); SIGMA (HPCA
    2020), Section IV, and its public RTL (georgia-tech-synergy-lab/SIGMA at 213a062, ``benes.v``), whose
    selects are registered and whose columns are not.

    Args:
        name: instance name.
        form: ``"minimal"`` or ``"double"``.
        lanes: N, a power of two from 2 to 256.
        stages: registers between columns, 0 to the number of columns of multiplexers.

    Raises:
        ValueError: for another form or number.
        SimulationError: when built, unless as many ports are connected as there are lanes, and rows of
            settings; in the run, for a setting of more bits than a row has.
    """

    PORTS = (
        Input("tasks", ROUTE_TASK),
        Input("settings", SETTING, array=True),
        Input("inputs", STREAM, array=True),
        Output("outputs", STREAM, array=True),
    )
    SIGNALS = (Signal("in_flight", 9), Signal("left", 48), Signal("vectors", 48))

    def __init__(self, name: str, form: str, lanes: int, stages: int = 0) -> None:
        if form not in FORMS:
            raise ValueError(f"{name}: form must be one of {', '.join(FORMS)}, not {form}")
        check_lanes(name, lanes)
        if not 0 <= stages <= columns(form, lanes):
            raise ValueError(f"{name}: stages must be from 0 to {columns(form, lanes)}, not {stages}")
        super().__init__(name, ("inputs", "outputs"), lanes, stages + 1)
        self.form = form  # C: str
        self.bits = array("q", bytes(8 * setting_rows(form, lanes)))  # the settings, row by row
        self.sources = array("q", range(lanes))  # of each output, as the settings say
        self.left = 0  # vectors of the task that have yet to come
        self.tasks_taken = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.tasks, self.settings = (
            self.channel("tasks"),
            self.channels("settings"),
        )  # C: settings=public list, tasks=public Channel
        if len(self.settings) != len(self.bits):
            raise SimulationError(
                f"{self.name}: connect {len(self.bits)} settings, one a row, not {len(self.settings)}"
            )

    def _can_take(self) -> bool:
        return self.left > 0

    def _take(self, place: int) -> None:
        for lane in range(self.lanes):
            source = self.inputs[self.sources[lane]]  # C: Channel
            self.kinds[place + lane] = source.control()
            self.coordinates[place + lane] = source.coordinate()
            self.references[place + lane] = source.reference()
            self.values[place + lane] = source.value()
        self.left -= 1

    def _prepare(self) -> bool:
        """Take the next task and its settings, if no vector of this one is left."""
        if self.left > 0 or not self.tasks.can_pop() or self._missing_setting() >= 0:
            return False
        for row in range(len(self.bits)):
            self._load(row)
        for lane, source in enumerate(sources_of(self.form, self.bits)):
            self.sources[lane] = source
        self.left = self.tasks.coordinate()
        self.tasks.pop()
        self.tasks_taken += 1
        return True

    def _load(self, row: int) -> None:
        """Take the settings of a row."""
        source = self.settings[row]  # C: Channel
        self.bits[row] = source.coordinate()
        if self.bits[row] < 0 or self.bits[row] >> setting_bits(self.form, self.lanes):
            raise SimulationError(
                f"{self.name}: {self.bits[row]} at settings[{row}] has more than "
                f"{setting_bits(self.form, self.lanes)} bits"
            )
        source.pop()

    def _missing_setting(self) -> int:  # C: noexcept
        """The first row of settings that shows no token, or -1."""
        for row in range(len(self.bits)):
            source = self.settings[row]  # C: Channel
            if not source.can_pop():
                return row
        return -1

    def _wait(self, shown: int) -> int:  # C: source=Channel
        if self.left > 0:
            return self.wait_input(self._missing())
        missing = self._missing_setting()
        if self.tasks.can_pop():
            return self.wait_input(self.settings[missing])
        settings_show = any(source.can_pop() for source in self.settings)
        return self.wait_input(self.tasks) if shown > 0 or settings_show else self.idle()

    def counters(self) -> dict[str, int]:
        """Vectors taken, and the settings that they were taken with."""
        return {"vectors": self.rows, "settings": self.tasks_taken}

    def sample(self) -> tuple[int, ...]:
        """Vectors within, those of the task that have yet to come, and all that were taken."""
        return (self.pipeline.filled, self.left, self.rows)
