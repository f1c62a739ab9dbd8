"""Pages given to many that ask at once, and that have no space for a while."""

import random
from dataclasses import replace

from rows_scenario import LanedScenario

from fiberscope.hw.fibers.pages_rtl import PageAllocatorParameters
from fiberscope.sim.testing import Token

PAGES = 240


def _parameters(generator: random.Random) -> PageAllocatorParameters:
    bits = generator.choice([8, 9, 32])
    return PageAllocatorParameters(generator.randint(1, 6), generator.choice([0, 1, 15]), bits)


def _large(generator: random.Random) -> PageAllocatorParameters:
    return PageAllocatorParameters(generator.choice([17, 33, 64]), first=1 << 20)


def _inputs(generator: random.Random, given: PageAllocatorParameters) -> dict[str, list[Token]]:
    """As many as there are pages."""
    there = min(PAGES, (1 << given.page_bits) - given.first)
    asks = [generator.randrange(given.askers) for _ in range(there)]
    return {f"page_requests[{i}]": [(0, 0, 0, 0.0)] * asks.count(i) for i in range(given.askers)}


SCENARIO = LanedScenario("page_allocator", _parameters, _inputs, ("pages",), lanes="askers")
LARGE = replace(SCENARIO, draw=_large)
