"""A block of ``fiberscope.hw.streams`` beside its plain model, and how the two are compared."""

from dataclasses import dataclass

from hypothesis import assume
from stream_checks import check_counted
from stream_trees import with_gaps
from streams.plain import EVERY_QUIRK, drive

from fiberscope.hw.streams.testing import run_streams, tokens_of
from fiberscope.sim import SimulationError


@dataclass
class Pair:
    """A block, its plain model, and which ports are which.

    ``block`` takes a mask of quirks, ``plain`` a set of their numbers, both the parameters of an example. Of
    inputs and outputs the names are the model's; a joiner's input is a pair of ports, reference and
    coordinate.
    """

    block: object
    plain: object
    inputs: dict
    outputs: dict
    has_end: bool = True  # or it begins anew

    def given(self, streams):
        """Streams by the model's ports as streams by the block's."""
        given = {}
        for name, stream in streams.items():
            ports = self.inputs[name]
            if isinstance(ports, str):
                given[ports] = stream
            else:
                for place, port in enumerate(ports):
                    given[port] = [(cycle, tokens[place]) for cycle, tokens in stream]
        return given

    def run(self, streams, quirks=EVERY_QUIRK, *, parameters=None, **bench):
        """The block's streams, by the model's ports."""
        block = self.block(mask(quirks), **(parameters or {}))
        bench.setdefault("checked", False)
        found = run_streams(block, self.given(streams), list(self.outputs.values()), **bench)
        check_counted(block, found)
        return {name: found[port] for name, port in self.outputs.items() if found[port]}

    def expected(self, streams, quirks=EVERY_QUIRK, *, parameters=None):
        """The model's streams; None if it refuses what is not well-formed, or leaves some of it."""
        model = self.plain(quirks, **(parameters or {}))
        try:
            found = drive(model, streams)
        except (AssertionError, TypeError):
            return None
        left = any(model.queues.values()) or not model.done
        return None if left and self.has_end else found


def mask(quirks):
    return sum(1 << number for number in quirks)


def check_pair(pair, tokens, generator, quirks=EVERY_QUIRK, parameters=None):
    """With random gaps, unbounded: every token in the cycle in which the model has it."""
    streams = {name: with_gaps(generator, stream) for name, stream in tokens.items()}
    expected = pair.expected(streams, quirks, parameters=parameters)
    order = {"order_seed": generator.choice([None, 1, 2]), "sleep": generator.random() < 0.8}
    if expected is None:
        try:
            pair.run(streams, quirks, parameters=parameters, **order)
        except SimulationError:
            return
        raise AssertionError("the block takes what its model refuses")
    found = pair.run(streams, quirks, parameters=parameters, **order)
    for name in pair.outputs:
        assert found.get(name, []) == expected.get(name, []), name


def check_bounded(pair, tokens, generator, quirks=(), parameters=None, lossy=()):
    """With bounded channels and consumers that stall: the model's tokens, in their order.

    Outputs named as ``lossy`` may lose tokens.
    """
    streams = {name: with_gaps(generator, stream) for name, stream in tokens.items()}
    expected = pair.expected(streams, quirks, parameters=parameters)
    assume(expected is not None)
    bench = {"capacity": generator.randint(1, 4), "seed": generator.choice([None, 1, 2, 3])}
    bench |= {"order_seed": generator.choice([None, 1, 2]), "sleep": generator.random() < 0.8}
    found = pair.run(streams, quirks, parameters=parameters, **bench)
    whole = [name for name in pair.outputs if name not in lossy]
    assert whole
    for name in whole:
        assert tokens_of(found.get(name, [])) == tokens_of(expected.get(name, [])), name


def some_quirks(generator, concerned):
    """All quirks, none, or some of those that concern a block."""
    some = {number for number in concerned if generator.random() < 0.5}
    return generator.choice([EVERY_QUIRK, frozenset(), frozenset(some)])
