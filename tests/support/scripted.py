"""Components that do as a test says, and kernels of them."""

from fiberscope.sim import ANY, Component, Input, Kernel, Output


def machine(*components, **kernel_options):
    """A kernel with one clock and these components."""
    kernel = Kernel(**kernel_options)
    kernel.clock("core", 10**9)
    for component in components:
        kernel.add(component)
    return kernel


class Gate(Component):
    """Needs a token of both inputs before it works."""

    PORTS = (Input("ways", ANY, array=True), Output("out", ANY))

    def elaborate(self):
        self.ways, self.out = self.channels("ways"), self.channel("out")

    def tick(self, now):
        seen = [way.can_pop() for way in self.ways]
        if not any(seen):
            return self.idle()
        if not all(seen):
            return self.wait_input(self.ways[seen.index(False)])
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, 0, 0, 0.0)
        for way in self.ways:
            way.pop()
        return self.busy(now + 1)


class Scripted(Component):
    """Does in each tick what a function of itself and the cycle says."""

    def __init__(self, name, script):
        super().__init__(name)
        self.script = script
        self.ticked = []

    def tick(self, now):
        self.ticked.append(now)
        return self.script(self, now)


class Stuck(Component):
    """Never pops its input, and says of itself what it is told to."""

    PORTS = (Input("in", ANY),)

    def tick(self, _now):
        return self.idle()
