"""Chains of waits lead to the place of the request that they name."""

import re
from collections import Counter

import pytest
from gamma_bench import configured

from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.results.recording.waits import WaitChains
from fiberscope.sim.lookahead import remove_lookahead
from fiberscope.workloads import load

ADDRESS, CHANNEL = re.compile(r"for the \w+ of 0x(\w+)"), re.compile(r"memory\.channel(\d+)$")


@pytest.mark.parametrize(("channels", "banks", "misses"), [(4, 2, 4), (8, 8, 16)])
def test_a_request_is_followed_into_the_channel_of_its_address(channels, banks, misses):
    parameters = configured(
        memory__channels=channels, fibercache__banks=banks, fibercache__misses=misses, pe__count=8
    )
    matrix = load("uniform:rows=40,cols=40,nonzeros=300").matrix
    machine = Gamma(parameters, matrix, matrix)
    remove_lookahead(machine.kernel)
    chains, lengths = WaitChains(machine.kernel), Counter()
    for cycle in range(20, 800, 7):
        machine.kernel.run(cycle_limit=cycle)
        for component in filter(chains.leads_away, machine.kernel.components):
            chain = chains.chain(component, cycle * machine.kernel.clocks[0].period)
            last = max((place for place, link in enumerate(chain) if ADDRESS.search(link.text)), default=None)
            channel = CHANNEL.search(chain[-1].component)
            if last is not None and channel:
                address = int(ADDRESS.search(chain[last].text)[1], 16)
                line = address // parameters.memory.interleave
                assert int(channel[1]) == line % parameters.memory.channels, [str(link) for link in chain]
                lengths[len(chain) - last] += 1
    assert {2, 3} == set(lengths)  # at the memory, and through a miss of a bank
