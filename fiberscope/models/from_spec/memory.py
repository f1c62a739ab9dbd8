"""The memory of a mapped machine: what fetches and writes, the shared stores, and DRAM behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fiberscope.accelerators.composition import User
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.cache_geometry import LIMITS, FiberCacheSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, TENSORS
from fiberscope.hw.networks.crossbar import Concentrator
from fiberscope.models.from_spec.arrays import Rows
from fiberscope.models.from_spec.chains import Chain
from fiberscope.sim import Component as Block
from fiberscope.sim.names import numbered

if TYPE_CHECKING:
    from fiberscope.models.from_spec.composition import MappedComposition

__all__ = ["MappedMemory", "count_banks"]

WRITTEN = 1 << 36  # bytes that each array which is written has room for
BANKS = (3, 2)  # of a cache for each instance, as Gamma's 48 for 32
LEAST_LINE = 2  # bytes, of a cache


# tensor, the Einsum that wrote it before, its ranks, the rank, the kind, the banks
Array: TypeAlias = tuple[str, str, tuple[str, ...], int | str, str, int]


class Store(NamedTuple):
    """One of the copies of a shared store: its name in the architecture, and which of how many it is."""

    name: str
    copy: int
    copies: int


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
        self.shared: dict[Store, list[User]] = {}  # who asks each of the shared stores
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
            for base, _source, order, place, stored, _banks in self.bases
        )

    def port(self, chain: Chain, copy: int) -> int:
        """The number of the next who asks this copy of the store that is next on the way."""
        return len(self.shared.get(Store(chain.shared, copy, chain.copies), ()))

    def reads(self, chain: Chain, leaf: str, copy: int, block: Block, place: str = "") -> None:
        """Have a block ask a copy of the store that is next on the way; of an array of ports at one place."""
        user = (block, f"requests{place}", f"replies{place}")
        if chain.shared:
            self.shared.setdefault(Store(chain.shared, copy, chain.copies), []).append(user)
        else:
            self.ports.setdefault(leaf, _Port()).readers.append(user)

    def writes(self, chain: Chain, leaf: str, copy: int, block: Block, *, again: bool = False) -> None:
        """Have a block write to that store: a cache acknowledges, past a buffer it goes on to memory.

        Args:
            chain, leaf, copy, block: who writes what where.
            again: whether it reads from memory what it has written.
        """
        if chain.cached:
            self.reads(chain, leaf, copy, block)
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
        for store, askers in self.shared.items():
            users += self._store(store, askers, len(users) * most, most)
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

    def _store(self, store: Store, askers: Sequence[User], first: int, group: int) -> list[User]:
        """The banks of a copy of a shared store, and the network between it and those who ask."""
        banks, name = self._geometry(store), numbered(store.name.lower(), store.copies)[store.copy]
        called = name if store.copies > 1 else store.name.lower()
        bank_units = [
            self.machine.add(self.machine.part("bank", store.name), bank_name, banks, first + place * group)
            for place, bank_name in enumerate(numbered(f"{called}.bank", banks.banks))
        ]
        latency = self.timing.network_latency
        self.machine.add_network(called, askers, bank_units, interleave=self.line, latency=latency)
        return [(bank, "memory_requests", "memory_replies") for bank in bank_units]

    def _geometry(self, store: Store) -> FiberCacheSpecification:
        component = self.machine.component(store.name)
        ways = component.ways or self.timing.ways
        whole_sets = (
            None if component.depth is None else component.width * component.depth // 8 // (self.line * ways)
        )
        banks = self.timing.banks or count_banks(-(-self.machine.instances // store.copies), whole_sets)
        held = -(-self.held[store.name] // (self.line * ways)) if whole_sets is None else whole_sets
        sets = max(1, held // banks)
        return FiberCacheSpecification(banks, sets, ways, self.line, stages=self.timing.cache_stages)


def count_banks(instances: int, sets: int | None) -> int:
    """Return the banks of a shared store if ``timing.banks`` gives no number.

    Args:
        instances: those that the store serves.
        sets: sets of the whole store, of which each bank has at least one; None without a bound.
    """
    most = LIMITS["banks"][1] if sets is None else min(max(1, sets), LIMITS["banks"][1])
    return min(-(-BANKS[0] * instances // BANKS[1]), most)
