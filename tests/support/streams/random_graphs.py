"""Random graphs and random tensors for them.

Sums and products of vectors and matrices, level by level: at each level a tree of joiners of two operands
each, through which all references go; then, of some, a reduction, a dropper, an accumulator, or a tensor that
is repeated.
"""

import random

from fiberscope.models.graphs.netlist import Graph

LETTERS = "bcdefg"


class RandomGraph:
    """One graph; ``tensors`` has the number of dimensions of each operand."""

    def __init__(self, seed):
        self.draws = random.Random(seed)
        self.order = self.draws.choice((1, 2, 2))
        self.names = list(LETTERS[: self.draws.choice((1, 2, 2, 3, 4))])
        self.repeated = self.order == 2 and len(self.names) > 1 and self.draws.random() < 0.4
        self.tensors = {
            name: 1 if self.repeated and name == self.names[-1] else self.order for name in self.names
        }
        formats = {"x": "s" * self.order} | {
            name: "".join(self.draws.choice("sssd") for _ in range(order))
            for name, order in self.tensors.items()
        }
        self.graph = Graph(formats)
        self.tree = self.grown(self.names)
        self.build()

    def grown(self, names):
        """A random tree of sums and products; a repeated tensor is a factor."""
        if len(names) == 1:
            return names[0]
        cut = self.draws.randrange(1, len(names))
        sign = "mul" if self.repeated else self.draws.choice(("mul", "add"))
        return (sign, self.grown(names[:cut]), self.grown(names[cut:]))

    def build(self):
        self.refs = dict.fromkeys(self.names)  # by tensor: (node, output) of its references so far
        self.crds = []
        for level, variable in enumerate("ij"[: self.order]):
            crd, refs = self.joined(self.tree, level, variable)
            self.repeat_the_others(level, variable, crd)
            self.refs.update(refs)
            self.crds.append(crd)
        self.write(self.computed(self.tree))

    def is_there(self, name, level):
        """Whether a tensor has a level: one that is repeated has the inner variable alone."""
        return self.tensors[name] == self.order or level == 1

    def joined(self, tree, level, variable):
        """The coordinates of a subtree at a level, and the references of its tensors there."""
        if isinstance(tree, str):
            return self.scanned(tree, level, variable)
        sign, left, right = tree
        sides = [self.joined(side, level, variable) for side in (left, right)]
        sides = [side for side in sides if side is not None]
        if len(sides) < 2:
            return sides[0] if sides else None
        return self.thread("intersect" if sign == "mul" else "union", variable, *sides)

    def scanned(self, name, level, variable):
        if not self.is_there(name, level):
            return None
        mode = level if self.tensors[name] == self.order else 0
        form = "dense" if self.graph.formats[name].letters[mode] == "d" else "compressed"
        source = self.refs[name]
        scanner = self.graph.add(
            "fiberlookup", index=variable, tensor=name, mode=mode, format=form, root=source is None
        )
        if source is not None:
            self.graph.connect(*source, scanner, "ref")
        return (scanner, "crd"), {name: (scanner, "ref")}

    def thread(self, kind, variable, left, right):
        """Joiners of two operands through which all references of both sides go."""
        (left_crd, left_refs), (right_crd, right_refs) = left, right
        found = {}
        pairs = max(len(left_refs), len(right_refs))
        lefts, rights = list(left_refs.items()), list(right_refs.items())
        for number in range(pairs):
            joiner = self.graph.add(kind, index=variable)
            both = lefts[number % len(lefts)], rights[number % len(rights)]
            for place, ((name, ref), crd) in enumerate(zip(both, (left_crd, right_crd), strict=True)):
                self.graph.connect(*crd, joiner, f"crd[{place}]")
                self.graph.connect(*ref, joiner, f"ref[{place}]")
                found.setdefault(name, (joiner, f"ref[{place}]"))
        return (joiner, "crd"), found

    def repeat_the_others(self, level, variable, crd):
        """A tensor without this level is the same for each of its coordinates."""
        for name in self.names:
            if not self.is_there(name, level):
                signal = self.graph.add("repsiggen", index=variable)
                repeat = self.graph.add("repeat", index=variable, tensor=name, root=True)
                self.graph.connect(*crd, signal, "crd")
                self.graph.connect(signal, "repsig", repeat, "repsig")
                self.refs[name] = repeat, "ref"

    def computed(self, tree):
        if isinstance(tree, str):
            array = self.graph.add("arrayvals", tensor=tree)
            self.graph.connect(*self.refs[tree], array, "ref")
            return array
        sign, left, right = tree
        alu = self.graph.add(sign)
        for place, side in enumerate((left, right)):
            self.graph.connect(self.computed(side), "val", alu, f"val[{place}]")
        return alu

    def write(self, values):
        """Write what was computed, as it is, summed over the inner variable, or with a dropper."""
        endings = ["plain", "reduced"] + ["dropped"] * ("add" not in str(self.tree))
        ending = self.draws.choice(endings) if self.order == 2 else "plain"
        crds = self.crds
        if ending == "dropped":
            dropper = self.graph.add("crddrop", outer="i", inner="j")
            self.graph.connect(*crds[0], dropper, "outer")
            self.graph.connect(*crds[1], dropper, "inner")
            crds = [(dropper, "outer"), (dropper, "inner")]
        if ending == "reduced":
            reduce = self.graph.add("reduce")
            self.graph.connect(values, "val", reduce, "val")
            values, crds = reduce, crds[:1]
            self.graph.formats["x"] = Graph({"x": "s"}).formats["x"]
        for mode, crd in enumerate(crds):
            writer = self.graph.add(
                "fiberwrite", index="ij"[mode], tensor="x", mode=mode, format="compressed"
            )
            self.graph.connect(*crd, writer, "crd")
        self.graph.connect(values, "val", self.graph.add("fiberwrite", tensor="x", mode="vals"), "val")
