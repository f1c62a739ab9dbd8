"""Policies of the user: those with a block's own rule change nothing, and what cannot be is refused."""

from pathlib import Path
from typing import Any

import pytest
from scipy import sparse

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.hw.memory.prefetch_policy import PrefetchPolicy
from fiberscope.hw.memory.protocol import FETCH, READ
from fiberscope.hw.memory.replacement import ReplacementPolicy
from fiberscope.hw.networks.arbitration import ArbitrationPolicy
from fiberscope.hw.schedule import SchedulePolicy
from fiberscope.sim import SimulationError

MATRIX = "uniform:rows=40,cols=40,nonzeros=300"
TIGHT = {
    "pe.count": 4,
    "pe.radix": 4,
    "fibercache.banks": 2,
    "fibercache.ways": 4,
    "fibercache.size": "2KiB",
    "memory.channels": 1,
}


class Shipped(ReplacementPolicy):
    """The rule of the bank: reads to come, then the cost, then SRRIP, then the way."""

    def victim(self, lines):
        return min(lines, key=lambda line: (line.reads, line.dirty == (line.reads > 0), -line.reuse))


class Newest(ReplacementPolicy):
    """Evicts the line of the newest request."""

    def __init__(self):
        self.last_use = {}
        self.operations = set()

    def requested(self, number, operation, now):
        assert now >= max(self.last_use.values(), default=0)
        self.last_use[number] = now
        self.operations.add(operation)

    def victim(self, lines):
        assert self.operations <= set(range(6))
        assert {READ, FETCH} & self.operations
        return max(lines, key=lambda line: self.last_use.get(line.number, 0))


class Turns(ArbitrationPolicy):
    """The rule of the crossbar: the first input behind the one that was served last."""

    def __init__(self):
        self.turns = {}

    def served(self, output, head, now):
        self.turns[output] = head.port + 1

    def winner(self, output, heads, now):
        turn = self.turns.get(output, 0)
        return next((head for head in heads if head.port >= turn), heads[0])


class Lowest(ArbitrationPolicy):
    """The input with the lowest number goes first."""

    def winner(self, output, heads, now):
        return heads[0]


class Nobody(ArbitrationPolicy):
    """Chooses no head."""

    def winner(self, output, heads, now):
        return None


class Nothing(ReplacementPolicy):
    """Chooses no line."""

    def victim(self, lines):
        return lines[0].number


class LastTask(SchedulePolicy):
    """The task that the machine would choose last, on the worker that it would choose last."""

    def task(self, tasks, now):
        assert len({task.number for task in tasks}) == len(tasks)
        return tasks[-1]

    def worker(self, task, workers, now):
        assert task.size > 0
        assert all(worker.waiting >= 0 for worker in workers)
        return workers[-1]


class NoTask(SchedulePolicy):
    """Chooses no task."""

    def task(self, tasks, now):
        return None


class NoWorker(SchedulePolicy):
    """Chooses no worker."""

    def worker(self, task, workers, now):
        return workers[0].number


class LastFiber(PrefetchPolicy):
    """Fetches the last of the fibers first."""

    def fiber(self, fibers, now):
        assert all(fiber.left >= 0 for fiber in fibers)
        return fibers[-1]


class TwoLines(PrefetchPolicy):
    """Fetches the first two lines of each fiber at most."""

    def fiber(self, fibers, now):
        return next((fiber for fiber in fibers if fiber.fetched < 2), None)


class Nowhere(PrefetchPolicy):
    """Fetches nothing."""

    def fiber(self, fibers, now):
        return None


class NoFiber(PrefetchPolicy):
    """Chooses no fiber."""

    def fiber(self, fibers, now):
        return fibers[0].line


RUNS = {
    "gamma": (MATRIX, TIGHT),
    "extensor": ("uniform:rows=200,cols=200,nonzeros=1500", {"pe.count": 4, "llb.intersectors": 4}),
    "graphicionado": (MATRIX, {}),
}


def run(machine: str = "gamma", **parts: Any) -> dict[str, Any]:
    """The numbers of a run with these parts."""
    matrix, settings = RUNS[machine]
    report = fiberscope.simulate(machine, matrix, settings=settings, parts=parts)
    assert report.verification is not None
    assert report.verification.passed
    return {
        "cycles": report.cycles,
        "traffic": {name: (part.read_bytes, part.write_bytes) for name, part in report.traffic.items()},
        "components": {name: (part.busy, part.counters) for name, part in report.components.items()},
    }


def test_a_policy_with_the_rule_of_the_bank_changes_nothing() -> None:
    shipped = run()
    assert sum(counters.get("evictions", 0) for _, counters in shipped["components"].values()) > 100
    assert run(bank=Shipped) == shipped


