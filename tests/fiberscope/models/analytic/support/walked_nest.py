"""A loop nest walked point by point: what each level holds, when it changes, and what moves for it.

Nothing of the model is used but the meaning of its arguments. An instance of a level takes another tile when
an outer loop in time moves it; what moves is counted from the elements that the points touch.
"""

from collections import defaultdict
from itertools import product
from math import prod


def size(elements):
    """Words of the box that elements lie in: a window that moves by 2 is stored with its gaps."""
    return prod(max(rank) - min(rank) + 1 for rank in zip(*elements, strict=True))


def added(elements, before):
    """Words of that box that are not in the box of the tile before; of the first tile, all."""
    if before is None:
        return size(elements)
    both = zip(zip(*elements, strict=True), zip(*before, strict=True), strict=True)
    common = prod(max(min(max(new), max(old)) - max(min(new), min(old)) + 1, 0) for new, old in both)
    return size(elements) - common


class WalkedNest:
    """All points of one mapping: loops outer to inner as ``(level, spatial, dimension, bound)``.

    Whether of an operand's tile only that is brought in which the tile before did not have: ``new``.
    """

    def __init__(self, problem, mappings, number=0, *, new=False):
        self.problem, self.new = problem, new
        self.loops = []
        levels, dimensions = mappings.temporal.shape[1:]
        for level in range(levels):
            order = mappings.order[number, level][::-1]
            self.loops += [(level, False, d, int(mappings.temporal[number, level, d])) for d in order]
            self.loops += [
                (level, True, d, int(mappings.spatial[number, level, d])) for d in range(dimensions)
            ]
        self.points = list(product(*(range(bound) for *_rest, bound in self.loops)))

    def value(self, point, dimension):
        """The index of a dimension: its loops, outer to inner."""
        index = 0
        for (_level, _spatial, d, bound), at in zip(self.loops, point, strict=True):
            if d == dimension:
                index = index * bound + at
        return index

    def element(self, point, tensor):
        ranks = self.problem.tensors[tensor].ranks
        return tuple(sum(c * self.value(point, d) for c, d in rank.terms) for rank in ranks)

    def part(self, point, wanted):
        return tuple(at for loop, at in zip(self.loops, point, strict=True) if wanted(*loop))

    def tiles(self, level, tensor):
        """Of each instance, in the order of time, which tile it holds and its elements.

        A level beyond the last is compute, which takes another element in every step.
        """
        touches = self.problem.touches[tensor]
        last = level > self.loops[-1][0]
        held = defaultdict(dict)
        for point in self.points:
            instance = self.part(point, lambda at, spatial, _d, _b: spatial and at < level)
            when = self.part(point, lambda at, spatial, _d, _b: not spatial and at < level)
            moved = self.part(
                point, lambda at, spatial, d, _b: not spatial and at < level and (last or touches[d])
            )
            held[instance].setdefault(when, (moved, set()))[1].add(self.element(point, tensor))
        return held

    def residences(self, level, tensor):
        """Of each instance the times at which it takes another tile, and the tile."""
        found = {}
        for instance, times in self.tiles(level, tensor).items():
            taken, before = [], None
            for when in sorted(times):
                moved, elements = times[when]
                if moved != before:
                    taken.append((when, elements))
                before = moved
            found[instance] = taken
        return found

    def fills(self, level, tensor):
        """Words that one instance takes."""
        return self.brought(next(iter(self.residences(level, tensor).values())), tensor)

    def brought(self, taken, tensor):
        """Words of tiles that are taken one after the other."""
        tiles = [elements for _when, elements in taken]
        if not self.new or self.problem.tensors[tensor].output:
            return sum(map(size, tiles))
        return sum(map(added, tiles, [None, *tiles]))

    def served(self, level, child, tensor):
        """Words that one instance gives to those inside; what several take alike is moved once."""
        touches = self.problem.touches[tensor]
        across = [(at, d, bound) for at, spatial, d, bound in self.loops if spatial and at < child]
        total = 0
        outside = sum(at < level for at, _d, _b in across)
        seen, last = set(), child > self.loops[-1][0]
        for instance, taken in self.residences(child, tensor).items():
            if any(instance[:outside]):
                continue
            kind = tuple(at for at, (_l, d, _b) in zip(instance, across, strict=True) if touches[d])
            if kind not in seen:
                seen.add(kind)
                tiles = [elements for _when, elements in taken]
                total += sum(map(size, tiles)) if last else self.brought(taken, tensor)
        return total

    def distinct(self, level, tensor):
        """Words that one instance sees at all."""
        taken = next(iter(self.residences(level, tensor).values()))
        return len(set().union(*(elements for _when, elements in taken)))
