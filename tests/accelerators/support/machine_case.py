"""What a machine gives to be held to the laws that hold for all of them; see ``test_machines.py``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fiberscope import accelerators
from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.machine import EVENT, Accelerator, Machine
from fiberscope.workloads import from_scipy

MACHINES = Path(__file__).parent.parent
Operands = tuple[sparse.csr_array, ...]


@dataclass(frozen=True)
class MachineCase:
    """A machine, as small machines of some makes.

    Args:
        accelerator: its name, or the path of its file.
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
    def golden(self) -> Path:
        """Where it stands what each make does with ``operands()``, in how many cycles."""
        stem = Path(self.accelerator).parent.name or self.accelerator
        return MACHINES / stem / "support" / f"{stem}_golden.yaml"

    @property
    def kind(self) -> Accelerator[Any]:
        """The accelerator."""
        return accelerators.find(self.accelerator)

    def build(self, variant: str, operands: Operands, **options: Any) -> Machine:
        """A machine of one make, in a kernel or with parts of one's own if they are given."""
        kind = self.kind
        settings = dict(self.variants[variant])
        parameters = load(kind.configuration, kind.shipped, name=kind.name, settings=settings)
        given = operands
        if self.problem is not None:
            workloads = [from_scipy(operand) for operand in operands]
            given = kind.solves[0](workloads, self.problem).given()
        return kind.models[EVENT](parameters, *given, **options)

    def inexact_operands(self) -> Operands:
        """The operands with values whose sums depend on the order in which they are added."""
        operands = self.operands()
        for matrix in operands:
            matrix.data[:] = [0.1 * (i % 7) + 1e-3 * i for i in range(len(matrix.data))]
        return operands


def random_operands(rows: int, inner: int, columns: int, nonzeros: int) -> Operands:
    """Two matrices of small whole values, so that sums are exact in any order."""
    generator = np.random.default_rng(1)
    found = []
    for shape in ((rows, inner), (inner, columns)):
        places = np.sort(generator.choice(shape[0] * shape[1], nonzeros, replace=False))
        values = generator.integers(-3, 4, nonzeros).astype(float)
        found.append(sparse.csr_array((values, (places // shape[1], places % shape[1])), shape=shape))
    return found[0], found[1]


def cases() -> dict[str, MachineCase]:
    """Those of all machines: ``CASE`` in a file ``*_case.py`` of the support of a machine's tests."""
    files = sorted(MACHINES.glob("*/support/*_case.py"))
    return {file.stem.removesuffix("_case"): importlib.import_module(file.stem).CASE for file in files}