def test_a_policy_with_the_rule_of_the_crossbar_changes_nothing() -> None:
    assert run(crossbar=Turns) == run()


def test_another_policy_has_another_traffic() -> None:
    newest = run(bank=Newest)
    assert newest["traffic"]["B"] != run()["traffic"]["B"]
    assert newest == run(bank=Newest)


def test_a_policy_is_asked_once_for_each_line_that_goes() -> None:
    class Counted(Newest):
        calls = 0

        def victim(self, lines):
            Counted.calls += 1
            return super().victim(lines)

    components = run(bank=Counted)["components"].values()
    assert Counted.calls == sum(counters.get("evictions", 0) for _, counters in components)


def test_a_policy_of_crossbars_is_asked_where_heads_contend() -> None:
    assert run(crossbar=Lowest)["cycles"] != run()["cycles"]


@pytest.mark.parametrize(
    ("machine", "part"), [("gamma", "scheduler"), ("extensor", "dispatcher"), ("graphicionado", "dispatcher")]
)
def test_the_schedule_policy_itself_changes_nothing_and_another_one_does(machine: str, part: str) -> None:
    shipped = run(machine)
    assert run(machine, **{part: SchedulePolicy}) == shipped
    assert run(machine, **{part: LastTask})["cycles"] != shipped["cycles"]


def test_a_task_of_extensor_is_as_long_as_its_microtiles_let_expect() -> None:
    """Two microtiles of A, of 1 element and of 2 fibers with 2 each, times one of B: 3 fibers with 2 each."""
    sizes: dict[int, int] = {}

    class Recorded(SchedulePolicy):
        def worker(self, task, workers, now):
            sizes[task.number] = task.size
            return workers[0]

    a = sparse.csr_array(([1.0] * 5, ([3, 130, 130, 140, 140], [7, 7, 9, 8, 9])), shape=(256, 128))
    b = sparse.csr_array(([1.0] * 6, ([7, 8, 7, 9, 8, 9], [1, 1, 2, 2, 5, 5])), shape=(128, 128))
    settings = {"pe.count": 4, "llb.intersectors": 4}
    fiberscope.simulate("extensor", a, b, settings=settings, parts={"dispatcher": Recorded})
    assert sorted(sizes.values()) == [2 * 1 * 6 * 3 // (1 * 3 + 6 * 1), 2 * 4 * 6 * 6 // (4 * 3 + 6 * 2)]


def test_the_prefetch_policy_itself_changes_nothing_and_another_one_does() -> None:
    shipped = run()
    assert run(prefetcher=PrefetchPolicy) == shipped
    assert run(prefetcher=LastFiber)["cycles"] != shipped["cycles"]


def fetches(numbers: dict[str, Any]) -> int:
    """Lines that the prefetchers fetched."""
    return sum(counters.get("fetches", 0) for _, counters in numbers["components"].values())


def test_a_prefetch_policy_can_leave_lines_out() -> None:
    assert fetches(run(prefetcher=Nowhere)) == 0
    assert 0 < fetches(run(prefetcher=TwoLines)) < fetches(run())


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"crossbar": Nobody}, r"Nobody\.winner chose None, none of the heads"),
        ({"scheduler": NoTask}, r"NoTask\.task chose None, none of the tasks"),
        ({"scheduler": NoWorker}, r"NoWorker\.worker chose \d+, none of the workers"),
        ({"prefetcher": NoFiber}, r"NoFiber\.fiber chose \d+, none of the fibers"),
        ({"bank": Nothing}, r"Nothing\.victim chose \d+, none of the lines"),
    ],
)
def test_a_choice_that_is_none_is_an_error(parts: dict[str, Any], fault: str) -> None:
    with pytest.raises(SimulationError, match=fault):
        run(**parts)


def test_a_policy_of_another_block_is_refused() -> None:
    with pytest.raises(InputError, match=r"the part bank: .*Lowest is no ReplacementPolicy"):
        run(bank=Lowest)


def test_a_policy_of_a_block_that_takes_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"the part merger: .*Lowest is a policy, but this block takes none"):
        run(merger=Lowest)


def test_a_policy_is_named_on_the_command_line(here: Path, printed) -> None:
    Path("mine.py").write_text(
        "from fiberscope.hw.memory.replacement import ReplacementPolicy\n"
        "class First(ReplacementPolicy):\n"
        "    def victim(self, lines):\n"
        "        return lines[0]\n"
    )
    settings = [f"--set={key}={value}" for key, value in TIGHT.items()]
    out = printed("sim", "gamma", MATRIX, *settings, "--part", "bank=mine.py:First")
    assert "gamma with bank First" in " ".join(out.split())
