"""What a writer of the stream machine has written: the component's own arrays, the module's stores."""

from collections.abc import Callable, Mapping

from pairs import Around, End

from fiberscope.hw.rtl.kit.backend import Backend, BackendObserver
from fiberscope.hw.rtl.kit.interface import Interface, tokens_of
from fiberscope.hw.streams.writers import ValuesWriter
from fiberscope.sim import Component, Kernel
from fiberscope.sim.testing import Token

SEGMENT, COORDINATE = range(2)  # the control of a store


class Recorded(BackendObserver):
    """A backend that keeps what leaves at the port ``store``, a token for each address."""

    def __init__(self, backend: Backend, interface: Interface) -> None:
        super().__init__(backend)
        self._stream = next(stream for stream in interface.streams if stream.label == "store")
        self.stored: dict[tuple[int, int], Token] = {}

    def observe(self) -> None:
        wires = {**self.words.driven(), **self.words.seen()}
        if self._stream.moves(wires):
            (token,) = tokens_of(self._stream.decode(wires))
            self.stored[token.control, token.coordinate] = tuple(token)


class Stored(Component):
    """Has as ``received`` what a writer has written: the component, or the module in a backend."""

    def __init__(self, name: str, writer: Component | Recorded) -> None:
        super().__init__(name)
        self._writer = writer

    def tick(self, now: int) -> int:
        return self.idle()

    @property
    def received(self) -> list[tuple[int, Token]]:
        return [(0, token) for token in self._tokens()]

    def _tokens(self) -> list[Token]:
        writer = self._writer
        if isinstance(writer, Recorded):
            return [token for _place, token in sorted(writer.stored.items())]
        if isinstance(writer, ValuesWriter):
            return [(0, place, 0, value) for place, value in enumerate(writer.values)]
        segments = [(SEGMENT, place, word, 0.0) for place, word in enumerate(writer.segments) if place]
        return segments + [(COORDINATE, place, word, 0.0) for place, word in enumerate(writer.coordinates)]


def stored(recorded: Mapping[str, Recorded]) -> Around:
    """What stands beside a writer: the module by its scope, the component in its kernel."""

    def add(kernel: Kernel, scope: str, end: Callable[[str], End], _generator: object) -> list[Component]:
        component, _port = end("in_crd")
        return [kernel.add(Stored(f"{scope}.stored", recorded.get(component.name, component)))]

    return add
