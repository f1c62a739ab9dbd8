# cython: infer_types=True
"""Benes networks: the minimal network for permutations, and SIGMA's network for multicasts in one pass.

The functions share these terms. ``form`` is one of ``FORMS``, ``lanes`` is the number N of inputs and of
outputs, a power of two from 2 on, and n is log2 N. Only ``check_lanes`` and ``route_permutation`` check
their arguments. ``settings`` are rows of settings: one number for each row of switches or nodes, with the
bits of ``count_setting_bits``. The minimal network has *stages* of switches, counted from 0. SIGMA's network
has *columns* of nodes, counted from 0; a node of column 0 has a single input and hence no multiplexer.
"""

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
LANE_LIMITS = (2, 256)  # minimum and maximum number of lanes, powers of two

ROUTE_TASK = Protocol("route task", coordinate="vectors")
SETTING = Protocol("setting", coordinate="bits")  # settings of one row of the network


def count_columns(form: str, lanes: int) -> int:
    """Return the number of columns of multiplexers: 2 n - 1 (``minimal``) or 2 n, with n = log2(lanes)."""
    n = lanes.bit_length() - 1
    return 2 * n - 1 if form == MINIMAL else 2 * n


def count_setting_rows(form: str, lanes: int) -> int:
    """Return the number of rows of settings: one per row of switches (``minimal``) or nodes (``double``)."""
    return lanes // 2 if form == MINIMAL else lanes


def count_setting_bits(form: str, lanes: int) -> int:
    """Return the number of bits of a row of settings, with n = log2(lanes).

    - ``minimal``: 2 n - 1 bits. Bit s of row i is 1 if switch i of stage s crosses.
    - ``double``: 4 n - 1 bits. Bits 2 (j - 1) and 2 (j - 1) + 1 of row i select the input of the horizontal
      and of the diagonal output of node (i, j). The last bit selects the input of output i. A 1 selects the
      diagonal input.
    """
    return count_columns(form, lanes) if form == MINIMAL else 2 * count_columns(form, lanes) - 1


def pack_selects(settings: Sequence[int], lanes: int) -> int:
    """Return the select word of SIGMA's RTL for rows of settings.

    The bits of all nodes are the low bits of the word, the bits of the outputs follow. With N lanes and n =
    log2(N), the word has 2 N (2 n - 1) + N bits.

    Args:
        settings: all N rows of settings of a ``double`` network.
        lanes: N.
    """
    # From the lowest bit: nodes of row 0, nodes of row 1, ... nodes of row N - 1, output 0, ... output N - 1
    nodes = count_setting_bits(DOUBLE, lanes) - 1
    word = 0
    for row, bits in enumerate(settings):
        word |= (bits & ((1 << nodes) - 1)) << nodes * row | (bits >> nodes) << nodes * lanes + row
    return word


def diagonal_distance(column: int, lanes: int) -> int:
    """Return how many rows a diagonal into this column of SIGMA's network crosses: 1, 2, 4 ... 4, 2, 1.

    The diagonal into row i of the column comes from row i XOR this distance of the column before.

    Args:
        column: a column with multiplexers, 1 to 2 n.
        lanes: N.
    """
    n = lanes.bit_length() - 1
    return 1 << (column - 1 if column <= n else 2 * n - column)


def wire_stages(lanes: int) -> list[list[int]]:
    """Return the wires between the stages of a minimal network with this number of lanes.

    The result has a list for each of the 2 n - 2 stages after the first. The list gives, for each input of
    the stage, the number of the output of the stage before that feeds the input.
    """
    n = lanes.bit_length() - 1
    inward = [_deal_halves(lanes, lanes >> level) for level in range(n - 1)]
    # Sorting the positions of a permutation by its values gives the inverse permutation
    outward = [sorted(range(lanes), key=permutation.__getitem__) for permutation in reversed(inward)]
    return inward + outward


