"""Chains of waits in a timeline: those of the debugger, through networks and caches into memory."""

from pathlib import Path

import fiberscope
from fiberscope.results.recording.document import StateTimeline

MATRIX = "uniform:rows=40,cols=40,nonzeros=300"
SETTINGS = {"pe.count": 2, "pe.radix": 4, "fibercache.banks": 2, "memory.channels": 1}


def recorded(folder: Path) -> StateTimeline:
    file = folder / "states.json"
    fiberscope.simulate("gamma", MATRIX, settings=SETTINGS, timeline=file)
    return StateTimeline.read(file)


def chains_of(states: StateTimeline) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """The recorded chains by component and cycle."""
    assert states.chains is not None
    recorded_chains = states.chains
    return {
        (name, states.start + (number + 1) * recorded_chains.interval): [
            recorded_chains.links[at] for at in chain
        ]
        for name, samples in recorded_chains.components.items()
        for number, chain in enumerate(samples)
        if chain
    }


def test_a_recorded_chain_is_the_debuggers(tmp_path: Path) -> None:
    chains = chains_of(recorded(tmp_path))
    cycles = sorted({cycle for _name, cycle in chains})[1::9][:5]
    assert cycles
    with fiberscope.debug("gamma", MATRIX, settings=SETTINGS) as session:
        for cycle in cycles:
            session.goto(cycle)
            for (name, at), chain in chains.items():
                if at == cycle:
                    lines = [line.strip() for line in str(session.why(name)).splitlines()]
                    assert len(lines) == len(chain)
                    for line, (component, text) in zip(lines, chain, strict=True):
                        assert line.startswith(f"{component} {text}")


def test_chains_follow_requests_into_memory(tmp_path: Path) -> None:
    chains = chains_of(recorded(tmp_path))
    waiting = [chain for chain in chains.values() if "waits at" in chain[0][1] and "replies" in chain[0][1]]
    assert waiting
    ends = {chain[-1][0].partition(".")[2] for chain in waiting}
    assert any("memory.channel" in end for end in ends)
    for chain in waiting:
        assert len(chain) > 1
        assert "network" not in chain[1][0] or "on its way" in chain[1][1]
