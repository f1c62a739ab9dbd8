"""The expressions of SAM's Table 1 and two more, in any order of loops and drawn formats, on tensors."""

import random
from itertools import permutations

import numpy as np

from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.sums import insert_sums
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import accesses

KERNELS = {
    "SpMV": "x(i) = B(i,j) * c(j)",
    "SpMSpM": "X(i,j) = B(i,k) * C(k,j)",
    "SDDMM": "X(i,j) = B(i,j) * C(i,k) * D(j,k)",
    "InnerProd": "x = B(i,j,k) * C(i,j,k)",
    "TTV": "X(i,j) = B(i,j,k) * c(k)",
    "TTM": "X(i,j,k) = B(i,j,l) * C(k,l)",
    "MTTKRP": "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)",
    "Residual": "x(i) = b(i) - C(i,j) * d(j)",
    "MatTransMul": "x(i) = a * B(j,i) * c(j) + e * d(i)",
    "MMAdd": "X(i,j) = B(i,j) + C(i,j)",
    "Plus3": "X(i,j) = B(i,j) + C(i,j) + D(i,j)",
    "Plus2": "X(i,j,k) = B(i,j,k) + C(i,j,k)",
    "accumulate": "x(j) += B(i,j,k)",
    "transpose": "X(j,i) = B(i,j)",
}


class Kernel:
    """One of them in one order of loops; formats and tensors are drawn."""

    def __init__(self, name, order, seed, letters="sd"):
        self.draws = random.Random(f"{name}{order}{seed}")
        parsed = parse(KERNELS[name])
        self.assignment = Assignment(parsed.result, insert_sums(parsed))
        self.order = list(order)
        self.read = {access.tensor: access.variables for access in accesses(self.assignment.expression)}
        tensors = {parsed.result.tensor: parsed.result.variables, **self.read}
        self.formats = {tensor: self.format(variables, letters) for tensor, variables in tensors.items()}
        self.sizes = {variable: self.draws.randint(1, 6) for variable in sorted(order)}
        numbers = np.random.default_rng(self.draws.getrandbits(32))
        self.arrays = {tensor: self.array(numbers, variables) for tensor, variables in self.read.items()}

    def format(self, variables, letters):
        """Stored along the loops."""
        levels = sorted(range(len(variables)), key=lambda dimension: self.order.index(variables[dimension]))
        return Format("".join(self.draws.choice(letters) for _ in variables), tuple(levels))

    def array(self, numbers, variables):
        shape = tuple(self.sizes[variable] for variable in variables)
        density = self.draws.choice((0.0, 0.2, 0.5, 0.9, 1.0))
        return np.where(numbers.random(shape) < density, numbers.integers(-4, 5, shape), 0).astype(float)


def orders_of(name):
    """All orders of the loops of an expression."""
    parsed = parse(KERNELS[name])
    found = {v for access in (parsed.result, *accesses(parsed.expression)) for v in access.variables}
    return list(permutations(sorted(found)))