def _deal_halves(lanes: int, block: int) -> list[int]:
    """Return a permutation that moves even places of each block to its upper half, odd ones to its lower.

    The upper half has the lower numbers. Entry i is the place whose content moves to place i.
    """
    half = block // 2
    return [
        start + 2 * position + side
        for start in range(0, lanes, block)
        for side in (0, 1)
        for position in range(half)
    ]


def route_permutation(sources: Sequence[int]) -> list[int]:
    """Return the rows of settings of a minimal network that connect each output o to input ``sources[o]``.

    The settings are found by the looping algorithm.

    Args:
        sources: the input of each output, a permutation of 0 to N - 1.

    Returns:
        One number for each of the N / 2 rows of switches, with the bits of ``count_setting_bits``.

    Raises:
        ValueError: if ``sources`` is not a permutation, or its length is not a power of two from 2 on.
    """
    lanes = len(sources)
    if sorted(sources) != list(range(lanes)) or lanes & (lanes - 1) or lanes < 2:
        raise ValueError(f"{list(sources)} is no permutation of 2, 4, 8, ... lanes")
    stages = _route_stages(list(sources))
    return [sum(stage[row] << number for number, stage in enumerate(stages)) for row in range(lanes // 2)]


def _route_stages(sources: list[int]) -> list[list[int]]:
    """Return the settings of all switches stage by stage, 1 for a switch that crosses.

    The first and the last stage connect two networks of half the size, the upper and the lower. Each switch
    of the first stage sends one of its inputs to each half; each switch of the last stage joins two outputs.
    """
    if len(sources) == 2:
        return [[int(sources[0] == 1)]]
    lower = _assign_halves(sources)
    # Without a cross, an even output gets the upper half; an even input (below) goes to the upper half
    last = [int(lower[even]) for even in range(0, len(sources), 2)]
    halves: list[list[int]] = [[], []]
    first = [0] * (len(sources) // 2)
    for output, source in enumerate(sources):
        halves[lower[output]].append(source // 2)  # in a half, each switch has one input and one output
        if not source % 2:
            first[source // 2] = int(lower[output])
    upper_stages, lower_stages = map(_route_stages, halves)
    middle_stages = [
        upper_half + lower_half for upper_half, lower_half in zip(upper_stages, lower_stages, strict=True)
    ]
    return [first, *middle_stages, last]


def _assign_halves(sources: list[int]) -> list[bool]:
    """Return, for each output, whether its path uses the lower half.

    Of the two paths through each switch of the first and of the last stage, exactly one uses the lower half.
    """
    output_by_source = {source: output for output, source in enumerate(sources)}
    lower: dict[int, bool] = {}
    for start in range(0, len(sources), 2):
        output = start
        # One loop: an output takes the upper half, so the other output of its switch takes the lower half.
        # The input of the latter shares a switch with another input, which must take the upper half in turn.
        while output not in lower:
            lower[output], lower[output ^ 1] = False, True
            output = output_by_source[sources[output ^ 1] ^ 1]
    return [lower[output] for output in range(len(sources))]


def trace_sources(form: str, settings: Sequence[int]) -> list[int]:
    """Return the input that each output receives with these rows of settings.

    The result is a permutation for ``minimal``; for ``double``, several outputs may receive the same input.
    """
    if form == MINIMAL:
        return _trace_stages(settings)
    lanes = len(settings)
    return [_trace_output(settings, output, lanes) for output in range(lanes)]


def _trace_stages(settings: Sequence[int]) -> list[int]:
    """Return the input that each output of a minimal network receives, computed stage by stage."""
    lanes = 2 * len(settings)
    sources = list(range(lanes))
    for stage, wires in enumerate([sources, *wire_stages(lanes)]):
        sources = [sources[lane] for lane in wires]
        crosses = [settings[lane // 2] >> stage & 1 for lane in range(lanes)]
        sources = [sources[lane ^ crosses[lane]] for lane in range(lanes)]
    return sources


def _trace_output(settings: Sequence[int], output: int, lanes: int) -> int:
    """Return the input that an output of SIGMA's network receives, traced from the output."""
    # wire: 0 for the horizontal output of the node in ``row``, 1 for the diagonal output
    row, wire = output, 0
    for column in range(count_columns(DOUBLE, lanes), 0, -1):
        # The bit selects the node's input, which is the same kind of output of a node in the column before
        wire = settings[row] >> (2 * (column - 1) + wire) & 1
        row ^= wire * diagonal_distance(column, lanes)
    return row


def check_lanes(name: str, lanes: int) -> None:
    """Check a number of lanes.

    Args:
        name: name of the component, which begins the message of an error.
        lanes: the number to check.

    Raises:
        ValueError: if ``lanes`` is not a power of two from 2 to 256.
    """
    minimum, maximum = LANE_LIMITS
    if lanes not in range(minimum, maximum + 1) or lanes & (lanes - 1):
        raise ValueError(f"{name}: lanes must be a power of two from {minimum} to {maximum}, not {lanes}")


class BenesNetwork(RowPipeline):
    """A network that sends to each output the token of the input that its settings select, a vector a cycle.

    Interface: a vector is a row of tokens, one on each of ``inputs``, see ``fiberscope.hw.lanes.rows``. A
    token on ``tasks`` holds the number of vectors of a task. It comes with one token on each of
    ``settings``, see ``count_setting_bits``, which apply to all vectors of the task. Each of ``outputs``
    sends the token of the input that the settings select. Elements are unchanged; a stop, or another token
    that is no element, keeps only its kind. With ``double``, several outputs can select the same input. A
    task of 0 vectors is taken like any other, and the next task replaces its settings.

    - ``minimal``: 2 log2 N - 1 stages of N / 2 switches, each of which passes or crosses its two inputs.
      ``route_permutation`` returns the settings of any permutation.
    - ``double``: SIGMA's network, with N rows and 2 log2 N + 1 columns of nodes, numbered from 0. Node (i, j)
      has a horizontal input from node (i, j - 1) and a diagonal input from node (i XOR d, j - 1), where d
      is ``diagonal_distance(j, N)``. Its horizontal and its diagonal output each select one of the inputs.
      Nodes of column 0 have one input, nodes of the last column one output.
      ``fiberscope.hw.networks.benes_router`` finds the settings of any multicast.

    Timing: the settings of a task are popped in one cycle, at the earliest in the cycle in which the last
    vector of the task before is accepted, and apply from the next cycle. Within a task, a vector is accepted
    when all inputs have a token, one a cycle. It is sent ``stages`` + 1 cycles later at the earliest, when
    all outputs have a free slot: there is a register after the last column of multiplexers, and ``stages``
    registers before or between these columns. The registers move in step, see
    ``fiberscope.hw.lanes.pipeline``. No settings are popped while they stall.

    Accounting: busy while vectors are in the network or settings move; waiting for output while the oldest
    vector is blocked. An empty network waits, within a task, for the first input without a token. Between
    tasks, it waits for the task or, if the task has arrived, for the first missing setting. It is idle if no
    token has arrived.

    Counts: ``vectors``, the vectors accepted; ``settings``, the sets of settings popped, one for each task.

    Source: Benes, *Mathematical Theory of Connecting Networks and Telephone Traffic* (1965); SIGMA (HPCA
    2020), Section IV, and its public RTL (georgia-tech-synergy-lab/SIGMA at 213a062, ``benes.v``), whose
    selects are registered and whose columns are not.

    Args:
        form: ``"minimal"`` or ``"double"``.
        lanes: N, a power of two from 2 to 256.
        stages: registers before or between columns, 0 to the number of columns of multiplexers.

    Raises:
        ValueError: if the form is unknown, or a number is out of its range.
        SimulationError: when built, if the number of connected ports is not that of the lanes or of the rows
            of settings; during the run, if a setting is negative or has more bits than a row.
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
        if not 0 <= stages <= count_columns(form, lanes):
            raise ValueError(f"{name}: stages must be from 0 to {count_columns(form, lanes)}, not {stages}")
        super().__init__(name, ("inputs", "outputs"), lanes, stages + 1)
        self.form = form  # C: str
        self.row_settings = array("q", bytes(8 * count_setting_rows(form, lanes)))  # the settings, row by row
        self.sources = array("q", range(lanes))  # by output: the input that the settings select
        self.left = 0  # vectors of the task that are not accepted yet
        self.tasks_taken = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check their number.

        Raises:
            SimulationError: if the number of channels is not that of the lanes or of the rows of settings.
        """
        super().elaborate()
        self.tasks, self.settings = (
            self.channel("tasks"),
            self.channels("settings"),
        )  # C: settings=public list, tasks=public Channel
        if len(self.settings) != len(self.row_settings):
            raise SimulationError(
                f"{self.name}: connect {len(self.row_settings)} settings, one a row, not {len(self.settings)}"
            )

    def _can_accept(self) -> bool:
        return self.left > 0

    def _process_row(self, index: int) -> None:
        """Write the token of the selected input to each output."""
        for lane in range(self.lanes):
            source = self.inputs[self.sources[lane]]  # C: Channel
            self.kinds[index + lane] = source.control()
            self.coordinates[index + lane] = source.coordinate()
            self.references[index + lane] = source.reference()
            self.values[index + lane] = source.value()
        self.left -= 1

    def _prepare(self) -> bool:
        """Pop the next task and its settings, if no vector of the current task is left."""
        if self.left > 0 or not self.tasks.can_pop() or self._find_missing_setting() >= 0:
            return False
        for row in range(len(self.row_settings)):
            self._pop_setting(row)
        for lane, source in enumerate(trace_sources(self.form, self.row_settings)):
            self.sources[lane] = source
        self.left = self.tasks.coordinate()
        self.tasks.pop()
        self.tasks_taken += 1
        return True

    def _pop_setting(self, row: int) -> None:
        """Pop the settings of a row.

        Raises:
            SimulationError: if the number is negative or has too many bits.
        """
        source = self.settings[row]  # C: Channel
        self.row_settings[row] = source.coordinate()
        if self.row_settings[row] < 0 or self.row_settings[row] >> count_setting_bits(self.form, self.lanes):
            raise SimulationError(
                f"{self.name}: {self.row_settings[row]} at settings[{row}] has more than "
                f"{count_setting_bits(self.form, self.lanes)} bits"
            )
        source.pop()

    def _find_missing_setting(self) -> int:  # C: noexcept
        """Return the first row of settings without a token, or -1."""
        for row in range(len(self.row_settings)):
            source = self.settings[row]  # C: Channel
            if not source.can_pop():
                return row
        return -1

    def _wait(self, valid_inputs: int) -> int:  # C: source=Channel
        """Wait for an input within a task; between tasks, for a setting or the task if any token is there."""
        if self.left > 0:
            return self.wait_input(self._first_empty_input())
        missing = self._find_missing_setting()
        # A task whose settings have all arrived would have been popped by ``_prepare`` in this cycle
        if self.tasks.can_pop():
            return self.wait_input(self.settings[missing])
        settings_show = any(source.can_pop() for source in self.settings)
        return self.wait_input(self.tasks) if valid_inputs > 0 or settings_show else self.idle()

    def counters(self) -> dict[str, int]:
        """Return the number of vectors accepted, and of sets of settings popped, one for each task."""
        return {"vectors": self.rows, "settings": self.tasks_taken}

    def sample(self) -> tuple[int, ...]:
        """Return the vectors in the pipeline, the vectors left of the task, and all vectors accepted."""
        return (self.pipeline.filled, self.left, self.rows)
