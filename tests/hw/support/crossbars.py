"""Traffic through a crossbar, and what every crossbar must do with it."""

from hypothesis import strategies as st

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource, run_block


def to(output, number):
    """A reply for one output, told apart by its number."""
    return (3, output << PORT_SHIFT | number, 64 * number, float(number))


def output_of(token):
    """Where a token wants to go."""
    return token[1] >> PORT_SHIFT


def ports(name, count):
    """The labels of an array of ports."""
    return [f"{name}[{index}]" for index in range(count)]


def run_crossbar(make, inputs, outputs, **bench):
    """A crossbar between sources and sinks."""
    return run_block(
        make(),
        dict(zip(ports("inputs", len(inputs)), inputs, strict=True)),
        ports("outputs", outputs),
        **bench,
    )


def run_paused(block, inputs, outputs, pause=0, capacity=2):
    """Tokens with their cycles by output, which has a slot and pauses; and the account of the crossbar."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(block)
    for index, tokens in enumerate(inputs):
        source = kernel.add(StreamSource(f"source{index}", tokens))
        kernel.connect(source, "out", block, f"inputs[{index}]", capacity=capacity)
    sinks = [kernel.add(StreamSink(f"sink{output}", stalls=(pause,))) for output in range(outputs)]
    for output, sink in enumerate(sinks):
        kernel.connect(block, f"outputs[{output}]", sink, "in", capacity=1)
    kernel.run()
    return [sink.received for sink in sinks], kernel.statistics()["crossbar"]


def check_conservation(make, inputs, outputs, **bench):
    """Every token arrives once, where it wants to go, and in the order of its input and output."""
    outcome = run_crossbar(make, inputs, outputs, **bench)
    for output in range(outputs):
        arrived = outcome.tokens(f"outputs[{output}]")
        by_input = [[token for token in tokens if output_of(token) == output] for tokens in inputs]
        assert sorted(arrived) == sorted(token for tokens in by_input for token in tokens)
        for tokens in by_input:
            assert [token for token in arrived if token in tokens] == tokens
    assert outcome.statistics["crossbar"].counters["transfers"] == sum(map(len, inputs))
    return outcome


@st.composite
def traffic(draw, most_inputs=6, longest=12):
    """Tokens for each input, and how many outputs there are."""
    outputs = draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=most_inputs))
    count = iter(range(sum(lengths)))
    return [[to(draw(st.integers(0, outputs - 1)), next(count)) for _ in range(n)] for n in lengths], outputs
