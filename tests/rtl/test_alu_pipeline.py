"""An ALU with the channel in whose latency it computes, beside the component and its channel."""

import random
from dataclasses import asdict, replace

import pytest
from channel_scenario import PassOn
from pairs import Pair, check_pair
from stream_values_scenario import ALU as SCENARIO

from fiberscope.hw.rtl.kit.arithmetic import VALUES
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.streams.values_rtl import ALU, PIPELINE, PipelineParameters

LATENCIES = (1, 2, 3, 4, 9)


class PipelineAdapter(PIPELINE.adapter):
    """One that tokens may be within."""

    def account(self, now, moved, _blocked):
        return self.busy(now + 1) if moved else self.idle()


def pipeline_pair(seed):
    generator = random.Random(seed)
    alone = replace(SCENARIO.drawn(seed), values=VALUES[seed % len(VALUES)])
    size = {"capacity": generator.choice([1, 2, 8, 19]), "latency": LATENCIES[seed % len(LATENCIES)]}
    given = PipelineParameters(**asdict(alone), **size)

    def composed(kernel, scope):
        unit, wire = kernel.add(ALU.component(f"{scope}.unit", alone)), kernel.add(PassOn(f"{scope}.wire"))
        kernel.connect(unit, "out_val[0]", wire, "in", **size)
        return {
            "in_val[0]": (unit, "in_val[0]"),
            "in_val[1]": (unit, "in_val[1]"),
            "out_val[0]": (wire, "out"),
        }

    def rtl(name):
        made = PipelineAdapter(name, PIPELINE.interface(given), PyrtlBackend(PIPELINE.twin(given), seed))
        made.drain = given.latency
        return made

    inputs = SCENARIO.inputs(generator, alone)
    return Pair("alu_pipeline", rtl, rtl, inputs, ("out_val[0]",), seed, composed=composed)


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 300))]
)
def test_it_computes_to_the_last_bit_in_the_cycles_of_its_channel(seed):
    assert check_pair(pipeline_pair(seed)) > 60
