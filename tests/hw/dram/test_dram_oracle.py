"""Replays of the reference's traces: what Ramulator 2.1 did with them, cycle for cycle."""

import json
from typing import Any

import pytest
from dram_rules import ORACLES

from fiberscope.hw.dram import DramSpecification, replay

MAPS = {"base": "RoBaRaCoCh", "mop": "MOP4CLXOR"}
COUNTERS = {
    "row_hits": "row_hits",
    "row_misses": "row_misses",
    "row_conflicts": "row_conflicts",
    "forwarded": "num_read_reqs_forwarded",
    "coalesced": "num_write_reqs_coalesced",
}


def specification(address_map: str) -> DramSpecification:
    return DramSpecification(
        address_map=address_map, refresh="off", request_bytes=32, interleave_bytes=32
    )  # the reference's device; its runs had no refresh


def results() -> list[Any]:
    return [
        pytest.param(configuration, result, id=f"{configuration}-{result['trace']}")
        for configuration in MAPS
        for result in json.loads((ORACLES / f"reference_{configuration}.json").read_text())["results"]
    ]


@pytest.mark.parametrize(("configuration", "reference"), results())
def test_the_reference_is_matched_exactly(configuration: str, reference: dict[str, Any]) -> None:
    result = replay(
        ORACLES / f"{reference['trace']}.gz", specification(MAPS[configuration]), reference["issue_per_cycle"]
    )
    assert result.requests == reference["requests"]
    assert result.reads == reference["reads"]
    assert result.last_completion_cycle == reference["last_completion_cycle"]
    assert round(result.mean_read_latency, 4) == reference["avg_read_latency"]
    assert {name: result.counters[name] for name in COUNTERS} == {
        name: reference["stats"][other] for name, other in COUNTERS.items()
    }
    assert round(result.bytes_per_second / 1e9, 3) == reference["GBps_at_1GHz"]


def test_unloaded_latencies_are_17_32_and_45_cycles() -> None:
    result = replay(ORACLES / "unloaded_latency.trace.gz", specification("RoBaRaCoCh"))
    begins = [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000]
    latencies = [cycle - begins[tag] for tag, cycle in result.completions]
    assert latencies == [32, 17, 45, 17, 32, 17, 32, 32]  # miss, hit, conflict, hit, ...
