"""A component and its twin side by side in one kernel, given the same streams and stalls.

    check_pair(Pair(name, component, adapter, inputs, outputs, seed))

Ports without given tokens and without a sink are for ``around``, which puts components of its own there: a
memory, say, that answers what the block asks.

Cycles, tokens and accounting must be equal, of the blocks and of everything around them. Where they are not,
the run is repeated with a waveform that shows both, under the scopes ``event`` and ``rtl``.
"""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.exercise import earliest
from fiberscope.sim import Component, Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource, Token, random_stalls
from fiberscope.sim.trace import write_vcd

End = tuple[Component, str]  # a component and one of its ports
Around = Callable[[Kernel, str, Callable[[str], End], random.Random], Sequence[Component]]
"""Adds and connects more components to the ends behind a block's ports, under a scope; gives those whose
accounting matters.

What such a component lists as ``received`` is compared too.
"""

Composed = Callable[[Kernel, str], Mapping[str, End]]
"""Adds several components under a scope that together are one; gives what is behind each port of it."""

WAVEFORMS = Path(os.environ.get("FIBERSCOPE_OUT", "out"))
CYCLE_LIMIT = 100_000


@dataclass(frozen=True)
class Pair:
    """Two blocks that should be one, made afresh for every run, and what is done to them.

    ``capacities`` and ``latencies`` are drawn from the seed for each port, as are the stalls. Where several
    components are ``composed`` in the place of ``event``, what the module counts as is not compared.
    """

    name: str
    event: Callable[[str], Component]
    rtl: Callable[[str], Component]
    inputs: Mapping[str, Sequence[Token]]
    outputs: Sequence[str]
    seed: int
    kernel_options: Mapping[str, object] = field(default_factory=dict)
    around: Around = lambda _kernel, _scope, _end, _generator: ()
    composed: Composed | None = None


@dataclass
class _Side:
    """One of the two, with all around it."""

    parts: list[Component]

    def without_reference(self) -> set[str]:
        """Sinks whose port carries no reference and whose stream has no wire for it, as a mark of absence.

        Asked of the side with the module: wires around a component pass on words that no signal carries.
        """
        sinks = [part for part in self.parts if isinstance(part, StreamSink)]
        names = {_plain_name(part) for part in sinks if "reference" not in part.source.protocol.fields}
        adapters = [part for part in self.parts if isinstance(part, Adapter)]
        streams = [end.stream for adapter in adapters for end in adapter.ends]
        marked = [
            stream for stream in streams if any(each.part == "reference" for each in stream.fields.values())
        ]
        return names - {f"sink_{_plain(stream.label)}" for stream in marked}

    def seen(self, kernel: Kernel, without_reference: set[str]) -> dict[str, object]:
        """Everything that must be equal: accounting and counters of every part, tokens and their cycles."""
        statistics = kernel.statistics()
        found: dict[str, object] = {}
        for part in self.parts:
            name = _plain_name(part)
            found[name] = statistics[part.name]
            tokens = _exactly(getattr(part, "received", ()))
            if name in without_reference:
                tokens = [(*token[:3], 0, token[4]) for token in tokens]
            found[f"tokens at {name}"] = tokens
        return found


def _plain_name(part: Component) -> str:
    """Return the name without the side."""
    return part.name.partition(".")[2]


def _exactly(received: Sequence[tuple[int, Token]]) -> list[tuple[int, int, int, int, str]]:
    """Cycles and tokens, their values as text: by that -0.0 is not 0.0, and a NaN is a NaN."""
    return [(cycle, *token[:3], token[3].hex()) for cycle, token in received]


def check_pair(pair: Pair) -> int:
    """Run both to the end; gives the cycles that took.

    Raises:
        AssertionError: naming the seed, the first difference and the waveform that shows it.
    """
    kernel, sides = _build(pair)
    difference = _run(kernel, sides)
    if difference is None:
        return kernel.length(kernel.clocks[0])
    path = (WAVEFORMS / f"{pair.name}-{pair.seed}.vcd").resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    kernel, sides = _build(pair)
    with write_vcd(kernel, path):
        _run(kernel, sides)
    raise AssertionError(f"{pair.name}, seed {pair.seed}: {difference}; both are in the waveform {path}")


def _run(kernel: Kernel, sides: Sequence[_Side]) -> str | None:
    try:
        run = kernel.run(cycle_limit=CYCLE_LIMIT)
    except SimulationError as error:
        return _violation(sides[-1]) or str(error)
    without_reference = sides[-1].without_reference()
    violation = _violation(sides[-1])
    if violation is not None:
        return violation
    event, rtl = (side.seen(kernel, without_reference) for side in sides)
    for part in event:
        if event[part] != rtl[part]:
            return f"{part} differs: {event[part]} of the component, {rtl[part]} of the RTL"
    return None if run.complete else f"not done after {CYCLE_LIMIT} cycles"


def _violation(side: _Side) -> str | None:
    """The first rule of the protocol of its ports that a module breaks."""
    text = earliest(part.exercise().violation for part in side.parts if isinstance(part, Adapter))
    return text and f"the module breaks the protocol of its ports: {text}"


def event_side(pair: Pair) -> Kernel:
    """A kernel with the component alone, between the same streams and stalls."""
    kernel = Kernel(**pair.kernel_options)
    kernel.clock("core", 10**9)
    _add(kernel, pair, "event", pair.event)
    return kernel


def _build(pair: Pair) -> tuple[Kernel, list[_Side]]:
    kernel = Kernel(**pair.kernel_options)
    kernel.clock("core", 10**9)
    sides = [_add(kernel, pair, scope, make) for scope, make in (("event", pair.event), ("rtl", pair.rtl))]
    return kernel, sides


def _add(kernel: Kernel, pair: Pair, scope: str, make: Callable[[str], Component]) -> _Side:
    generator = random.Random(pair.seed)
    if pair.composed is not None and scope == "event":
        blocks, end = [], pair.composed(kernel, scope).__getitem__
    else:
        block = kernel.add(make(f"{scope}.block"))
        blocks, end = [block], lambda port: (block, port)
    parts = _connect(kernel, pair, scope, end, generator)
    return _Side([*blocks, *parts, *pair.around(kernel, scope, end, generator)])


def _connect(
    kernel: Kernel, pair: Pair, scope: str, end: Callable[[str], End], generator: random.Random
) -> list[Component]:
    """Sources and sinks at all ports."""
    parts: list[Component] = []
    for port, tokens in pair.inputs.items():
        source = kernel.add(StreamSource(f"{scope}.source_{_plain(port)}", tokens, _stalls(generator)))
        kernel.connect(source, "out", *end(port), **random_channel(generator))
        parts.append(source)
    for port in pair.outputs:
        sink = kernel.add(StreamSink(f"{scope}.sink_{_plain(port)}", _stalls(generator)))
        kernel.connect(*end(port), sink, "in", **random_channel(generator))
        parts.append(sink)
    return parts


def _plain(port: str) -> str:
    return port.replace("[", "_").replace("]", "")


def random_channel(generator: random.Random) -> dict[str, int]:
    """Capacity and latency of a channel."""
    return {"capacity": generator.randint(1, 5), "latency": generator.randint(1, 3)}


def _stalls(generator: random.Random) -> tuple[int, ...]:
    often = generator.choice([0.0, 0.1, 0.5])
    return random_stalls(generator.randrange(1 << 30), often=often, longest=generator.choice([2, 6, 40]))
