"""Random assignments with formats, an order of loops and tensors, for a compiler of index notation."""

import random
from dataclasses import dataclass

import numpy as np

from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import Access, Call, Number, Sum
from fiberscope.workloads.tensor import SparseTensor

VARIABLES = "ijklm"
MOST_OPERANDS = 5


@dataclass
class RandomExpression:
    """One draw: ``assignment``, ``formats``, ``order``, and for it ``arrays`` and ``operands`` by tensor.

    Levels are of one of ``letters``; of up to two loops, one may have more coordinates than a word has bits.
    """

    seed: int
    letters: tuple[str, ...] = ("s", "d", "b", "sdb")
    wide: bool = True

    def __post_init__(self):
        self.draws = random.Random(self.seed)
        self.order = self.draws.sample(VARIABLES, self.draws.choice((1, 2, 2, 3, 3, 4, 5)))
        most = self.draws.choice((1, 2, 4, 4, 7))
        self.sizes = {variable: self.draws.randint(1, most) for variable in sorted(self.order)}
        if self.wide and len(self.order) <= 2 and self.draws.random() < 0.2:
            self.sizes[self.order[-1]] = self.draws.choice((63, 64, 65, 130))
        self.formats, self.read = {}, {}
        tree = self.grown(self.draws.choice((1, 2, 2, 3, 3, 4, MOST_OPERANDS)))
        used = [v for v in self.order if v in self.variables(tree)]
        free = [v for v in used if self.draws.random() < 0.6]
        self.order = used
        self.draws.shuffle(free)
        result = Access.plain("X", tuple(free))
        self.formats = {
            "X": self.format(free, self.draws.sample(range(len(free)), len(free))),
            **self.formats,
        }
        self.assignment = Assignment(result, self.summed(tree, [v for v in used if v not in free], set()))
        self.draw_tensors()

    def format(self, variables, order):
        letters = self.draws.choice(self.letters)
        return Format("".join(self.draws.choice(letters) for _ in variables), tuple(order))

    def grown(self, operands):
        """A random tree of so many operands."""
        if operands == 1:
            return self.decorated(self.access())
        cut = self.draws.randint(1, operands - 1)
        function = self.draws.choice(("mul", "mul", "add", "sub"))
        if self.draws.random() < 0.08:
            return Call("div", (self.grown(cut), self.access(new=True)))
        return self.decorated(Call(function, (self.grown(cut), self.grown(operands - cut))))

    def decorated(self, tree):
        """Perhaps with a number, or negated."""
        draw = self.draws.random()
        number = Number(self.draws.choice((2.0, -1.0, 0.5, 3.0)))
        if draw < 0.03:
            return Call(self.draws.choice(("mul", "add", "sub")), self.draws.sample((tree, number), 2))
        if draw < 0.06:
            return Call("neg", (tree,))
        return Call("div", (tree, number)) if draw < 0.08 else tree

    def access(self, new=False):
        """A tensor that is stored as the loops go, or one that was read before."""
        if self.read and not new and self.draws.random() < 0.12:
            name = self.draws.choice(list(self.read))
            return Access.plain(name, self.like(name))
        name = "BCDEFGHKLMNP"[len(self.read)]
        variables = self.draws.sample(
            self.order, self.draws.choice((0, 1, 1, 2, 2, 2, 3)) % (len(self.order) + 1)
        )
        levels = sorted(range(len(variables)), key=lambda dimension: self.order.index(variables[dimension]))
        self.formats[name] = self.format(variables, levels)
        self.read[name] = tuple(variables)
        return Access.plain(name, tuple(variables))

    def like(self, name):
        """Other variables of the same sizes, if the loops go through them as the tensor is stored."""
        first = self.read[name]
        found = tuple(
            self.draws.choice([v for v in self.order if self.sizes[v] == self.sizes[of]]) for of in first
        )
        path = [found[dimension] for dimension in self.formats[name].order]
        legal = len(set(found)) == len(found) and path == sorted(path, key=self.order.index)
        return found if legal else first

    def variables(self, tree):
        if isinstance(tree, Access):
            return set(tree.variables)
        return set().union(*(self.variables(one) for one in getattr(tree, "operands", ())))

    def summed(self, tree, bound, outside):
        """Sums over bound variables: each around a subtree that no other has a part in."""
        here = self.variables(tree)
        own = [v for v in bound if v in here and v not in outside]
        within = [v for v in own if isinstance(tree, Call) and self.draws.random() < 0.5]
        if isinstance(tree, Call):
            parts = list(tree.operands)
            for number, part in enumerate(parts):
                beside = tree.operands[:number] + tree.operands[number + 1 :]
                others = set().union(*(self.variables(one) for one in beside))
                if tree.function != "div" or number == 0:
                    parts[number] = self.summed(part, within, outside | others)
            tree = Call(tree.function, tuple(parts))
        left = [v for v in own if v in free_in(tree)]
        return Sum(tuple(left), tree) if left else tree

    def draw_tensors(self):
        numbers = np.random.default_rng(self.seed)
        self.arrays, self.operands = {}, {}
        for name, variables in self.read.items():
            shape = tuple(self.sizes[v] for v in variables)
            density = self.draws.choice((0.0, 0.2, 0.5, 0.8, 1.0, 1.0))
            values = numbers.integers(-3, 4, shape).astype(
                float
            )  # with zeros, which are stored, and sums of 0
            there = numbers.random(shape) < density
            self.arrays[name] = np.where(there, values, 0.0)
            self.operands[name] = self.stored(shape, values, there)

    def stored(self, shape, values, there):
        if not shape:
            return float(values) if there else 0.0
        places = np.nonzero(there)
        return SparseTensor(shape, tuple(column.astype(np.int64) for column in places), values[places])


def free_in(tree):
    """The variables that are not summed over."""
    if isinstance(tree, Access):
        return set(tree.variables)
    if isinstance(tree, Sum):
        return free_in(tree.operand) - set(tree.variables)
    return set().union(*(free_in(one) for one in getattr(tree, "operands", ())))
