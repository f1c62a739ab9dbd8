"""A recorded run of a block at its ports: the inputs of each cycle, and the event model's outputs.

The twin of the block, its RTL in PyRTL, runs between sources and sinks with random stalls, and so does its
event model, the component. Both must send the same tokens, in the same cycles for plain ports. Otherwise
there is no recording.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fiberscope.hw.rtl.kit.backend import Backend, BackendObserver, PyrtlBackend
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import MASK, Bundle, Interface, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.stimulus import output_ports
from fiberscope.hw.rtl.tools.stream_stimulus import BENCH_STIMULI
from fiberscope.hw.stream import STOP, STREAM
from fiberscope.hw.streams.memory_rtl import OVERFLOW, STORE
from fiberscope.sim.testing import Outcome, run_block

SEED = 1  # of the stimulus, of the stalls of sources and sinks, and of the first contents of memories
Bits = Mapping[str, int]  # of wires by name


class DifferentRunError(Exception):
    """The twin of a block and its event model send different tokens."""


@dataclass(frozen=True)
class Vector:
    """A cycle of a recording.

    Args:
        inputs: bits of the inputs, by name of the wire.
        expected: bits of the outputs.
        compared: mask of the bits of the outputs that a test bench compares; 0 for a name that is missing.
    """

    inputs: Bits
    expected: Bits
    compared: Bits


@dataclass(frozen=True)
class Recording:
    """A run of a module.

    Args:
        interface: ports of the module, without status.
        vectors: the cycles since reset.
        tokens: number of output tokens.
        latency: cycles from the first token at an input to the first token at an output.
    """

    interface: Interface
    vectors: Sequence[Vector]
    tokens: int
    latency: int


def has_stimulus(block: RtlBlock) -> bool:
    """Return whether a block has stimulus; it must be a single component."""
    return block.name in BENCH_STIMULI and block.component is not None


def record(block: RtlBlock, parameters: Parameters, *, plain: bool) -> Recording:
    """Run a block on its stimulus.

    Args:
        block: a block with stimulus.
        plain: whether its ports are plain; else registered.

    Raises:
        DifferentRunError: twin and event model send different tokens.
        AssertionError, SimulationError: the parameters do not allow the tokens of the stimulus.
    """
    assert block.component is not None, f"{block.name} is several components"
    logic = block if plain else registered(block)
    interface = logic.interface(parameters)
    recorder = Recorder(PyrtlBackend(logic.twin(parameters), SEED))
    inputs = BENCH_STIMULI[block.name](random.Random(SEED), parameters)
    components = (logic.adapter("block", interface, recorder), block.component("block", parameters))
    outputs = _outputs(interface)
    outcomes = [run_block(component, inputs, outputs, seed=SEED, sleep=False) for component in components]
    # Tokens at optional ports may depend on the cycle, which a channel behind the ports changes.
    compared = outputs if plain else output_ports(interface, block.adapter) or outputs
    module, event = (_output_tokens(outcome, compared, plain=plain) for outcome in outcomes)
    if module != event:
        raise DifferentRunError(f"{block.name}: the RTL does not send the tokens of the event model")
    carries = {port.name: port.carries for port in block.adapter.PORTS}
    stops = {stream.label for stream in interface.streams if carries.get(stream.port[0]) == STREAM}
    return recording(interface, recorder.cycles, stops)


def recording(
    interface: Interface, cycles: Sequence[tuple[Bits, Bits]], stops: Collection[str] = ()
) -> Recording:
    """Return a recording of cycles, each with the bits of all inputs and of all outputs.

    Args:
        interface: the ports.
        cycles: the run, with at least one input token and one output token.
        stops: labels of the streams whose stops have only ``control``.
    """
    vectors = [_vector(interface, stops, inputs, outputs) for inputs, outputs in cycles]
    transfers = [*_find_transfers(interface, cycles)]
    first_transfers = {direction: cycle for cycle, direction in reversed(transfers)}
    tokens = sum(direction == "output" for _cycle, direction in transfers)
    return Recording(
        replace(interface, status=()), vectors, tokens, first_transfers["output"] - first_transfers["input"]
    )


def _outputs(interface: Interface) -> list[str]:
    """Return the outputs that the component has too."""
    return [
        label
        for stream in interface.streams
        if stream.direction == "output" and not stream.lane and stream.label not in (STORE, OVERFLOW)
        for label in stream.labels
    ]


class Recorder(BackendObserver):
    """A backend around another that records the bits at all ports in every cycle."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.cycles: list[tuple[Bits, Bits]] = []

    def observe(self) -> None:
        """Note the bits at all ports."""
        self.cycles.append((self.words.driven(), self.words.seen()))


def _output_tokens(
    outcome: Outcome, ports: Iterable[str], *, plain: bool
) -> dict[str, list[tuple[float, ...]]]:
    """Return the tokens at these outputs, with their cycles for plain ports."""
    return {
        port: [(cycle if plain else 0, *token) for cycle, token in outcome.received[port]] for port in ports
    }


def _find_transfers(interface: Interface, cycles: Sequence[tuple[Bits, Bits]]) -> Iterator[tuple[int, str]]:
    """Yield cycle and direction of each token that moves."""
    for cycle, (inputs, outputs) in enumerate(cycles):
        for stream in interface.streams:
            if stream.moves({**inputs, **outputs}):
                yield cycle, stream.direction


def _vector(interface: Interface, stops: Collection[str], inputs: Bits, outputs: Bits) -> Vector:
    """Return a cycle of the recording.

    A ``valid`` without ``ready``, and a ``ready`` without ``valid``, are not compared.
    """
    compared: dict[str, int] = {}
    for stream in interface.streams:
        valid, ready = stream.wire("valid"), stream.wire("ready")
        if stream.direction == "input":
            compared[ready] = inputs[valid]
            continue
        compared[valid] = inputs[ready]
        if stream.moves({**inputs, **outputs}):
            compared |= _compared_fields(stream, outputs, carries_stops=stream.label in stops)
    expected = {wire.name: outputs[wire.name] for wire in interface.wires() if wire.direction == "output"}
    return Vector(inputs, expected, compared)


def _compared_fields(stream: Stream, outputs: Bits, *, carries_stops: bool) -> dict[str, int]:
    """Return a mask of the meaningful bits of a transfer.

    The fields of an empty lane, and of a stop except ``control``, have no meaning.
    """
    compared = dict.fromkeys(map(stream.wire, stream.widths), 0)
    lanes = stream.lanes if isinstance(stream, Bundle) else 1
    for lane in range(lanes):
        fields = set(stream.widths)
        if MASK in fields and not outputs[stream.wire(MASK)] >> lane & 1:
            fields = {MASK}
        elif carries_stops and "control" in fields:
            width = stream.widths["control"]
            if outputs[stream.wire("control")] >> lane * width & (1 << width) - 1 == STOP:
                fields &= {MASK, "control"}
        for field in fields:
            width = stream.widths[field]
            compared[stream.wire(field)] |= (1 << width) - 1 << lane * width
    return compared
