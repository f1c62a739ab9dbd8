"""Lines in and out of a bank with its data array: what is read must be what a plain dict holds."""

import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fiberscope.hw.memory.cache_parameters_rtl import BankParameters
from fiberscope.hw.memory.cache_rtl import BLOCK
from fiberscope.hw.memory.protocol import CONSUME, FETCH, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.sim.testing import Token

PATIENCE = 3000  # cycles without a reply or a request, after which the bank is stuck
MEMORY_ROOM = 4  # requests that wait for memory


@dataclass(frozen=True)
class Request:
    """A request, and the line that goes with it if it writes."""

    operation: int
    tag: int
    address: int
    line: int


def lines_of(number: int, bits: int) -> int:
    """What memory holds in a line before anybody writes it."""
    return random.Random(number).getrandbits(bits)


def requests(tokens: Sequence[Token], given: BankParameters, generator: random.Random) -> list[Request]:
    """The same requests with lines, all of which are read back at the end.

    A line that was consumed is written next, for what it holds is lost; one that was passed on to memory
    first is always passed on, for a copy in the cache would stay as it is.
    """
    made: list[Request] = []
    last: dict[int, int] = {}
    for wish, tag, address, _value in tokens:
        line = address // given.line_bytes
        operation = last[line] = _behind(last.get(line), wish, generator)
        made.append(Request(operation, tag, address, generator.getrandbits(given.line_bits)))
    kept = [line for line, operation in last.items() if operation not in (CONSUME, WRITE_THROUGH)]
    first = max((request.tag for request in made), default=0) + 1
    return made + [Request(READ, first + i, line * given.line_bytes, 0) for i, line in enumerate(kept)]


def _behind(before: int | None, wish: int, generator: random.Random) -> int:
    """The operation for a line behind another one."""
    if before == WRITE_THROUGH:
        return WRITE_THROUGH
    if before == CONSUME or (before is not None and wish == WRITE_THROUGH):
        return generator.choice([WRITE, WRITE_UNREAD])
    return wish


