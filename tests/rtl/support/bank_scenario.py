"""The FiberCache bank: random requests to few lines, and a memory that answers late and out of order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from memory_stub import MemoryStub
from pairs import random_channel
from scenario import Scenario

from hw.cache import FiberCacheBank, FiberCacheSpecification
from hw.memory import OPERATIONS, PORT_SHIFT
from hw.rtl.bank import BankParameters
from sim import Component, Kernel
from sim.testing import Token, random_stalls

REQUESTS = 300
MIXES = ((4, 2, 2, 2, 1), (8, 0, 4, 1, 0), (1, 6, 1, 1, 1), (1, 1, 1, 1, 1))  # weights of the operations
REQUESTER = 5 << PORT_SHIFT


def _component(name: str, given: BankParameters) -> FiberCacheBank:
    numbers = {field: getattr(given, field) for field in FiberCacheSpecification.__dataclass_fields__}
    return FiberCacheBank(name, FiberCacheSpecification(**numbers), given.port)


def _parameters(generator: random.Random) -> BankParameters:
    return BankParameters(
        banks=generator.choice([1, 2, 3, 12, 48]),
        sets=generator.choice([1, 2, 3, 4]),
        ways=generator.choice([1, 2, 3, 4]),
        line_bytes=generator.choice([2, 64, 128]),
        misses=generator.randint(1, 5),
        targets=generator.randint(1, 6),
        priority_limit=generator.choice([0, 1, 3, 31]),
        reuse_limit=generator.choice([1, 3, 5]),
        port=generator.randrange(8),
        tag_bits=generator.choice([35, 48]),
        address_bits=generator.choice([24, 48, 64]),
    )


def _inputs(generator: random.Random, given: BankParameters) -> dict[str, list[Token]]:
    """Requests to somewhat more lines than the bank holds, anywhere in its address space."""
    lines = _lines(generator, given)
    weights = generator.choice(MIXES)
    return {
        "requests": [
            (
                generator.choices(range(len(OPERATIONS)), weights)[0],
                REQUESTER | number,
                generator.choice(lines) * given.line_bytes + generator.randrange(given.line_bytes),
                0.0,
            )
            for number in range(REQUESTS)
        ]
    }


def _lines(generator: random.Random, given: BankParameters) -> list[int]:
    last = (1 << (given.address_bits - 1)) // given.line_bytes - 1
    own = range(generator.randrange(given.banks), last, given.banks)  # the lines interleaved into a bank
    count = generator.choice([2, 5, 2 * given.sets * given.ways])
    near = generator.randrange(len(own) - 64)
    return [own[near + generator.randrange(64)] for _ in range(count)]


def _around(kernel: Kernel, scope: str, bank: Component, generator: random.Random) -> Sequence[Component]:
    """The memory."""
    longest = generator.choice([1, 10, 60])
    latencies = [generator.randint(1, longest) for _ in range(37)]
    often = generator.choice([0.0, 0.3, 1.0])
    pauses = random_stalls(generator.randrange(1 << 30), often=often, longest=12)
    memory = kernel.add(MemoryStub(f"{scope}.memory", latencies, pauses))
    far = random_channel(generator)
    kernel.connect(bank, "memory_requests", memory, "requests", **far | {"capacity": far["capacity"] + 1})
    kernel.connect(memory, "replies", bank, "memory_replies", **random_channel(generator))
    return (memory,)


SCENARIO = Scenario("bank", _component, _parameters, _inputs, ("replies",), _around)
