"""Any settings within their ranges: a run ends verified, is refused in one line, or names its deadlock."""

import json
from itertools import islice
from pathlib import Path

import pytest
from kept import check_kept
from legal_settings import drawn
from machine_case import cases
from whole_outputs import fingerprint

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.sim import import_mode
from fiberscope.sim.errors import DeadlockError

CASES = cases()
KEPT = Path(__file__).parent / "support" / "legal_settings.json"
FEW, MANY = 24, 200  # draws a machine at the most, by default and in the slow test
ENOUGH = 7  # that end well, by default
SOON = 10**6  # cycles within which a deadlock is named
LONGEST = 10**9  # cycles, of which the slowest of these machines has many for each of some thousand elements

pytestmark = pytest.mark.skipif(not import_mode.compiled(), reason="some settings take minutes uncompiled")
every_machine = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def outcome_of(case, seed):
    """The report of a run that came to its end, or the line or the cycle of the deadlock that says why not.

    Every other draw lies over the smallest make, the rest over what is shipped.
    """
    under = next(iter(case.variants.values())) if seed % 2 else {}
    settings = drawn(case.kind, under, seed)
    if case.problem:
        settings |= {"problem.algorithm": ("bfs", "sssp", "pagerank")[seed % 3]}
    report, said, at = None, "", 0
    try:
        report = fiberscope.simulate(
            case.accelerator, *case.operands(), settings=settings, cycle_limit=LONGEST
        )
    except (ConfigurationError, fiberscope.InputError) as refused:
        said = str(refused)
    except DeadlockError as deadlock:
        at = deadlock.cycle
    assert "\n" not in said
    assert at <= SOON
    assert report is None or (report.complete and report.verification.passed), settings
    return report, said, at


def ends_kept(case, seed):
    """Whether a run came to its end, in the numbers that are kept of it; else why not, as is kept."""
    report, said, at = outcome_of(case, seed)
    found = fingerprint(json.loads(report.to_json()) if report else {"said": said, "at": at})
    check_kept(KEPT, f"{case.accelerator.rpartition('/')[2]}, {seed}", found, rel=1e-12)
    return report is not None


@every_machine
def test_settings_within_their_ranges_end_well(case):
    """A machine of few parameters has more draws that are refused than others: it gets more of them."""
    ended = (seed for seed in range(FEW) if ends_kept(case, seed))
    assert len(list(islice(ended, ENOUGH))) == ENOUGH


@pytest.mark.slow
@every_machine
def test_many_settings_within_their_ranges_end_well(case):
    assert sum(outcome_of(case, seed)[0] is not None for seed in range(MANY)) > MANY // 2
