"""The memory system of a mapped machine: ports of instances, shared stores, and DRAM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import proxy

from fiberscope.accelerators.composition import User
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.cache_geometry import LIMITS, FiberCacheSpecification
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, TENSORS
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.models.from_spec.arrays import Rows
from fiberscope.models.from_spec.chains import Chain
from fiberscope.sim import Component as Block
from fiberscope.sim.names import numbered

if TYPE_CHECKING:
    from fiberscope.models.from_spec.composition import MappedComposition

OUTPUT_BYTES = 1 << 36  # bytes of address space reserved for each array of an output
BANKS = (3, 2)  # 3 banks for every 2 instances, as Gamma has 48 banks for 32 processing elements
MIN_LINE = 2  # smallest line of a cache in bytes


# Key of an array: tensor, name of the Einsum that wrote it (empty for an input), rank order of the tensor,
# rank or number of its level, kind, number of banks.
ArrayKey: TypeAlias = tuple[str, str, tuple[str, ...], int | str, str, int]


class Store(NamedTuple):
    """A copy of a shared store.

    Args:
        name: name of the store in the architecture.
        copy: number of the copy, from 0.
        copies: number of copies.
    """

    name: str
    copy: int
    copies: int


@dataclass
class _Port:
    """The memory port of an instance.

    Attributes:
        readers: users that receive replies.
        writers: users that receive no replies.
    """

    readers: list[User] = field(default_factory=list)
    writers: list[User] = field(default_factory=list)


class MappedMemory:
    """The stores of a machine, and the memory layout of its tensors.

    The stages first reserve addresses and register their requests by ``connect_reads`` and
    ``connect_writes``. ``build`` is called once, after the last stage, and adds the stores and connections.

    Args:
        machine: the machine to which the stores are added.
        chains: the chains of all stages.
    """

    def __init__(self, machine: MappedComposition, chains: Sequence[Chain]) -> None:
        self.machine: MappedComposition = proxy(machine)  # no circle: the end of a run frees it at once
        self.timing = machine.parameters.timing
        widest = max((-(-chain.width // 8) for chain in chains), default=MIN_LINE)
        self.line = max(self.timing.line, widest, MIN_LINE)
        self.page_lines = max(1, self.timing.page // self.line)
        self.tensors: dict[str, int] = {}  # for each tensor that is moved, its number
        self.ends: dict[int, int] = {}  # for each number of a tensor, the first free byte address
        self.layouts: list[Layout] = []
        self.bases: dict[ArrayKey, int] = {}
        self.shared: dict[Store, list[User]] = {}  # for each copy of a shared store, the ports that use it
        self.array_bytes = Counter[
            str
        ]()  # for each shared store, by name, bytes of the arrays that it serves
        self.ports: dict[str, _Port] = {}  # memory ports of the instances, by name of the instance

    def rows(self, chain: Chain) -> Rows:
        """Return the layout of the entries of a rank in requests; a row is a line of ``chain.width`` bits."""
        return Rows(max(1, chain.width // chain.bits), max(1, self.line * 8 // chain.width), self.line)

    def reserve(self, tensor: str, size: int, role: Role) -> int:
        """Reserve ``size`` bytes for a tensor, and return their address.

        Each tensor has a number and an address range; tensors beyond the largest number share it.

        Args:
            tensor: name of the tensor.
            size: bytes to reserve.
            role: whether the machine reads the array, writes it as a result, or does both.
        """
        number = self.tensors.setdefault(tensor, min(len(self.tensors), TENSORS - 1))
        address = self.ends.get(number, -(-(number << TENSOR_SHIFT) // self.line) * self.line)
        self.ends[number] = address + size
        self.layouts.append(Layout(address, size, role))
        return address

    def place_operand(self, array: ArrayKey, size: int, chain: Chain) -> int:
        """Return the address of an operand's array, the same address in all stages.

        Args:
            array: key of the array.
            size: bytes of the array.
            chain: path of the data, whose shared store serves the array.
        """
        if array not in self.bases:
            self.bases[array] = self.reserve(array[0], size, Role.OPERAND)
            self.array_bytes[chain.shared] += size
        return self.bases[array]

    def place_output(self, array: ArrayKey, chain: Chain, number: int, *, reads_back: bool) -> int:
        """Return the byte address at which an instance begins to write an array of an output.

        Args:
            array: key of the array.
            chain: the path to memory.
            number: number of the instance; the pages of all instances are interleaved.
            reads_back: whether the instance reads the array back.
        """
        if array not in self.bases:
            self.bases[array] = self.reserve(
                array[0], OUTPUT_BYTES, Role.WORK if reads_back else Role.PRODUCT
            )
            self.array_bytes[chain.shared] += self.line
        return self.bases[array] + number * self.page_lines * self.line

    def work_address(self, array: ArrayKey, size: int) -> int:
        """Return the address of an array of an output that all instances read and write.

        The array does not count for the size of a shared store without a given depth.

        Args:
            array: key of the array.
            size: bytes of the array.
        """
        if array not in self.bases:
            self.bases[array] = self.reserve(array[0], size, Role.WORK)
        return self.bases[array]

    def has_array(self, tensor: str, rank: str, kind: str) -> bool:
        """Return whether blocks read or write the entries of a rank in memory.

        Args:
            tensor: name of the tensor.
            rank: name of the rank.
            kind: ``coord``, ``payload`` or ``elem``.
        """
        return any(
            (tensor, kind) == (base, array_kind)
            and rank == (order[level] if isinstance(level, int) else level)
            for base, _source, order, level, array_kind, _banks in self.bases
        )

    def port(self, chain: Chain, copy: int) -> int:
        """Return the number of the next port of this copy of the chain's shared store; 0 without a store.

        Call this method before ``connect_reads`` or ``connect_writes``, which take the port.
        """
        return len(self.shared.get(Store(chain.shared, copy, chain.copies), ()))

    def connect_reads(self, chain: Chain, leaf: str, copy: int, block: Block, index: str = "") -> None:
        """Connect a block's requests to a copy of the chain's shared store, or to memory without one.

        Args:
            chain: the path of the data.
            leaf: name of the instance.
            copy: number of the copy.
            index: index of the ports in brackets, if the block has arrays of ports.
        """
        user = (block, f"requests{index}", f"replies{index}")
        if chain.shared:
            self.shared.setdefault(Store(chain.shared, copy, chain.copies), []).append(user)
        else:
            self.ports.setdefault(leaf, _Port()).readers.append(user)

    def connect_writes(
        self, chain: Chain, leaf: str, copy: int, block: Block, *, reads_back: bool = False
    ) -> None:
        """Connect a block's writes to a cache, which acknowledges them, or to memory if there is no cache.

        Args:
            chain, leaf, copy, block: arguments of ``connect_reads``.
            reads_back: whether the block reads back from memory what it has written.
        """
        if chain.cached:
            self.connect_reads(chain, leaf, copy, block)
        elif reads_back:
            self.ports.setdefault(leaf, _Port()).readers.append((block, "requests", "replies"))
        else:
            self.ports.setdefault(leaf, _Port()).writers.append((block, "requests", ""))

    def build(self) -> None:
        """Create the shared stores, the memory ports and DRAM, and connect them.

        If no stage has reserved addresses, there is nothing to create.

        Raises:
            ConfigurationError: the memory does not support requests of ``line`` bytes.
        """
        if not self.tensors:
            return
        group = max((len(port.readers) + len(port.writers) for port in self.ports.values()), default=1)
        users: list[User] = []
        for store, store_users in self.shared.items():
            users += self._add_store(store, store_users, len(users) * group, group)
        for name, port in self.ports.items():
            users.append(self._add_concentrator(name, port, len(users) * group))
        self.machine.add_memory(users, self.line, group=group)

    def _add_concentrator(self, leaf: str, port: _Port, first: int) -> User:
        connect, queue = self.machine.kernel.connect, self.timing.queue
        clients = [*port.readers, *port.writers]
        concentrator = self.machine.add(Concentrator, f"{leaf}memory_port", first)
        for number, (block, requests, replies) in enumerate(clients):
            connect(block, requests, concentrator, f"inputs[{number}]", capacity=queue)
            if replies:
                connect(concentrator, f"outputs[{number}]", block, replies, capacity=queue)
        return concentrator, "requests", "replies"

    def _add_store(self, store: Store, store_users: Sequence[User], first: int, group: int) -> list[User]:
        """Add the banks of a copy of a shared store, and the network between its users and the banks."""
        banks, name = self._choose_geometry(store), numbered(store.name.lower(), store.copies)[store.copy]
        prefix = name if store.copies > 1 else store.name.lower()
        bank_units = [
            self.machine.add(
                self.machine.find_part_name("bank", store.name), bank_name, banks, first + number * group
            )
            for number, bank_name in enumerate(numbered(f"{prefix}.bank", banks.banks))
        ]
        latency = self.timing.network_latency
        self.machine.add_network(prefix, store_users, bank_units, interleave=self.line, latency=latency)
        return [(bank, "memory_requests", "memory_replies") for bank in bank_units]

    def _choose_geometry(self, store: Store) -> FiberCacheSpecification:
        component = self.machine.component(store.name)
        ways = component.ways or self.timing.ways
        total_sets = (
            None if component.depth is None else component.width * component.depth // 8 // (self.line * ways)
        )
        banks = self.timing.banks or count_banks(-(-self.machine.instances // store.copies), total_sets)
        needed = -(-self.array_bytes[store.name] // (self.line * ways)) if total_sets is None else total_sets
        sets = max(1, needed // banks)
        return FiberCacheSpecification(banks, sets, ways, self.line, stages=self.timing.cache_stages)


def count_banks(instances: int, sets: int | None) -> int:
    """Return the number of banks of a shared store for which ``timing.banks`` gives no number.

    Args:
        instances: number of instances that the store serves.
        sets: sets of the whole store; each bank has at least one set. None if the store has no bound.
    """
    largest = LIMITS["banks"][1] if sets is None else min(max(1, sets), LIMITS["banks"][1])
    return min(-(-BANKS[0] * instances // BANKS[1]), largest)
