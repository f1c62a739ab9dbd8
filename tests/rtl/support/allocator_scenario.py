"""The allocation of nodes: sizes that fit and do not, nodes of few rows one behind another and of many."""

import random
from dataclasses import replace

from scenario import Scenario

from fiberscope.hw.fibers.allocator_rtl import BumpAllocatorParameters, NodeWriterParameters
from fiberscope.sim.testing import Token

REQUESTS = 300


def _allocator(generator: random.Random) -> BumpAllocatorParameters:
    begin = generator.choice([0, 1, 1000])
    return BumpAllocatorParameters(
        begin,
        end=begin + generator.choice([0, 7, 300, 5000]),
        size_bits=generator.choice([1, 4, 16]),
        who_bits=generator.choice([1, 8, 64]),
    )


def _large_allocator(generator: random.Random) -> BumpAllocatorParameters:
    return BumpAllocatorParameters(
        begin=generator.choice([1 << 20, 1 << 61]), end=(1 << 62) - 1, size_bits=60
    )


def _requests(generator: random.Random, given: BumpAllocatorParameters) -> dict[str, list[Token]]:
    limit = 1 << given.who_bits - 1
    return {
        "requests": [
            (
                0,
                generator.getrandbits(generator.randint(1, given.size_bits)),
                generator.randrange(-limit, limit),
                0.0,
            )
            for _ in range(REQUESTS)
        ]
    }


def _writer(generator: random.Random) -> NodeWriterParameters:
    return NodeWriterParameters(
        rows=generator.choice([1, 2, 5, 16]),
        address_bits=generator.choice([1, 16, 62]),
        count_bits=generator.choice([1, 16, 31]),
    )


def _large_writer(generator: random.Random) -> NodeWriterParameters:
    return NodeWriterParameters(rows=generator.choice([300, 1024]))


def _nodes(generator: random.Random, given: NodeWriterParameters) -> dict[str, list[Token]]:
    """Rows near to one another, so that many come again."""
    tokens: list[Token] = []
    first = generator.randrange(given.rows)
    for _ in range(REQUESTS):
        row = (first + generator.choice([0, 0, 1, given.rows // 2])) % given.rows
        first = (first + (generator.random() < 0.1)) % given.rows
        address = generator.getrandbits(given.address_bits)
        tokens.append((generator.getrandbits(given.count_bits), row, address, 0.0))
    return {"nodes": tokens}


ALLOCATOR = Scenario("bump_allocator", _allocator, _requests, ("grants",))
LARGE_ALLOCATOR = replace(ALLOCATOR, draw=_large_allocator)
WRITER = Scenario("node_writer", _writer, _nodes, ("headers",))
LARGE_WRITER = replace(WRITER, draw=_large_writer)