class Bench:
    """Sends requests to a bank and serves as its memory, both with random pauses.

    Args:
        given: the bank's parameters.
        backend: the bank.
        sent: the requests.
        generator: of the pauses.

    ``events`` counts what the bank did that depends on its lines; some of it only if the backend is watched.
    """

    def __init__(
        self, given: BankParameters, backend: Backend, sent: Sequence[Request], generator: random.Random
    ) -> None:
        self.given = given
        self.backend = backend
        self.requests = deque(sent)
        self.generator = generator
        self.memory: dict[int, int] = {}
        self.expected: dict[int, int] = {}  # the plain model: what a line holds
        self.due: dict[int, tuple[int, int | None]] = {}  # by tag: address, and the line of one that reads
        self.arriving: deque[tuple[int, int, int]] = deque()  # operation, tag and line of memory's requests
        self.fetched: list[tuple[int, int]] = []  # tag and line of what memory has read
        self.offered: tuple[int, int] | None = None
        self.serving = False  # lines come one right behind another, until there are none
        self.events: Counter[str] = Counter()
        often = generator.choice([0.1, 0.5, 0.9])
        self.chances = {name: generator.choice([often, 1.0]) for name in ("request", "reply", "ask")}
        self.chances["serve"] = generator.choice([0.02, 0.1, 1.0])

    def run(self) -> None:
        """Run to the end.

        Raises:
            AssertionError: for a line that is not what it must be, or a bank that is stuck.
        """
        quiet = 0
        while self.requests or self.due or self.arriving or self.fetched or self.offered:
            quiet = 0 if self.cycle() else quiet + 1
            assert quiet < PATIENCE, f"stuck with {len(self.due)} replies to come"

    def cycle(self) -> bool:
        """Run a cycle; says whether a token moved."""
        driven = self._inputs()
        self.backend.words.drive(driven)
        self.backend.cycle()
        wires = {**driven, **self.backend.words.seen()}
        streams = BLOCK.interface(self.given).streams
        moved = [stream.prefix for stream in streams if stream.moves(wires)]
        self._watch(wires, moved)
        self._serve()
        for prefix in moved:
            getattr(self, f"_{prefix}")(wires)
        return bool(moved)

    def _is(self, name: str) -> bool:
        return self.generator.random() < self.chances[name]

    def _inputs(self) -> dict[str, int]:
        """What the bank sees in the cycle."""
        self.serving = bool(self.fetched) and (self.serving or self._is("serve"))
        if self.offered is None and self.serving:
            self.offered = self.fetched.pop(self.generator.randrange(len(self.fetched)))
        tag, line = self.offered or (0, 0)
        room = MEMORY_ROOM - len(self.arriving) if self._is("ask") else 0
        inputs = {
            "memory_replies_valid": int(self.offered is not None),
            "memory_replies_coordinate": tag,
            "memory_replies_line": line,
            "memory_requests_ready": int(room > 0),
            "memory_reads_behind_ready": int(room > 1),
            "replies_ready": int(self._is("reply")),
            "requests_valid": int(bool(self.requests) and self._is("request")),
        }
        return inputs | (self._head(self.requests[0]) if self.requests else {})

    @staticmethod
    def _head(request: Request) -> Mapping[str, int]:
        return {
            "requests_control": request.operation,
            "requests_coordinate": request.tag,
            "requests_reference": request.address,
            "requests_line": request.line,
        }

    def _requests(self, _wires: Mapping[str, int]) -> None:
        """The bank takes a request: from here on a read of the line has what this one wrote."""
        request = self.requests.popleft()
        number = request.address // self.given.line_bytes
        if request.operation in (WRITE, WRITE_UNREAD, WRITE_THROUGH):
            self.expected[number] = request.line
        if request.operation in (FETCH, WRITE_THROUGH):
            return
        reads = request.operation in (READ, CONSUME)
        self.due[request.tag] = request.address, self._held(number) if reads else None

    def _held(self, number: int) -> int:
        return self.expected.get(number, lines_of(number, self.given.line_bits))

    def _replies(self, wires: Mapping[str, int]) -> None:
        tag, line = wires["replies_coordinate"], wires["replies_line"]
        address, expected = self.due.pop(tag)
        assert expected in (None, line), f"request {tag:x} to {address:x} read {line:x}, not {expected:x}"
        self.events["read"] += expected is not None

    def _memory_requests(self, wires: Mapping[str, int]) -> None:
        self._ask("memory_requests", wires)

    def _memory_reads_behind(self, wires: Mapping[str, int]) -> None:
        self._ask("memory_reads_behind", wires)

    def _ask(self, prefix: str, wires: Mapping[str, int]) -> None:
        """Memory does what it is asked in the order in which it is asked, and answers in any."""
        number = wires[f"{prefix}_reference"] // self.given.line_bytes
        if wires[f"{prefix}_control"] == WRITE:
            self.memory[number] = wires[f"{prefix}_line"]
            self.events["written"] += 1
        self.arriving.append(
            (wires[f"{prefix}_control"], wires[f"{prefix}_coordinate"], self._stored(number))
        )

    def _stored(self, number: int) -> int:
        return self.memory.get(number, lines_of(number, self.given.line_bits))

    def _memory_replies(self, _wires: Mapping[str, int]) -> None:
        self.offered = None

    def _serve(self) -> None:
        if self.arriving:
            operation, tag, line = self.arriving.popleft()
            if operation == READ:
                self.fetched.append((tag, line))

    def _watch(self, wires: Mapping[str, int], moved: Sequence[str]) -> None:
        """Count the replies of a line that is not in the array yet, and lines that are read again."""
        within = dict(zip(self.backend.signals(), self.backend.sample(), strict=True))
        if within and within["line_came"]:
            hit = (
                "replies" in moved and not within["answering"] and wires["replies_control"] in (READ, CONSUME)
            )
            self.events["forwarded"] += hit
            self.events["read again"] += within["line_stays"]
