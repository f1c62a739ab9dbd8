"""Assemblies: several components that are created, connected and replaced as one."""

from __future__ import annotations

from fiberscope.sim.component import Component
from fiberscope.sim.kernel import Kernel


class Assembly(Component):
    """A group of components with the ports of a single component, ``PORTS``.

    A kernel runs the components that ``put`` adds, not the assembly itself.
    """

    def put(self, kernel: Kernel) -> None:
        """Create the components, add them to a kernel and connect them to each other."""
        raise NotImplementedError

    def end(self, port: str) -> tuple[Component, str]:
        """Return the component at one of the assembly's ports, and the port of that component."""
        raise NotImplementedError


def put(component: Component, kernel: Kernel) -> None:
    """Add a component to a kernel; for an assembly, add its components."""
    if isinstance(component, Assembly):
        component.put(kernel)
    else:
        kernel.add(component)


def end(component: Component, port: str) -> tuple[Component, str]:
    """Return a component and its port; for an assembly, the inner component and its port."""
    return component.end(port) if isinstance(component, Assembly) else (component, port)
