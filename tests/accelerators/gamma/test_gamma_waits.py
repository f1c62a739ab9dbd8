"""Chains of waits lead to the place of the request that they name."""

import re
from collections import Counter

import pytest
from gamma_bench import configured

from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST, HeldRequest
from fiberscope.results.recording.waits import WaitChains
from fiberscope.sim import Component, Input, Kernel, Output
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
        for component in filter(chains.waits_for_memory_or_network, machine.kernel.components):
            chain = chains.find_chain(component, cycle * machine.kernel.clocks[0].period)
            last = max((place for place, link in enumerate(chain) if ADDRESS.search(link.text)), default=None)
            channel = CHANNEL.search(chain[-1].component)
            if last is not None and channel:
                address = int(ADDRESS.search(chain[last].text)[1], 16)
                line = address // parameters.memory.interleave
                assert int(channel[1]) == line % parameters.memory.channels, [str(link) for link in chain]
                lengths[len(chain) - last] += 1
    assert {2, 3} == set(lengths)  # at the memory, and through a miss of a bank


class Requester(Component):
    PORTS = (Output("requests", REQUEST, array=True), Input("replies", REPLY, array=True))
    tag_base = 0

    def tick(self, _now):
        return self.wait_any_input(self.replies)


class Holder(Component):
    """Has held a read since a cycle of its clock."""

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(self, name, address, since):
        super().__init__(name)
        self.request = HeldRequest(READ, 0, address, "held", since)

    def tick(self, _now):
        return self.idle()

    def held_requests(self):
        return [self.request]


@pytest.mark.parametrize(("slow_since", "oldest"), [(10, 0xA), (4, 0xB)])
def test_the_oldest_request_is_the_oldest_in_time_whatever_the_clocks(slow_since, oldest):
    """A cycle of the second clock takes four of the first; the request at A arrived in cycle 20."""
    kernel = Kernel()
    kernel.clock("core", 4 * 10**9)
    slow = kernel.clock("slow", 10**9)
    requester = kernel.add(Requester("requester"))
    holders = [kernel.add(Holder("a", 0xA, 20)), kernel.add(Holder("b", 0xB, slow_since), slow)]
    for place, holder in enumerate(holders):
        kernel.connect(requester, f"requests[{place}]", holder, "requests", capacity=1)
        kernel.connect(holder, "replies", requester, f"replies[{place}]", capacity=1)
    kernel.step()
    chain = WaitChains(kernel).find_chain(requester, 100)
    assert f"for the read of {oldest:#x}, the oldest of 2" in chain[0].text
    assert chain[1].since == (20 if oldest == 0xA else 4 * slow_since)
