"""A plain model of a pipeline whose stages move in step: one list entry a stage, all moved every cycle."""

from fiberscope.sim import Component
from fiberscope.sim.testing import head


class Staged(Component):
    """Passes rows of tokens, one for each output, through; subclasses say when one enters, and take it.

    Of a row that waits to enter its accounting says nothing; it knows busy and waiting for output.
    """

    def __init__(self, name, depth):
        super().__init__(name)
        self.stages = [None] * depth

    def tick(self, now):
        oldest = self.stages[-1]
        full = [sink for sink in self.sinks if oldest and not sink.can_push()]
        if full:
            return self.stand(now, full[0])
        enters = self.enters()
        if not enters and not any(self.stages):
            return self.idle()
        for sink, token in zip(self.sinks, oldest or (), strict=oldest is not None):
            sink.push(*token)
        self.stages = [self.take() if enters else None, *self.stages[:-1]]
        return self.busy(now + 1)

    def stand(self, now, full):
        """The oldest cannot leave: nothing moves."""
        return self.wait_output(full)


class ClosesUp(Staged):
    """Broken on purpose: rows move up to the one before them while that waits."""

    def stand(self, now, full):
        for stage in range(len(self.stages) - 1, 0, -1):
            if self.stages[stage] is None:
                self.stages[stage], self.stages[stage - 1] = self.stages[stage - 1], None
        self.wait_output(full)
        return now + 1


def taken(channel):
    """The token at the head of a channel, which is popped."""
    token = head(channel)
    channel.pop()
    return token


def check_same_cycles(found, model):
    """Check that tokens came at the cycles of the model, and what block, sources and sinks did in each."""
    for port, tokens in model.received.items():
        assert [cycle for cycle, _ in found.received[port]] == [cycle for cycle, _ in tokens], port
    for name, expected in model.statistics.items():
        statistics = found.statistics[name]
        assert (statistics.busy, statistics.output_stall) == (expected.busy, expected.output_stall), name
