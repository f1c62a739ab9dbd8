"""A FiberCache bank as RTL: the twin of ``fiberscope.hw.memory.cache.FiberCacheBank``."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import ClassVar

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.cache_logic_rtl import READ_LANE, design
from fiberscope.hw.memory.cache_parameters_rtl import NO_ARRAY, BankParameters
from fiberscope.hw.memory.protocol import CONSUME, OPERATIONS, READ, WRITE, WRITE_THROUGH, WRITE_UNREAD
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Interface, Token
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.sim.channel import Channel

STATUS = ("decided", "missed", "evicted", "working", "stalled_on_replies", "stalled_on_memory", PENDING)


def matching(specification: FiberCacheSpecification, port: int) -> BankParameters:
    """Return the parameters for a component with these arguments, which has no data of lines."""
    return BankParameters(**asdict(specification), port=port, data=NO_ARRAY)


def _component(name: str, parameters: BankParameters) -> FiberCacheBank:
    numbers = {field.name: getattr(parameters, field.name) for field in fields(FiberCacheSpecification)}
    return FiberCacheBank(name, FiberCacheSpecification(**numbers), parameters.port)


def port_contents(parameters: BankParameters) -> PortContents:
    """Return the ports.

    ``memory_requests`` has two lanes, as a write-back and the line read after it can leave in one cycle.
    """
    port = parameters.memory_port
    return {
        "requests": port.stream("requests", "input"),
        "replies": port.stream("replies", "output"),
        "memory_requests": port.stream("memory_requests", "output"),
        READ_LANE: port.stream(READ_LANE, "output", "memory_reads_behind"),
        "memory_replies": port.tags("memory_replies", "input"),
    }


class BankAdapter(Adapter):
    """The adapter for a ``FiberCacheBank``.

    The status output ``decided`` marks the cycle in which a request is decided. Requests are decided in the
    order of their arrival, so that a queue of operations tells which request it is.
    """

    # ``valid`` of each waits for ``ready`` of the other, and can therefore fall without a transfer
    RETRACTS = ("replies", "memory_requests")
    EVENTS = tuple(name for name in FiberCacheBank.COUNTERS if name not in ("evictions", "write_backs"))
    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "decided": FiberCacheBank.COUNTERS,
        "missed": tuple(
            name for name in FiberCacheBank.COUNTERS if name.endswith(("_hits", "_misses", "_joins"))
        ),
        "evicted": ("evictions",),
    }

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._counts = dict.fromkeys(FiberCacheBank.COUNTERS, 0)
        self._taken: deque[int] = deque()  # operations of the requests that are not decided yet
        self._in_flight = 0  # lines that are requested and have not arrived

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count the lines in flight, and the decision of this cycle; see ``Adapter``."""
        sent, request = moved.get("memory_requests"), moved.get("requests")
        reads = int(sent is not None and sent.control == READ) + int(READ_LANE in moved)
        self._in_flight += reads - int("memory_replies" in moved)
        if self.status["decided"]:
            self._count(self._taken.popleft(), sent, replied="replies" in moved)
        if request is not None:
            self._taken.append(request.control)

    def _count(self, operation: int, sent: Token | None, *, replied: bool) -> None:
        """Count a decided request.

        Args:
            sent: the token on the first lane to memory in this cycle, if any.
            replied: whether a reply is sent in this cycle; a read or consume without a reply that is no
                miss has joined one.
        """
        if operation == WRITE_THROUGH:
            self._counts["writes_through"] += 1
            return
        self._counts["evictions"] += self.status["evicted"]
        self._counts["write_backs"] += int(sent is not None and sent.control == WRITE)
        outcome = "misses" if self.status["missed"] else "hits"
        if outcome == "hits" and operation in (READ, CONSUME) and not replied:
            outcome = "joins"
        counted = WRITE if operation == WRITE_UNREAD else operation
        self._counts[f"{OPERATIONS[counted]}_{outcome}"] += 1

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """See ``Adapter``: busy if anything moves, else waiting for space or a line in flight, else idle."""
        if moved or self.status["working"]:
            return self.busy(now + 1)
        if self.status["stalled_on_replies"]:
            return self.wait_output(self.channel("replies"))
        if self.status["stalled_on_memory"]:
            return self.wait_output(self.channel("memory_requests"))
        return self.wait_input(self.channel("memory_replies")) if self._in_flight else self.idle()

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        return self.available_counters(self._counts)


BLOCK = unit(
    "bank",
    FiberCacheBank,
    BankParameters,
    port_contents,
    design,
    status=STATUS,
    base=BankAdapter,
    matching=matching,
    component=_component,
)
