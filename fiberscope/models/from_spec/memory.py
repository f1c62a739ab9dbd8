"""The memory of a mapped machine: what fetches and writes, the shared stores, and DRAM behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from fiberscope.accelerators.composition import User
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, TENSORS
from fiberscope.hw.networks.crossbar import Concentrator
from fiberscope.models.from_spec.arrays import Rows
from fiberscope.models.from_spec.chains import Chain
from fiberscope.sim import Component as Block
from fiberscope.sim.names import numbered

if TYPE_CHECKING:
    from fiberscope.models.from_spec.composition import MappedComposition

__all__ = ["MappedMemory"]

WRITTEN = 1 << 36  # bytes that each array which is written has room for
BANKS = (3, 2)  # of a cache for each instance, as Gamma's 48 for 32
LEAST_LINE = 2  # bytes, of a cache


Array: TypeAlias = tuple[str, tuple[str, ...], int | str, str]  # tensor, its ranks, the rank, the kind


@dataclass
class _Port:
    """Port of memory and its users: the blocks of an instance, those with replies first."""

    readers: list[User] = field(default_factory=list)
    writers: list[User] = field(default_factory=list)


class MappedMemory:
    """The stores of a machine, and the arrays of its tensors.

    Args:
        machine: that it is of.
        chains: of all its stages.
    """

    def __init__(self, machine: MappedComposition, chains: Sequence[Chain]) -> None:
        self.machine = machine
        self.timing = machine.parameters.timing
        widest = max((-(-chain.width // 8) for chain in chains), default=LEAST_LINE)
        self.line = max(self.timing.line, widest, LEAST_LINE)
        self.page_lines = max(1, self.timing.page // self.line)
        self.tensors: dict[str, int] = {}  # numbers of those that are moved
        self.ends: dict[int, int] = {}  # of each number the byte behind what is laid out
        self.layouts: list[Layout] = []
        self.bases: dict[Array, int] = {}
        self.shared: dict[str, list[User]] = {}  # who asks each of the shared stores
        self.held: Counter[str] = Counter()  # bytes of the arrays that come through these
        self.ports: dict[str, _Port] = {}  # of instances, by name

    def rows(self, chain: Chain) -> Rows:
        """Return the layout of the entries of a rank in requests."""
        return Rows(max(1, chain.width // chain.bits), max(1, self.line * 8 // chain.width), self.line)

    def place(self, tensor: str, size: int, role: Role) -> int:
        """A place for so many bytes of a tensor; from the last number on all tensors have one."""
        number = self.tensors.setdefault(tensor, min(len(self.tensors), TENSORS - 1))
        begin = self.ends.get(number, -(-(number << TENSOR_SHIFT) // self.line) * self.line)
        self.ends[number] = begin + size
        self.layouts.append(Layout(begin, size, role))
        return begin

    def laid_out(self, what: Array, size: int, chain: Chain) -> int:
        """Return the address of an operand's array of so many bytes, the same for all stages."""
        if what not in self.bases:
            self.bases[what] = self.place(what[0], size, Role.OPERAND)
            self.held[chain.shared] += size
        return self.bases[what]

    def area(self, what: Array, chain: Chain, number: int, *, again: bool) -> int:
        """Return where an instance begins to write an array of an output: pages of all are interleaved."""
        if what not in self.bases:
            self.bases[what] = self.place(what[0], WRITTEN, Role.WORK if again else Role.PRODUCT)
            self.held[chain.shared] += self.line
        return self.bases[what] + number * self.page_lines * self.line

    def lays_out(self, tensor: str, rank: str, kind: str) -> bool:
        """Return whether a rank's entries of a kind lie in memory, where blocks read or write them."""
        return any(
            (tensor, kind) == (base, stored) and rank == (order[place] if isinstance(place, int) else place)
            for base, order, place, stored in self.bases
        )

    def port(self, chain: Chain) -> int:
        """The number of the next who asks the store that is next on the way."""
        return len(self.shared.get(chain.shared, ()))

    def reads(self, chain: Chain, leaf: str, block: Block, place: str = "") -> None:
        """Have a block ask the store that is next on the way; of an array of ports at one place."""
        user = (block, f"requests{place}", f"replies{place}")
        if chain.shared:
            self.shared.setdefault(chain.shared, []).append(user)
        else:
            self.ports.setdefault(leaf, _Port()).readers.append(user)

    def writes(self, chain: Chain, leaf: str, block: Block, *, again: bool = False) -> None:
        """Have a block write to that store: a cache acknowledges, past a buffer it goes on to memory.

        Args:
            chain, leaf, block: who writes what where.
            again: whether it reads from memory what it has written.
        """
        if chain.cached:
            self.reads(chain, leaf, block)
        elif again:
            self.ports.setdefault(leaf, _Port()).readers.append((block, "requests", "replies"))
        else:
            self.ports.setdefault(leaf, _Port()).writers.append((block, "requests", ""))

    def build(self) -> None:
        """Make the shared stores and DRAM, and join all to them.

        Raises:
            ConfigurationError: there is no memory for such requests.
        """
        if not self.tensors:
            return
        most = max((len(port.readers) + len(port.writers) for port in self.ports.values()), default=1)
        users: list[User] = []
        for name, askers in self.shared.items():
            users += self._store(name, askers, len(users) * most, most)
        for name, port in self.ports.items():
            users.append(self._concentrated(name, port, len(users) * most))
        self.machine.add_memory(users, self.line, group=most)

    def _concentrated(self, leaf: str, port: _Port, first: int) -> User:
        connect, queue = self.machine.kernel.connect, self.timing.queue
        both = [*port.readers, *port.writers]
        concentrator = self.machine.add(Concentrator, f"{leaf}memory_port", first)
        for place, (block, requests, replies) in enumerate(both):
            connect(block, requests, concentrator, f"inputs[{place}]", capacity=queue)
            if replies:
                connect(concentrator, f"outputs[{place}]", block, replies, capacity=queue)
        return concentrator, "requests", "replies"

    def _store(self, name: str, askers: Sequence[User], first: int, group: int) -> list[User]:
        """The banks of a shared store, and the network between it and those who ask."""
        banks = self._geometry(name)
        bank_units = [
            self.machine.add(self.machine.part("bank", name), bank_name, banks, first + place * group)
            for place, bank_name in enumerate(numbered(f"{name.lower()}.bank", banks.banks))
        ]
        latency = self.timing.network_latency
        self.machine.add_network(name.lower(), askers, bank_units, interleave=self.line, latency=latency)
        return [(bank, "memory_requests", "memory_replies") for bank in bank_units]

    def _geometry(self, name: str) -> FiberCacheSpecification:
        component = self.machine.component(name)
        banks = self.timing.banks or -(-BANKS[0] * self.machine.instances // BANKS[1])
        size = self.held[name] if component.depth is None else component.width * component.depth // 8
        ways = component.ways or self.timing.ways
        sets = max(1, size // (self.line * ways * banks))
        return FiberCacheSpecification(banks, sets, ways, self.line, stages=self.timing.cache_stages)
