"""Checks that hold for every machine, for tests of your own machines.

    CASE = MachineCase(accelerator="./mine", variants={"tiny": {"pe.count": 2}}, operands=..., planted=...)
    check_laws(CASE, "tiny")

A run must depend neither on sleep nor on the order of ticks, nor on another machine beside it; its accounting
adds up, asking for its outcome changes nothing, and each request is one that its layouts allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from fiberscope import accelerators
from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.machine import EVENT, Accelerator, Machine
from fiberscope.accelerators.request_check import checked_requests
from fiberscope.sim import Kernel
from fiberscope.sim.testing import check_accounting
from fiberscope.workloads import from_scipy

CYCLE_LIMIT = 2_000_000
TURN = 7  # cycles that one of two machines runs before the other does
# Ways to run a kernel that must not change anything.
KERNELS: tuple[dict[str, Any], ...] = (
    {"sleep": False},
    {"order_seed": 1},
    {"order_seed": 2},
    {"sleep": False, "order_seed": 3},
)

Operands = tuple[sparse.csr_array, ...]
AnyMachine = TypeVar("AnyMachine", bound=Machine)


@dataclass(frozen=True)
class MachineCase:
    """A machine, as small machines of some makes.

    Args:
        accelerator: its name, or the path of its folder or file.
        variants: settings by the name of the make; the first is short of everything and simple in its memory.
        operands: small ones that put every part to work.
        planted: a part to be replaced by one that depends on the tick order, and a make that has several.
        problem: parameters of its problem, where that takes any.
    """

    accelerator: str
    variants: Mapping[str, Mapping[str, Any]]
    operands: Callable[[], Operands]
    planted: tuple[str, str]
    problem: Mapping[str, Any] | None = None

    @property
    def kind(self) -> Accelerator[Any]:
        """The accelerator."""
        return accelerators.find(self.accelerator)

    def build(self, variant: str, operands: Operands, **options: Any) -> Any:  # noqa: ANN401  (any machine)
        """A machine of one make, in a kernel or with parts of one's own if they are given."""
        kind = self.kind
        settings = dict(self.variants[variant])
        parameters = load(kind.configuration, kind.shipped, name=kind.name, settings=settings)
        arguments: tuple[Any, ...] = operands
        if self.problem is not None:
            workloads = [from_scipy(operand) for operand in operands]
            arguments = tuple(kind.solves[0](workloads, self.problem).machine_inputs())
        return kind.models[EVENT](parameters, *arguments, **options)

    def inexact_operands(self) -> Operands:
        """The operands with values whose sums depend on the order in which they are added."""
        operands = self.operands()
        for matrix in operands:
            matrix.data[:] = [0.1 * (i % 7) + 1e-3 * i for i in range(len(matrix.data))]
        return operands


def random_operands(rows: int, inner: int, columns: int, nonzeros: int, seed: int = 1) -> Operands:
    """Two matrices of small whole values, so that sums are exact in any order."""
    generator = np.random.default_rng(seed)
    operands = []
    for shape in ((rows, inner), (inner, columns)):
        places = np.sort(generator.choice(shape[0] * shape[1], nonzeros, replace=False))
        values = generator.integers(-3, 4, nonzeros).astype(float)
        operands.append(sparse.csr_array((values, (places // shape[1], places % shape[1])), shape=shape))
    return operands[0], operands[1]


def run_to_end(machine: AnyMachine) -> AnyMachine:
    """The machine, after its run.

    Raises:
        AssertionError: if it comes to the cycle limit.
    """
    run = machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert run.complete, f"not done after {run.cycles} cycles"
    return machine


def cycles(machine: Machine) -> int:
    """The length of a machine's run."""
    return machine.kernel.length(machine.kernel.clocks[0])


def outcome(machine: Machine, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the complete result of a run, without the counters of components whose names end so."""
    product, memory = machine.result(), machine.memory()
    statistics = machine.kernel.statistics().items()
    return {
        "cycles": cycles(machine),
        "statistics": {name: asdict(part) for name, part in statistics if not name.endswith(without)},
        "operations": machine.operations(),
        "traffic": {name: asdict(part) for name, part in machine.traffic().items()},
        "memory": asdict(memory) if memory else None,
        "product": _listed(product),
    }


def _listed(product: Any) -> list[Any]:  # noqa: ANN401  (of any machine)
    """A product, sparse or dense, as numbers that can be compared."""
    if isinstance(product, np.ndarray):
        return [product.tolist()]
    return [product.indptr.tolist(), product.indices.tolist(), product.data.tolist()]


def check_laws(case: MachineCase, variant: str) -> None:
    """Hold one make of a machine that has a memory to all of the laws.

    Raises:
        AssertionError: one does not hold.
    """
    check_order(case, variant)
    check_turns(case, variant, variant)
    check_end(case, variant)
    check_requests(case, variant)


def check_order(case: MachineCase, variant: str) -> None:
    """Check that neither sleep nor the order of ticks changes a run, even where sums are rounded."""
    operands = case.inexact_operands()
    expected = outcome(run_to_end(case.build(variant, operands)))
    for options in KERNELS:
        result = outcome(run_to_end(case.build(variant, operands, kernel=Kernel(**options))))
        assert result == expected, options


def check_turns(case: MachineCase, *variants: str) -> None:
    """Machines that run in turn, some cycles each, run as if each were alone."""
    operands = case.operands()
    expected = [outcome(run_to_end(case.build(variant, operands))) for variant in variants]
    machines = [case.build(variant, operands) for variant in variants]
    for limit in count(TURN, TURN):
        runs = [machine.kernel.run(cycle_limit=limit) for machine in machines]
        if all(run.complete for run in runs):
            break
        assert limit < CYCLE_LIMIT
    assert [outcome(machine) for machine in machines] == expected


def check_end(case: MachineCase, variant: str) -> None:
    """The accounting of every component adds up, all work is done, and asking again changes nothing."""
    machine = run_to_end(case.build(variant, case.operands()))
    check_accounting(machine.kernel.statistics())
    done, work = machine.progress()
    assert done == work > 0
    before = outcome(machine)
    assert outcome(machine) == before


def check_requests(case: MachineCase, variant: str) -> None:
    """Check that memory gets exactly the requests that the machine's layouts allow."""
    machine = case.build(variant, case.operands())
    with checked_requests(machine) as check:
        run_to_end(machine)
    assert check.ended(complete=True) == []
