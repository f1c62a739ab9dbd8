"""Runs of whole machines, of whatever accelerator: to the end, their length, and what they leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np

from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.machine import Accelerator, Machine

CYCLE_LIMIT = 2_000_000
# Ways to run a kernel that must not change anything.
KERNELS: tuple[dict[str, Any], ...] = (
    {"sleep": False},
    {"order_seed": 1},
    {"order_seed": 2},
    {"sleep": False, "order_seed": 3},
)

AnyMachine = TypeVar("AnyMachine", bound=Machine)


def dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by the keys of the configuration, from names with double underscores: ``pe__count``."""
    return {key.replace("__", "."): value for key, value in settings.items()}


def run_to_end(machine: AnyMachine) -> AnyMachine:
    """The machine, after its run.

    Raises:
        AssertionError: if it comes to the cycle limit.
    """
    run = machine.kernel.run(cycle_limit=CYCLE_LIMIT)
    assert run.complete, f"not done after {run.cycles} cycles"
    return machine


@dataclass(frozen=True)
class Bench:
    """Makes and runs machines of an accelerator.

    Args:
        accelerator: which one.
        machine: its class.
        shortages: settings of ``tiny``.
        always: settings of all, unless they are given otherwise.
    """

    accelerator: Accelerator[Any]
    machine: type[Any]
    shortages: Mapping[str, Any]
    always: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, **settings: Any) -> Any:
        """The shipped configuration with settings, whose dots are double underscores: ``pe__count=3``."""
        kind = self.accelerator
        given = {**self.always, **dotted(settings)}
        return load(kind.configuration, kind.shipped, name=kind.name, settings=given)

    def tiny(self, **settings: Any) -> Any:
        """A machine short of everything, with settings."""
        return self.configured(**(self.shortages | dotted(settings)))

    def run(self, parameters: Any, a: Any, b: Any, **options: Any) -> Any:
        """A machine that has run to its end, in a kernel or with parts of one's own if they are given.

        Raises:
            AssertionError: if it comes to the cycle limit.
        """
        return run_to_end(self.machine(parameters, a, b, **options))


def cycles(machine: Machine) -> int:
    """The length of a machine's run."""
    return machine.kernel.length(machine.kernel.clocks[0])


def outcome(machine: Machine, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """All that a run leaves behind, but what components say of themselves whose names end so."""
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


def _listed(product: Any) -> list[Any]:
    """A product, sparse or dense, as numbers that can be compared."""
    if isinstance(product, np.ndarray):
        return [product.tolist()]
    return [product.indptr.tolist(), product.indices.tolist(), product.data.tolist()]
