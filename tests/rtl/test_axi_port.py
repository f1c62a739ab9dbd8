"""A port of memory as AXI4: what it asks, in what order, and what it answers, before a memory that stalls."""

import random
from collections import deque

import pytest

from fiberscope.hw.memory.axi_rtl import (
    BLOCK,
    CHANNELS,
    INCREMENTING,
    LINES,
    WRITES_BITS,
    AxiParameters,
    with_axi,
)
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.composition import Composition, Link, Part
from fiberscope.hw.rtl.kit.machine_module import REPLIES, REQUESTS

CYCLES = 4000


class Memory:
    """Answers at the five channels, in any order of the reads' identifiers, and notes what was asked.

    Args:
        generator: of delays and stalls.
        often: how often each of its channels is ready.
        slow: cycles before a write is answered, at the most.
    """

    def __init__(self, generator, often, slow):
        self.generator, self.often, self.slow = generator, often, slow
        self.lines, self.asked = {}, []
        self.reads, self.writes = [], deque()  # with the cycle from which each may be answered
        self.most = 0  # writes that wait at once

    def drive(self, now):
        """The wires that it drives in a cycle."""
        ready = {f"{name}_ready": int(self.generator.random() < self.often) for name in ("ar", "aw", "w")}
        self.answer = next((read for read in self.reads if read[0] <= now), None)
        data = {"r_valid": 0} if self.answer is None else self._data(*self.answer[1:])
        self.ends = bool(self.writes) and self.writes[0] <= now
        return ready | data | {"b_valid": int(self.ends), "b_id": 0, "b_resp": 0}

    def _data(self, name, line):
        return {"r_valid": 1, "r_id": name, "r_data": line, "r_resp": 0, "r_last": 1}

    def take(self, now, moved, wires):
        """Note what has moved in a cycle."""
        if "r" in moved:
            self.reads.remove(self.answer)
        if "ar" in moved:
            assert not self.writes, "a read is asked for before all writes are answered"
            self.asked.append((READ, wires["ar_id"], wires["ar_addr"], 0))
            line = self.lines.get(wires["ar_addr"], 0)  # as it is now: nobody writes what is being read
            self.reads.append((now + self.generator.randint(1, 30), wires["ar_id"], line))
            self.generator.shuffle(self.reads)
        assert ("aw" in moved) == ("w" in moved)  # or an address would be without its data
        if "b" in moved:
            self.writes.popleft()
        if "aw" in moved:
            self.asked.append((WRITE, wires["aw_id"], wires["aw_addr"], wires["w_data"]))
            self.lines[wires["aw_addr"]] = wires["w_data"]
            self.writes.append(now + self.generator.randint(1, self.slow))
            self.most = max(self.most, len(self.writes))


def run(given, requests, memory, often=0.7):
    """Send requests to a port; gives the replies."""
    backend, generator = PyrtlBackend(BLOCK.twin(given), 1), memory.generator
    streams = {stream.prefix: stream for stream in BLOCK.interface(given).streams}
    left, replies, reads = deque(requests), [], sum(request[0] == READ for request in requests)
    for now in range(CYCLES):
        offered = left[0] if left and generator.random() < often else None
        shown = offered or (WRITE, 0, 0, 0)  # a write that is not valid is none
        fields = dict(zip(("control", "coordinate", "reference", "line"), shown, strict=True))
        wires = {f"requests_{name}": word for name, word in fields.items()}
        wires |= {
            "requests_valid": int(offered is not None),
            "replies_ready": int(generator.random() < often),
        }
        backend.words.drive(wires | memory.drive(now))
        backend.cycle()
        wires = {**backend.words.driven(), **backend.words.seen()}
        moved = {name for name, stream in streams.items() if stream.moves(wires)}
        check_constants(given, moved, wires)
        memory.take(now, moved, wires)
        if "requests" in moved:
            left.popleft()
        if "replies" in moved:
            replies.append((wires["replies_coordinate"], wires["replies_line"]))
        if not left and len(replies) == reads and not memory.writes:
            return replies
    raise AssertionError(f"not done after {CYCLES} cycles: {len(left)} requests are left")


def check_constants(given, moved, wires):
    """One beat of a whole line in each transfer."""
    for name in moved & {"ar", "aw"}:
        assert (wires[f"{name}_len"], wires[f"{name}_burst"]) == (0, INCREMENTING)
        assert 1 << wires[f"{name}_size"] == given.line_bytes
    if "w" in moved:
        assert (wires["w_strb"], wires["w_last"]) == ((1 << given.line_bytes) - 1, 1)


def drawn(generator, given, count):
    """Requests for few lines, each with a tag of its own, and what each read is to give."""
    requests, lines, expected = [], {}, {}
    for number in range(count):
        tag, address = number << 40 | number, given.line_bytes * generator.randrange(6)
        if generator.random() < 0.5:
            requests.append((READ, tag, address, 0))
            expected[tag] = lines.get(address, 0)
        else:
            lines[address] = generator.getrandbits(8 * given.line_bytes)
            requests.append((WRITE, tag, address, lines[address]))
    return requests, expected


@pytest.mark.parametrize("line_bytes", LINES)
def test_every_read_gives_what_was_written_last_before_it(line_bytes):
    generator, given = random.Random(line_bytes), AxiParameters(line_bytes)
    requests, expected = drawn(generator, given, 120)
    memory = Memory(generator, generator.choice([0.4, 0.9]), slow=12)
    replies = run(given, requests, memory)
    assert dict(replies) == expected
    assert len(replies) == len(expected)
    assert memory.asked == [(*request[:3], request[3]) for request in requests]


def test_as_many_writes_wait_as_can_be_counted_and_no_more():
    generator, given = random.Random(3), AxiParameters(16)
    most = (1 << WRITES_BITS) - 1
    requests = [(WRITE, number, 16 * number, number) for number in range(3 * most)] + [(READ, 7, 16, 0)]
    memory = Memory(generator, 1.0, slow=2)
    delays = iter([*[2 * most] * most, *[1] * len(requests)])
    memory.generator.randint = lambda _low, _high: next(delays)
    assert run(given, requests, memory, often=1.0) == [(7, 1)]
    assert memory.most == most


def test_each_port_of_a_machine_has_channels_of_its_own():
    given, parts, exports, links = AxiParameters(16), {}, {}, []
    for place in range(2):
        for port, direction in (("requests", "output"), ("replies", "input")):
            kept = Part(channel.OF_STREAM, channel.carrying(given.memory.stream(port, direction), 2))
            parts |= {f"{port}_{place}": kept, f"{port}_{place}_behind": kept}
            links.append(Link(f"{port}_{place}.out", f"{port}_{place}_behind.in"))
        exports |= {
            f"{REQUESTS}[{place}]": f"requests_{place}_behind.out",
            f"asked[{place}]": f"requests_{place}.in",
            f"{REPLIES}[{place}]": f"replies_{place}.in",
            f"answered[{place}]": f"replies_{place}_behind.out",
        }
    module = with_axi(Composition("machine", parts, tuple(links), exports), given)
    for place in range(2):
        assert Link(f"axi_{place}.replies", f"replies_{place}.in") in module.links
        assert Link(f"requests_{place}_behind.out", f"axi_{place}.requests") in module.links
        assert {
            f"{name}[{place}]": f"axi_{place}.{name}" for name in CHANNELS
        }.items() <= module.exports.items()
