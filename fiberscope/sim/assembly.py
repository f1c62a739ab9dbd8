"""Several components that are made, connected and replaced as one."""

from __future__ import annotations

from fiberscope.sim.component import Component
from fiberscope.sim.kernel import Kernel

__all__ = ["Assembly", "end", "put"]


class Assembly(Component):
    """Components that one could take the place of, with ``PORTS`` as that would have them.

    A kernel runs those that ``put`` adds to it, not the assembly itself.
    """

    def put(self, kernel: Kernel) -> None:
        """Make the components, add them to a kernel and connect them among themselves."""
        raise NotImplementedError

    def end(self, port: str) -> tuple[Component, str]:
        """The component at one of its ports, and that component's port."""
        raise NotImplementedError


def put(component: Component, kernel: Kernel) -> None:
    """Add a component to a kernel, of an assembly all that it is."""
    if isinstance(component, Assembly):
        component.put(kernel)
    else:
        kernel.add(component)


def end(component: Component, port: str) -> tuple[Component, str]:
    """Return the end of a port of a component, of an assembly the component within."""
    return component.end(port) if isinstance(component, Assembly) else (component, port)
