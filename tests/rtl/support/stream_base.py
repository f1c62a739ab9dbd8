"""What the scenarios of the stream machine's blocks have in common."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from nested import deepened
from pairs import Pair
from scenario import Scenario
from stored import Recorded, stored

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.interface import Token as Load
from fiberscope.hw.streams.memory_rtl import fill
from fiberscope.sim import Component

LEAVES = 260  # of a stream, about
LEVEL = 14  # of the last stop of every other seed's streams; behind some blocks it is one more


class StreamScenario(Scenario):
    """A block of the stream machine, with a consumer at every output; every other seed's lists are deep."""

    deepest: ClassVar[int] = LEVEL

    def pair(self, seed: int, parameters: Any = None, *arguments: Any, **kernel_options: Any) -> Pair:
        """See ``Scenario``."""
        parameters = parameters or self.drawn(seed)
        streams = BLOCKS[self.block].interface(parameters).streams
        outputs = [
            stream.label
            for stream in streams
            if stream.direction == "output" and stream.label not in ("store", "overflow")
        ]
        pair = super().pair(seed, parameters, *arguments, **kernel_options)
        inputs = deepened(pair.inputs, self.deepest) if seed % 2 else pair.inputs
        return replace(pair, inputs=inputs, outputs=outputs)


@dataclass(frozen=True)
class FilledScenario(StreamScenario):
    """A block with a memory, which is part of the component and filled in the module before the run.

    Args:
        contents: of the memory.
        made: the component that has them.
        loads: the words as tokens of the module's port ``load``.
    """

    contents: Callable[[random.Random, Any], Any] = lambda _generator, _given: None
    made: Callable[[str, Any, Any], Component] = lambda _name, _given, _contents: Component("")
    loads: Callable[[Any], list[Load]] = lambda _contents: []

    def filled(self, backend: Backend, interface: Interface, seed: int, parameters: Any) -> Backend:
        """The module with what its memory holds for a seed."""
        loads = self.loads(self.contents(random.Random(seed), parameters))
        return fill(backend, interface, {"load": loads} if loads else {})

    def pair(
        self,
        seed: int,
        parameters: Any = None,
        backend: Callable[[], Backend] | None = None,
        **kernel_options: Any,
    ) -> Pair:
        """See ``Scenario``; the memory's contents are of the seed."""
        block = BLOCKS[self.block]
        parameters = parameters or self.drawn(seed)
        interface = block.interface(parameters)
        contents = self.contents(random.Random(seed), parameters)
        make = backend or (lambda: PyrtlBackend(block.twin(parameters), seed))
        writes = any(stream.label == "store" for stream in interface.streams)
        recorded: dict[str, Recorded] = {}

        def rtl(name: str) -> Component:
            filled = self.filled(make(), interface, seed, parameters)
            if writes:
                filled = recorded[name] = Recorded(filled, interface)
            return block.adapter(name, interface, filled)

        return replace(
            super().pair(seed, parameters, backend, **kernel_options),
            event=lambda name: self.made(name, parameters, contents),
            rtl=rtl,
            around=stored(recorded) if writes else self.around,
        )
