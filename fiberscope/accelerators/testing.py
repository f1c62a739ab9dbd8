"""Checks that must hold for every machine, for tests of your own machines.

    CASE = MachineCase(accelerator="./mine", variants={"tiny": {"pe.count": 2}}, operands=..., planted=...)
    check_laws(CASE, "tiny")

The checks are called *laws*:

- ``check_order``: neither the order in which components tick nor sleep, by which the kernel skips ticks of
  components that have nothing to do, changes a run;
- ``check_turns``: another machine in the same process does not change a run;
- ``check_end``: the states of every component add up to the cycles of the run, all work is done, and reading
  the outcome does not change the machine;
- ``check_requests``: memory gets exactly the requests that the layouts of the machine allow.
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
TURN = 7  # cycles that a machine runs in ``check_turns`` before the next machine runs
# Options of a kernel that must not change the outcome of a run.
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
    """A machine to check, with small configurations and operands.

    Args:
        accelerator: name of the machine, or path of its folder or file.
        variants: settings of each variant, by the name of the variant. The first variant should have the
            smallest resources and the simple memory model.
        operands: function that returns new, small operands that make every part of the machine work.
        planted: name of a part, and name of a variant that has several such parts. Tests of the checks
            replace this part by a part that depends on the order of ticks.
        problem: parameters of the problem by name; None if the problem has none.
    """

    accelerator: str
    variants: Mapping[str, Mapping[str, Any]]
    operands: Callable[[], Operands]
    planted: tuple[str, str]
    problem: Mapping[str, Any] | None = None

    @property
    def kind(self) -> Accelerator[Any]:
        """Return the descriptor of the machine."""
        return accelerators.find(self.accelerator)

    def build(self, variant: str, operands: Operands, **options: Any) -> Any:  # noqa: ANN401  (any machine)
        """Build the machine in one variant.

        Args:
            variant: name of a variant in ``variants``.
            operands: operands of the machine.
            options: further arguments of the machine's constructor, such as ``kernel`` and ``parts``.
        """
        kind = self.kind
        settings = dict(self.variants[variant])
        parameters = load(kind.configuration, kind.shipped, name=kind.name, settings=settings)
        arguments: tuple[Any, ...] = operands
        if self.problem is not None:
            workloads = [from_scipy(operand) for operand in operands]
            arguments = tuple(kind.solves[0](workloads, self.problem).machine_inputs())
        return kind.models[EVENT](parameters, *arguments, **options)

    def inexact_operands(self) -> Operands:
        """Return the operands with values whose sums depend on the order of the additions."""
        operands = self.operands()
        for matrix in operands:
            matrix.data[:] = [0.1 * (i % 7) + 1e-3 * i for i in range(len(matrix.data))]
        return operands


def random_operands(rows: int, inner: int, columns: int, nonzeros: int, seed: int = 1) -> Operands:
    """Return two random matrices with small integer values, whose sums are exact in any order.

    Args:
        rows, inner, columns: the shapes are rows x inner and inner x columns.
        nonzeros: number of stored entries of each matrix; the value of an entry may be 0.
        seed: seed of the random numbers.
    """
    generator = np.random.default_rng(seed)
    operands = []
    for shape in ((rows, inner), (inner, columns)):
        # Distinct positions in row-major order: no entry occurs twice, and columns ascend within a row.
        positions = np.sort(generator.choice(shape[0] * shape[1], nonzeros, replace=False))
        values = generator.integers(-3, 4, nonzeros).astype(float)
        operands.append(
            sparse.csr_array((values, (positions // shape[1], positions % shape[1])), shape=shape)
        )
    return operands[0], operands[1]


def run_to_end(machine: AnyMachine) -> AnyMachine:
    """Run a machine to the end, and return the machine.

    Raises:
        AssertionError: if the run is not complete within ``CYCLE_LIMIT`` cycles.
    """
    run = machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert run.complete, f"not done after {run.cycles} cycles"
    return machine


def cycles(machine: Machine) -> int:
    """Return the length of a machine's run, in cycles of the kernel's first clock."""
    return machine.kernel.length(machine.kernel.clocks[0])


def outcome(machine: Machine, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return everything that a run determines, as plain data that can be compared.

    Args:
        machine: machine after a complete run.
        without: suffixes of component names. The statistics of such components are left out.
    """
    product, memory = machine.result(), machine.memory()
    statistics = machine.kernel.statistics().items()
    return {
        "cycles": cycles(machine),
        "statistics": {name: asdict(part) for name, part in statistics if not name.endswith(without)},
        "operations": machine.operations(),
        "traffic": {name: asdict(part) for name, part in machine.traffic().items()},
        "memory": asdict(memory) if memory else None,
        "product": _to_lists(product),
    }


def _to_lists(product: Any) -> list[Any]:  # noqa: ANN401  (of any machine)
    """Return a dense or CSR product as lists of numbers, which ``==`` compares; CSR lists omit the shape."""
    if isinstance(product, np.ndarray):
        return [product.tolist()]
    return [product.indptr.tolist(), product.indices.tolist(), product.data.tolist()]


def check_laws(case: MachineCase, variant: str) -> None:
    """Check all laws for one variant of a machine that has a memory.

    Raises:
        AssertionError: if a law does not hold.
        ConfigurationError: if the machine has no memory or no layouts.
    """
    check_order(case, variant)
    check_turns(case, variant, variant)
    check_end(case, variant)
    check_requests(case, variant)


def check_order(case: MachineCase, variant: str) -> None:
    """Check that neither sleep nor the order of ticks changes a run, even if sums are rounded.

    Raises:
        AssertionError: with the options of the kernel that change the run.
    """
    operands = case.inexact_operands()
    expected = outcome(run_to_end(case.build(variant, operands)))
    for options in KERNELS:
        result = outcome(run_to_end(case.build(variant, operands, kernel=Kernel(**options))))
        assert result == expected, options


def check_turns(case: MachineCase, *variants: str) -> None:
    """Check that machines that run alternately, ``TURN`` cycles at a time, behave as if each ran alone.

    Args:
        case: the machine.
        variants: variants of the machines that take turns; the same variant may occur several times.

    Raises:
        AssertionError: if a machine behaves differently, or runs longer than ``CYCLE_LIMIT`` cycles.
    """
    operands = case.operands()
    expected = [outcome(run_to_end(case.build(variant, operands))) for variant in variants]
    machines = [case.build(variant, operands) for variant in variants]
    # A limit counts from the start of the run, so that each round adds ``TURN`` cycles.
    for limit in count(TURN, TURN):
        runs = [machine.kernel.run(cycle_limit=limit) for machine in machines]
        if all(run.complete for run in runs):
            break
        assert limit < CYCLE_LIMIT
    assert [outcome(machine) for machine in machines] == expected


def check_end(case: MachineCase, variant: str) -> None:
    """Check the accounting of every component, that all work is done, and that reading changes nothing.

    Raises:
        AssertionError: if one of these does not hold, or if the machine has no work at all.
    """
    machine = run_to_end(case.build(variant, case.operands()))
    check_accounting(machine.kernel.statistics())
    done, work = machine.progress()
    assert done == work > 0
    # The second outcome differs from the first if reading has changed the machine.
    expected = outcome(machine)
    assert outcome(machine) == expected


def check_requests(case: MachineCase, variant: str) -> None:
    """Check that memory gets exactly the requests that the machine's layouts allow.

    Raises:
        AssertionError: with the faults.
        ConfigurationError: if the machine has no memory or no layouts.
    """
    machine = case.build(variant, case.operands())
    with checked_requests(machine) as check:
        run_to_end(machine)
    assert check.ended(complete=True) == []
