"""How a block is tried that is not one component but several, with channels between them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pairs import Composed, Pair
from scenario import Scenario

from fiberscope.hw.rtl.kit.wrapper import Composition
from fiberscope.sim import Component, Kernel


@dataclass(frozen=True)
class ComposedScenario(Scenario):
    """A scenario whose components are added to a kernel, for given parameters, by ``composed``."""

    composed: Callable[[Any], Composed] = None  # type: ignore[assignment]  # always given, behind defaults

    def pair(self, seed: int, parameters: Any = None, *arguments: Any, **options: Any) -> Pair:
        """See ``Scenario``."""
        parameters = parameters or self.drawn(seed)
        pair = super().pair(seed, parameters, *arguments, **options)
        return replace(pair, composed=self.composed(parameters))


def components_of(composition: Composition, component: Callable[[str, str, Any], Component]) -> Composed:
    """The components of a composition, joined by channels as its links say.

    Args:
        composition: what is composed.
        component: makes the component of a block by the block's name, for a name and parameters.
    """

    def add(kernel: Kernel, scope: str) -> dict[str, tuple[Component, str]]:
        parts = {
            name: kernel.add(component(part.block.name, f"{scope}.{name}", part.parameters))
            for name, part in composition.parts.items()
        }

        def ends(label: str) -> list[tuple[Component, str]]:
            name, _, port = label.partition(".")
            interface = composition.parts[name].interface
            (stream,) = [stream for stream in interface.streams if stream.label == port]
            return [(parts[name], lane) for lane in stream.labels]

        for link in composition.links:
            for source, target in zip(ends(link.source), ends(link.target), strict=True):
                kernel.connect(*source, *target, capacity=link.capacity, latency=link.latency)
        return {
            port: end
            for stream in composition.interface().streams
            for port, end in zip(stream.labels, ends(composition.exports[stream.label]), strict=True)
        }

    return add
