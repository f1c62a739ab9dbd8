"""The writer of lines, against a plain model of its words, turns and lines, with nothing switched off."""

from __future__ import annotations

import pytest
from conversions import EXAMPLE, convert
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.stages import ITEM
from fiberscope.converters.writer import Region, Route, TargetArray, Writer
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import Component, Kernel, Output
from fiberscope.sim.testing import GIGAHERTZ, StreamSink

ADDRESSES = (0, 1 << 20)


class AtOnce(Component):
    """Pushes all its tokens in the first cycle."""

    PORTS = (Output("out", ITEM),)

    def __init__(self, name: str, tokens: list[tuple[int, int]]) -> None:
        super().__init__(name)
        self.tokens = tokens

    def tick(self, now: int) -> int:
        if now == 0:
            for word, reference in self.tokens:
                self.out.push(DATA, word, reference)
            self.out.push(STOP)
        return self.idle()


class PlainWriter:
    """Lists of tokens, a cycle a step: (array, width) by port and reference, arrays by their region."""

    def __init__(self, ports, routes, words, backlog):
        self.ports, self.routes, self.words, self.backlog = [list(p) for p in ports], routes, words, backlog
        self.arrays: dict[int, list[int]] = {}
        self.bits, self.written_lines, self.lines = [0, 0], [0, 0], []
        self.first = self.credit = self.beats = self.taken = 0
        self.open = set(range(len(ports)))

    def run(self) -> PlainWriter:
        for _ in range(10_000):
            if not self.open and all(
                w * LINE_BITS >= b for w, b in zip(self.written_lines, self.bits, strict=True)
            ):
                return self
            waiting = sum(b // LINE_BITS - w for w, b in zip(self.written_lines, self.bits, strict=True))
            if self.open and waiting < self.backlog:
                self.beat()
            self.write()
        raise AssertionError("the plain model does not end")

    def beat(self) -> None:
        self.credit += self.words
        before, ports = self.taken, len(self.ports)
        for turn in range(ports):
            number = (self.first + turn) % ports
            while self.ports[number]:
                word, reference = self.ports[number][0]
                route = self.routes[number][reference]
                if len(route) > self.credit:
                    break
                self.credit -= len(route)
                self.taken += len(route)
                for array, width in route:
                    self.arrays.setdefault(array, []).append(word)
                    self.bits[array % 2] += width
                self.ports[number].pop(0)
            if self.ports[number]:
                break
            self.open.discard(number)
        else:
            self.credit = 0
        if self.taken > before:
            self.beats += 1
            self.first = (self.first + 1) % ports

    def write(self) -> None:
        for region in (0, 1):
            left = self.bits[region] - self.written_lines[region] * LINE_BITS
            if left >= LINE_BITS or (not self.open and left > 0):
                self.lines.append(ADDRESSES[region] + self.written_lines[region] * LINE_BYTES)
                self.written_lines[region] += 1
                return


def run_writer(ports, routes, words, backlog, widths):
    """The writer after its run, its arrays, and the addresses of the lines, in order."""
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    regions = [Region(address) for address in ADDRESSES]
    arrays = [TargetArray(width, regions[number % 2]) for number, width in enumerate(widths)]
    made = [
        [
            Route([arrays[one] for one, _ in route], [0] * len(route), [32] * len(route), None)
            for route in by_reference
        ]
        for by_reference in routes
    ]
    writer = Writer("writer", made, regions, words=words, backlog=backlog)
    sink = StreamSink("memory")
    kernel.add(writer)
    kernel.add(sink)
    for number, tokens in enumerate(ports):
        source = AtOnce(f"source{number}", list(tokens))
        kernel.add(source)
        kernel.connect(source, "out", writer, f"items[{number}]", capacity=len(tokens) + 1, latency=1)
    kernel.connect(writer, "requests", sink, "in", capacity=64, latency=1)
    assert kernel.run(cycle_limit=100_000).complete
    return writer, arrays, [address for _cycle, (_write, _tag, address, _value) in sink.received]


routes_of_a_port = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=2, max_size=2
)


@given(
    tokens=st.lists(st.lists(st.integers(0, 1), max_size=50), min_size=1, max_size=3),
    data=st.data(),
    words=st.integers(1, 64),
    backlog=st.integers(1, 3),
    widths=st.lists(st.integers(1, 64), min_size=4, max_size=4),
)
def test_words_turns_and_lines_are_those_of_a_plain_model(tokens, data, words, backlog, widths):
    """Arrays are shared by ports, so that whose turn it is shows in their order."""
    routes = [
        [[(array, widths[array]) for array in route] for route in data.draw(routes_of_a_port)] for _ in tokens
    ]
    ports = [[(100 * p + i, reference) for i, reference in enumerate(one)] for p, one in enumerate(tokens)]
    plain = PlainWriter(ports, routes, words, backlog).run()
    writer, arrays, addresses = run_writer(ports, routes, words, backlog, widths)
    assert {n: list(a.items()) for n, a in enumerate(arrays) if a.count} == plain.arrays
    assert addresses == plain.lines
    assert (writer.words_taken, writer.beats, writer.lines) == (plain.taken, plain.beats, len(plain.lines))


@pytest.mark.parametrize("words", [1, 2, 3, 16])
@pytest.mark.parametrize(
    ("source", "target"), [("coo", "csr"), ("csr", "coo"), ("rlc", "coo"), ("dense", "csf")]
)
def test_an_item_of_more_words_than_lanes_takes_several_cycles(source, target, words):
    """It goes over in part; a converter that forgets the part stands still for ever."""
    done = convert(EXAMPLE, source, target, 32, ("lanes.words", words))
    assert done.wrong is None
    assert done.machine.writer.words_taken <= words * done.cycles
