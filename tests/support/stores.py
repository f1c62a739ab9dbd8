"""Stores: data beside the timing, and the rule by which components share it.

A token says that something is there; where it is large, as a fiber or a table of tasks is, the thing itself
lies in a **store**, arrays that several components know. What keeps that honest is a rule:

- each field of a store has one kind of component that writes it;
- what one component wrote, another reads only in a later cycle: behind a token, for a channel has a latency.

So no result depends on the order of ticks within a cycle. A store says in ``WRITERS`` who writes which field,
by the last part of a component's name; ``watched`` holds a run to it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.kernel import Kernel


@contextmanager
def watched(kernel: Kernel, *stores: Any) -> Iterator[None]:
    """Hold a built kernel's components to the rule for these stores while the context lasts.

    The components must be Python: a machine's run with ``FIBERSCOPE_UNCOMPILED=1``.

    Raises:
        SimulationError: if they are compiled; in the run, for every breach of the rule.
    """
    watch = _Watch(kernel)
    fields = [(store, field, getattr(store, field)) for store in stores for field in store.WRITERS]
    for component in kernel.components:
        watch.follow(component)
    for store, field, numbers in fields:
        setattr(store, field, _Field(watch, f"{type(store).__name__}.{field}", numbers, store.WRITERS[field]))
    try:
        yield
    finally:
        for store, field, numbers in fields:
            setattr(store, field, numbers)


class _Watch:
    """Who ticks now."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.component = ""

    def follow(self, component: Component) -> None:
        tick: Callable[[int], int] = component.tick

        def followed(now: int) -> int:
            self.component = component.name
            return tick(now)

        try:
            component.tick = followed  # type: ignore[method-assign]  # on the instance, for as long as it lives
        except AttributeError:
            raise SimulationError(
                f"{component.name} is compiled; stores are watched with FIBERSCOPE_UNCOMPILED=1"
            ) from None


class _Field:
    """A field of a store that notes of each element who wrote it and when."""

    def __init__(self, watch: _Watch, name: str, numbers: Any, writer: str) -> None:
        self.watch = watch
        self.name = name
        self.numbers = numbers
        self.writer = writer
        self.written: dict[int, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Any:
        writer, time = self.written.get(index, ("", -1))
        if writer != self.watch.component and time >= self.watch.kernel.time:
            raise SimulationError(
                f"{self.watch.component} reads {self.name}[{index}] in the cycle in which {writer} "
                "writes it, not behind a token"
            )
        return self.numbers[index]

    def __setitem__(self, index: int, number: Any) -> None:
        component = self.watch.component
        if component.rpartition(".")[2] != self.writer:
            raise SimulationError(f"{component} writes {self.name}, which only a {self.writer} may")
        self.numbers[index] = number
        self.written[index] = (component, self.watch.kernel.time)
