"""The FiberCache bank: random requests to few lines, and a memory that answers late and out of order.

What is in the lines is no matter of channels; ``bank_bench`` tries that.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from memory_stub import MemoryStub
from pairs import End, random_channel
from scenario import Scenario

from fiberscope.hw.memory.cache_geometry import INDEXES
from fiberscope.hw.memory.cache_parameters_rtl import NO_ARRAY, BankParameters
from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.memory.tags import Sets
from fiberscope.sim import Component, Kernel
from fiberscope.sim.testing import Token, random_stalls

REQUESTS = 300
LARGE_REQUESTS = 1500
LIKE_BITS = 20  # of a line's number, in which the lines of a set are alike in large draws
MIXES = (
    (4, 2, 2, 2, 1, 1),
    (8, 0, 4, 1, 0, 0),
    (1, 6, 1, 1, 1, 2),
    (1, 1, 1, 1, 1, 1),
)  # weights of the operations
REQUESTER = 5 << PORT_SHIFT


def _parameters(generator: random.Random) -> BankParameters:
    given = BankParameters(
        banks=generator.choice([1, 1, 1, 2, 3, 12, 48]),
        sets=generator.choice([1, 1, 1, 2, 4]),
        ways=generator.choice([1, 2, 3, 4]),
        line_bytes=generator.choice([2, 64, 128]),
        misses=generator.randint(1, 5),
        targets=generator.randint(1, 6),
        priority_limit=generator.choice([0, 1, 3, 31]),
        reuse_limit=generator.choice([1, 3, 5]),
        stages=generator.randint(1, 3),
        index=generator.choice(INDEXES),
        port=generator.randrange(8),
        tag_bits=generator.choice([35, 48]),
        address_bits=generator.choice([24, 48, 64]),
        data=NO_ARRAY,
    )
    any_sets = given.sets > 1 and given.banks in (1, 2) and not given.hashed
    return replace(given, sets=3) if any_sets else given


def _inputs(generator: random.Random, given: BankParameters) -> dict[str, list[Token]]:
    """Requests to somewhat more lines than the bank holds, anywhere in its address space."""
    return {"requests": _requests(generator, given, _lines(generator, given), REQUESTS)}


def _requests(
    generator: random.Random, given: BankParameters, lines: Sequence[int], count: int
) -> list[Token]:
    weights = generator.choice(MIXES)
    return [
        (
            generator.choices(range(len(OPERATIONS)), weights)[0],
            REQUESTER % (1 << given.tag_bits) | number,
            generator.choice(lines) * given.line_bytes + generator.randrange(given.line_bytes),
            0.0,
        )
        for number in range(count)
    ]


def _large(generator: random.Random) -> BankParameters:
    """Gamma's bank, or one with more ways, misses and targets than the small ones, and many sets."""
    if generator.randrange(3) == 0:
        return BankParameters(port=generator.randrange(8), data=NO_ARRAY)
    return BankParameters(
        banks=generator.choice([1, 7, 48]),
        sets=generator.choice([2, 8, 16, 64]),
        ways=generator.choice([8, 13, 16]),
        misses=generator.choice([9, 16, 20]),
        targets=generator.choice([12, 17, 64]),
        priority_limit=generator.choice([0, 3, 31]),
        stages=generator.randint(1, 3),
        index=generator.choice(INDEXES),
        port=generator.randrange(8),
        address_bits=generator.choice([48, 64]),
        data=NO_ARRAY,
    )


def _large_inputs(generator: random.Random, given: BankParameters) -> dict[str, list[Token]]:
    """Requests to four sets or all, each for twice the lines that it holds, alike in their low bits."""
    bank = generator.randrange(given.banks)
    firsts = [
        set_index * given.banks + bank
        for set_index in generator.sample(range(given.sets), min(given.sets, 4))
    ]
    lines = [line for first in firsts for line in _of_one_set(generator, given, first)]
    return {"requests": _requests(generator, given, lines, LARGE_REQUESTS)}


def _of_one_set(generator: random.Random, given: BankParameters, first: int) -> list[int]:
    """Twice as many lines of the first one's set as that holds, in the same bank."""
    sets = Sets(given.banks, given.sets, given.hashed)
    turn = given.sets * given.banks
    turns = (1 << (given.address_bits - 1)) // given.line_bytes // turn
    far = turn << min(LIKE_BITS, max(0, (turns // (2 * given.ways)).bit_length() - 1))
    most = max(1, turns * turn // far)
    lines: list[int] = []
    while len(lines) < 2 * given.ways:
        line = first + far * generator.randrange(most)
        if sets.set_of(line) == sets.set_of(first):
            lines.append(line)
    return lines


def _lines(generator: random.Random, given: BankParameters) -> list[int]:
    last = (1 << (given.address_bits - 1)) // given.line_bytes - 1
    own = range(generator.randrange(given.banks), last, given.banks)  # the lines interleaved into a bank
    count = generator.choice([2, 5, 2 * given.sets * given.ways])
    near = 2 * generator.randrange(len(own) // 2 - 32)  # even, so that neighbours differ in one bit
    spread = generator.choice([2, 8, 64])
    return [own[near + generator.randrange(spread)] for _ in range(count)]


def _around(
    kernel: Kernel, scope: str, end: Callable[[str], End], generator: random.Random
) -> Sequence[Component]:
    """The memory."""
    longest = generator.choice([1, 10, 60])
    latencies = [generator.randint(1, longest) for _ in range(37)]
    often = generator.choice([0.0, 0.3, 1.0])
    pauses = random_stalls(generator.randrange(1 << 30), often=often, longest=12)
    memory = kernel.add(MemoryStub(f"{scope}.memory", latencies, pauses))
    far = random_channel(generator)
    kernel.connect(*end("memory_requests"), memory, "requests", **far | {"capacity": far["capacity"] + 1})
    kernel.connect(memory, "replies", *end("memory_replies"), **random_channel(generator))
    return (memory,)


SCENARIO = Scenario("bank", _parameters, _inputs, ("replies",), _around)
LARGE = replace(SCENARIO, draw=_large, inputs=_large_inputs)
