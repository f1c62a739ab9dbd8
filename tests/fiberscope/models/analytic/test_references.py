"""Every count of the public tool's reference runs.

Where probabilities are sums of many terms the tool's own rounding decides whether a count becomes the next
whole number; those of hypergeometric tensors that are compressed may differ by that one unit.
"""

import json
from pathlib import Path

import pytest

from fiberscope.models.analytic.api import analyze

ORACLES = Path(__file__).parents[3] / "oracles" / "timeloop" / "cases.json"
CASES = {case["id"]: case for case in json.loads(ORACLES.read_text())["cases"]}
WAYS = ("reads", "fills", "updates")
STATES = ("actual", "gated", "skipped")


@pytest.fixture(scope="module", params=CASES)
def both(request, tmp_path_factory):
    """A reference case, and the report of the same inputs."""
    case = CASES[request.param]
    path = tmp_path_factory.mktemp("timeloop") / f"{request.param}.yaml"
    path.write_text(json.dumps(case["inputs"], indent=1))
    return case, analyze(path, settings={"mode": "timeloop"})


def slack(case):
    """Units by which a count may differ."""
    return 1 if case["format"] and "hypergeometric" in case["tag"] else 0


def levels(case):
    return [level for level in case["reference"]["levels_inner_to_outer"] if "tensors" in level]


def test_cycles(both):
    case, report = both
    brief = case["reference_brief"]
    assert abs(report.cycles - brief["cycles"]) <= slack(case)
    for name, level in report.levels.items():
        assert abs(level.cycles - brief["level_cycles"][name]) <= slack(case), name
    assert report.analytical.compute.cycles == brief["level_cycles"]["MAC"]


def test_energy(both):
    case, report = both
    brief = case["reference_brief"]
    loose = 2e-5 if slack(case) else 1e-7
    assert report.energy.total_pj == pytest.approx(brief["energy_pJ_sum"], rel=loose)
    for name, level in report.levels.items():
        assert level.energy_pj == pytest.approx(
            brief["level_energy_pJ"][name], rel=3e-4 if slack(case) else 1e-7
        )
    assert report.analytical.compute.energy_pj == pytest.approx(brief["level_energy_pJ"]["MAC"], rel=1e-9)


def test_computes(both):
    case, report = both
    assert report.analytical.compute.actual == case["reference_brief"]["actual_computes"]


def test_counts_of_every_level_and_tensor(both):
    case, report = both
    for level in levels(case):
        for name, wanted in level["tensors"].items():
            found = report.levels[level["name"]].tensors[name]
            for way in WAYS:
                counted = getattr(found, way)
                assert counted.algorithmic == wanted[way]["algorithmic"]
                for state in STATES:
                    difference = abs(getattr(counted, state) - (wanted[way][state] or 0))
                    assert difference <= slack(case), (level["name"], name, way, state)
            assert abs(found.temporal_reductions - wanted["temporal_reductions"]) <= slack(case)
            assert found.words == wanted["max_data_words"]
            assert found.instances.maximal == wanted["instances"]["max"]
            if wanted["instances"]["avg"] is not None:
                assert found.instances.average == pytest.approx(wanted["instances"]["avg"], abs=0.0051)


def units(wanted):
    """Units by rank from the innermost, as the reference has them: 0 where there is nothing."""
    if not isinstance(wanted, dict):
        return None
    return [tuple(wanted[f"rank{rank}"]) for rank in range(len(wanted))]


def near(found, wanted, allowed):
    return len(found) == len(wanted) and all(
        abs(one - other) <= allowed
        for pair in zip(found, wanted, strict=True)
        for one, other in zip(*pair, strict=True)
    )


def test_units_of_formats(both):
    case, report = both
    for level in levels(case):
        for name, wanted in level["tensors"].items():
            found = report.levels[level["name"]].tensors[name]
            largest = units(wanted["max_format_words"])
            assert largest is None or near(found.format_words, largest, 0)
            for way in WAYS:
                for state in STATES:
                    told = units((wanted.get(f"format_{way}") or {}).get(state))
                    if told is not None:
                        here = getattr(getattr(found, f"format_{way}"), state)
                        assert near(here, told, slack(case)), (level["name"], name, way, state)
