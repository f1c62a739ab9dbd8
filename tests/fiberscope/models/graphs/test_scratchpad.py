"""Graphs whose levels and values lie in a scratchpad: the same results, later; bytes by tensor."""

from pathlib import Path

import numpy as np
import pytest

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.models.graphs.execution import run

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
WIDTH = 64  # bytes of a line


def drawn(shape, density, seed):
    draws = np.random.default_rng(seed)
    return draws.integers(1, 9, shape) * (draws.random(shape) < density)


def report_of(stem, operands, **settings):
    return run(
        EXAMPLES / f"{stem}.gv", operands, settings={f"scratchpad.{key}": n for key, n in settings.items()}
    )


def scratchpad(report):
    return report.components["graph.scratchpad"].counters


def lines(entries, entry_bytes):
    return -(-entries * entry_bytes // WIDTH)


@pytest.mark.parametrize(
    "stem", ["fig11_coiterate", "fig12_ijk", "fig12_ikj", "fig12_kij", "fig13_skip", "fig13_bv"]
)
def test_the_result_is_the_same_and_comes_the_later_the_farther_memory_is(stem):
    if stem.startswith("fig13"):
        operands = {"b": drawn(2000, 0.05, 1), "c": drawn(2000, 0.05, 2)}
    else:
        operands = {"B": drawn((12, 9), 0.3, 1), "C": drawn((9, 14), 0.3, 2)}
    if stem.startswith("fig11"):
        operands = {"B": drawn((12, 9), 0.3, 1), "C": np.ones((12, 3)), "D": np.ones((9, 3))}
    reports = [report_of(stem, operands, latency=latency) for latency in (0, 1, 40, 400)]
    assert all(report.verification.passed for report in reports)
    cycles = [report.cycles for report in reports]
    assert cycles == sorted(set(cycles))
    moved = [(counts["reads"], counts["writes"]) for counts in map(scratchpad, reports[1:])]
    assert len(set(moved)) == 1
    assert "graph.scratchpad" not in reports[0].components


def test_the_identity_reads_and_writes_every_array_once():
    """Figure 14: rows and columns one behind the other, so that each line is moved once."""
    matrix = drawn((40, 30), 0.1, 3)
    rows, nonzeros = int((matrix != 0).any(axis=1).sum()), int((matrix != 0).sum())
    report = report_of("fig14_identity", {"B": matrix}, latency=10)
    counts = scratchpad(report)
    of_levels = lines(2, 4) + lines(rows, 4) + lines(rows + 1, 4) + lines(nonzeros, 4)
    assert counts["read_bytes_0"] == WIDTH * (of_levels + lines(nonzeros, 8))
    written = lines(1, 4) + lines(rows, 4) + lines(rows, 4) + lines(nonzeros, 4) + lines(nonzeros, 8)
    assert counts["write_bytes_1"] == WIDTH * written


def test_more_lines_on_their_way_hide_latency():
    operands = {"B": drawn((12, 9), 0.3, 1), "C": drawn((9, 14), 0.3, 2)}
    few, many = (
        report_of("fig12_ikj", operands, latency=50, outstanding=number, width=8).cycles for number in (1, 8)
    )
    assert few > many


def test_the_public_simulator_has_no_memory():
    settings = {"timing": "sam", "scratchpad.latency": 4}
    with pytest.raises(ConfigurationError, match="latency is 4; it should be 0 with timing=sam"):
        run(EXAMPLES / "fig14_identity.gv", {"B": drawn((4, 4), 0.5, 3)}, settings=settings)


def test_the_memory_trace_has_every_request(tmp_path):
    trace, asked = tmp_path / "out.trace", {"B": drawn((12, 9), 0.3, 1)}
    settings = {"scratchpad.latency": 10}
    report = run(EXAMPLES / "fig14_identity.gv", asked, settings=settings, memory_trace=trace)
    counts, words = scratchpad(report), [line.split()[1] for line in trace.read_text().splitlines()]
    assert (words.count("R"), words.count("W")) == (counts["reads"], counts["writes"])
