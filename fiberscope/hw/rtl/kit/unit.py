"""A unit of hardware: its event class and its logic; the module's ports, its stand-in and the rest follow.

What the class says already is not said again: its ports, their directions, and what it is (the first line of
its docstring).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.arithmetic import ValueParameters
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import (
    Bundle,
    Direction,
    Field,
    Interface,
    Payload,
    Stream,
    Token,
    Transfer,
    streams,
    tokens_of,
)
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Streams
from fiberscope.sim.component import Component, Input, Port
from fiberscope.sim.errors import SimulationError

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

__all__ = [
    "Carried",
    "Each",
    "Fields",
    "Lanes",
    "StatusCounter",
    "Summed",
    "elements",
    "rows",
    "stops",
    "tokens",
    "unit",
]

Fields: TypeAlias = Mapping[
    str, int | Field | Payload
]  # of a token: bits of its own field, or what else it is
Status: TypeAlias = tuple[str, ...] | Mapping[str, int]


@dataclass(frozen=True)
class Summed:
    """A counter of what the tokens at a stream say.

    Args:
        label: the label of the stream.
        measure: what a token adds.
    """

    label: str
    measure: Callable[[Token], int]


@dataclass(frozen=True)
class StatusCounter:
    """A counter of what the module tells by a status output, added up over all cycles.

    Args:
        status: the output; a module of one's own may lack it, and then there is no such counter.
    """

    status: str


CounterSource: TypeAlias = (
    Callable[[Adapter], int] | Summed | StatusCounter
)  # the first: from what has moved at the ports


@dataclass(frozen=True)
class Lanes:
    """Lanes of an array of ports whose tokens move together (``Bundle``).

    Args:
        content: the fields of a lane.
        lanes: ports of the array.
        mask: whether a lane may be empty.
    """

    content: Fields
    lanes: int
    mask: bool = False


@dataclass(frozen=True)
class Each:
    """Array of ports of which each moves by itself.

    Args:
        content: the fields of a token.
        count: ports of the array.
    """

    content: Fields
    count: int


Carried: TypeAlias = Mapping[
    str, Fields | Lanes | Each | Stream
]  # by port; whole, what the class has no port for


def rows(label: str) -> CounterSource:
    """Cycles in which tokens moved at a stream."""
    return lambda adapter: adapter.end(label).rows


def tokens(label: str) -> CounterSource:
    """Tokens that moved at a stream."""
    return lambda adapter: adapter.end(label).tokens


def elements(label: str) -> CounterSource:
    """Return a counter source: the tokens of a stream that were no stops."""
    return lambda adapter: adapter.end(label).elements


def stops(label: str) -> CounterSource:
    """Return a counter source: the tokens of a stream that were stops."""
    return lambda adapter: adapter.end(label).stops


def unit(
    name: str,
    kind: type[Component],
    parameters: type[Parameters],
    carried: Callable[[Any], Carried],
    design: Callable[[Any, Streams], None] | None = None,
    *,
    arguments: Sequence[str] = (),
    as_made: Mapping[str, Any] | None = None,
    status: Status | Callable[[Any], Status] = (),
    counters: Mapping[str, CounterSource] | None = None,
    base: type[Adapter] = Adapter,
    matching: Callable[..., Parameters] | None = None,
    component: Callable[..., Component] | None = None,
    alone: bool = True,
    listed: bool = True,
    instance: Callable[[Any], Mapping[str, object]] | None = None,
    connected: Callable[[Any], Mapping[str, int]] = lambda _component: {},
    **flags: object,
) -> RtlBlock:
    """A unit, for the catalogue.

    Args:
        name: on the command line, and of its module.
        kind: the event class.
        parameters: what its module is made for.
        carried: what is carried at each port, in the order of the module's ports, for some parameters.
        design: the logic between them; None where Verilog alone says it, which a loop is given.
        arguments: the parameters that the class is made with behind its name, in the order of its arguments.
        as_made: other parameters as a module has them that takes the place of a machine's instance; or, of
            an argument, what they are of its value.
        status: the module's status outputs, or what gives them for some parameters.
        counters: the class's, by what moves at the ports; those of ``base`` come behind them.
        base: the stand-in, where ports do not say how it accounts; it declares none but other ports.
        matching, component, instance: of ``RtlBlock``, where arguments and parameters have other names.
        alone: whether the class can be made of parameters alone, and not only with what it is to read.
        listed, connected: as of ``RtlBlock``.
        flags: class attributes of the stand-in, in lower case: ``events``, ``fibers``, ``through``, ...
    """

    design = design or partial(_without_logic, name)
    matching = matching or partial(_matching, parameters, arguments, as_made or {})
    component = component or (partial(_component, kind, arguments) if alone else None)
    adapter = _adapter_class(kind, base, counters or {}, flags)
    interface = partial(_interface, name, adapter, carried, status)
    if component is not None and issubclass(parameters, ValueParameters) and "values" not in arguments:
        component = partial(_typed, component)
    said = name, _summary(kind), parameters, matching, interface, design, adapter, component
    instance = instance or partial(_as_it_is, arguments)
    return RtlBlock(*said, kinds=(kind,), listed=listed, instance=instance, connected=connected)


def _without_logic(name: str, _parameters: Parameters, _streams: Streams) -> None:
    raise SimulationError(f"{name} has no logic in PyRTL; give it as Verilog, by --verilog and --sim icarus")


def _interface(
    name: str,
    adapter: type[Adapter],
    carried: Callable[[Any], Carried],
    status: Status | Callable[[Any], Status],
    numbers: Parameters,
) -> Interface:
    shown = status(numbers) if callable(status) else status
    return Interface(name, tuple(_streams(adapter.PORTS, carried(numbers))), shown)


def _as_it_is(arguments: Sequence[str], component: Component) -> dict[str, object]:
    return {argument: getattr(component, argument) for argument in arguments}


def _matching(
    kind: type[Parameters],
    arguments: Sequence[str],
    as_made: Mapping[str, Any],
    *values: object,
    **named: object,
) -> Parameters:
    """Parameters that suit a component made with these arguments.

    Raises:
        ValueError: for more arguments than modules have parameters for.
    """
    if len(values) > len(arguments):
        raise ValueError(f"no module is made with {', '.join(map(str, values[len(arguments) :]))}")
    keywords: dict[str, Any] = dict(zip(arguments, values, strict=False)) | named
    for argument, value in as_made.items():
        if not callable(value):
            keywords[argument] = value
        elif argument in keywords:
            keywords[argument] = value(keywords[argument])
    return kind(**keywords)


def _component(
    kind: type[Component], arguments: Sequence[str], name: str, parameters: Parameters
) -> Component:
    return kind(name, **{argument: getattr(parameters, argument) for argument in arguments})


def _typed(make: Callable[..., Component], name: str, parameters: ValueParameters) -> Component:
    """A component that computes with values of a type."""
    component: Any = make(name, parameters)
    component.value_type = parameters.value_type
    return component  # type: ignore[no-any-return]  # mypy does not know which component it is


def _summary(kind: type[Component]) -> str:
    """Return the summary of a class from its docstring; Cython writes a signature before it."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    said = next(text for text in paragraphs if not text.startswith(f"{kind.__name__}("))
    begins = said if said[1:2].isupper() else said[:1].lower() + said[1:]
    return begins.rstrip(".").replace("``", "")


def _streams(declared: Sequence[Port], carried: Carried) -> Iterator[Stream]:
    """The module's streams: a direction and a name from the class's port, and what is carried there."""
    ports = {port.name: port for port in declared}
    for label, what in carried.items():
        if isinstance(what, Stream):
            yield what
        else:
            yield from _at(ports[label], what)


def _at(port: Port, what: Fields | Lanes | Each) -> Sequence[Stream]:
    direction: Direction = "input" if isinstance(port, Input) else "output"
    if isinstance(what, Lanes):
        return [Bundle(port.name, port.name, direction, what.content, what.lanes, mask=what.mask)]
    if isinstance(what, Each):
        return streams(port.name, direction, what.content, what.count)
    if port.array:
        return streams(port.name, direction, what, 1)
    return [Stream(port.name, port.name, direction, what)]


def _adapter_class(
    kind: type[Component],
    base: type[Adapter],
    counters: Mapping[str, CounterSource],
    flags: Mapping[str, object],
) -> type[Adapter]:
    """The adapter with the class's ports that counts what it counts."""
    summed = {name: count for name, count in counters.items() if isinstance(count, Summed)}
    statuses = {name: count.status for name, count in counters.items() if isinstance(count, StatusCounter)}

    class UnitAdapter(base):  # type: ignore[valid-type, misc]  # mypy wants a class that it knows
        def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
            super().__init__(name, interface, backend)
            self._sums = dict.fromkeys([*summed, *statuses], 0)

        def observe(self, moved: Mapping[str, Transfer]) -> None:
            super().observe(moved)
            for name, count in summed.items():
                self._sums[name] += sum(map(count.measure, tokens_of(moved.get(count.label, ()))))
            for name, status in statuses.items():
                self._sums[name] += self.status[status]

        def counters(self) -> dict[str, int]:
            own = {
                name: count(self) if callable(count) else self._sums[name] for name, count in counters.items()
            }
            counted: dict[str, int] = self.available_counters(own | super().counters())
            return counted

    UnitAdapter.__name__ = UnitAdapter.__qualname__ = f"{kind.__name__}UnitAdapter"
    UnitAdapter.PORTS = base.PORTS or kind.PORTS
    if statuses:
        UnitAdapter.COUNTED_BY = {status: (name,) for name, status in statuses.items()} | dict(
            base.COUNTED_BY
        )
    elif base.observe is Adapter.observe:
        UnitAdapter.OBSERVED = tuple(count.label for count in summed.values())
    for flag, value in flags.items():
        setattr(UnitAdapter, flag.upper(), value)
    return UnitAdapter
