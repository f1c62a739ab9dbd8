"""Declaration of a hardware unit: its event class and its logic, from which ports and adapter follow.

The event class is the component's class in event models. It determines the ports, their directions, and the
summary (the first paragraph of its docstring). The adapter is the component that runs the unit's RTL in place
of the event class.
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

Fields: TypeAlias = Mapping[
    str, int | Field | Payload
]  # fields of a token: bits of the token's field, or another kind of field
Status: TypeAlias = tuple[str, ...] | Mapping[str, int]


@dataclass(frozen=True)
class Summed:
    """A counter that adds up a measure of the tokens at a stream.

    Args:
        label: label of the stream.
        measure: returns the increment of a token.
    """

    label: str
    measure: Callable[[Token], int]


@dataclass(frozen=True)
class StatusCounter:
    """A counter that adds up a status output over all cycles.

    Args:
        status: name of the output. A user's module may lack the output; the counter is then omitted.
    """

    status: str


CounterSource: TypeAlias = (
    Callable[[Adapter], int] | Summed | StatusCounter
)  # the first kind counts transfers at the ports


@dataclass(frozen=True)
class Lanes:
    """The content of an array of ports whose tokens move together (``Bundle``).

    Args:
        content: fields of a lane.
        lanes: ports of the array.
        mask: whether a lane may be empty.
    """

    content: Fields
    lanes: int
    mask: bool = False


@dataclass(frozen=True)
class Each:
    """The content of an array of ports that move independently.

    Args:
        content: fields of a token.
        count: ports of the array.
    """

    content: Fields
    count: int


PortContents: TypeAlias = Mapping[
    str, Fields | Lanes | Each | Stream
]  # by port; a Stream for a port that the class lacks


def rows(label: str) -> CounterSource:
    """Return a counter source: cycles with a transfer at a stream."""
    return lambda adapter: adapter.end(label).rows


def tokens(label: str) -> CounterSource:
    """Return a counter source: tokens at a stream."""
    return lambda adapter: adapter.end(label).tokens


def elements(label: str) -> CounterSource:
    """Return a counter source: tokens of a stream that are no stops."""
    return lambda adapter: adapter.end(label).elements


def stops(label: str) -> CounterSource:
    """Return a counter source: tokens of a stream that are stops."""
    return lambda adapter: adapter.end(label).stops


def unit(
    name: str,
    kind: type[Component],
    parameters: type[Parameters],
    contents: Callable[[Any], PortContents],
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
    """Declare a unit. The catalogue finds units that are variables of modules ``fiberscope.hw...._rtl``.

    Args:
        name: name on the command line and of its module.
        kind: event class.
        parameters: dataclass of the module's parameters.
        contents: returns the content of each port for parameters, in the order of the module's ports.
        design: creates the logic between the ports; None if only Verilog defines it.
        arguments: parameters that are constructor arguments of the class after its name, in their order.
        as_made: values of parameters, by name, for a module that replaces an instance of a machine. If the
            value is a function, it converts the argument of the same name to the parameter.
        status: the module's status outputs, or a function that returns them for parameters.
        counters: counters of the class, from transfers at the ports; those of ``base`` follow.
        base: adapter class, if ports do not determine the accounting.
        matching, component, instance: see ``RtlBlock``, if arguments and parameters have different names.
        alone: whether parameters alone suffice to construct the class.
        listed, connected: see ``RtlBlock``.
        flags: class attributes of the adapter in lower case: ``events``, ``fibers``, ``through``, ...
    """

    design = design or partial(_without_logic, name)
    matching = matching or partial(_matching, parameters, arguments, as_made or {})
    component = component or (partial(_component, kind, arguments) if alone else None)
    adapter = _adapter_class(kind, base, counters or {}, flags)
    interface = partial(_interface, name, adapter, contents, status)
    if component is not None and issubclass(parameters, ValueParameters) and "values" not in arguments:
        component = partial(_typed, component)
    said = name, _summary(kind), parameters, matching, interface, design, adapter, component
    instance = instance or partial(_as_it_is, arguments)
    return RtlBlock(*said, kinds=(kind,), listed=listed, instance=instance, connected=connected)


def _without_logic(name: str, _parameters: Parameters, _streams: Streams) -> None:
    """Refuse to create logic: the design of a unit that only Verilog defines."""
    raise SimulationError(f"{name} has no logic in PyRTL; give it as Verilog, by --verilog and --sim icarus")


def _interface(
    name: str,
    adapter: type[Adapter],
    contents: Callable[[Any], PortContents],
    status: Status | Callable[[Any], Status],
    numbers: Parameters,
) -> Interface:
    """Return the ports of a module with these parameters."""
    shown = status(numbers) if callable(status) else status
    return Interface(name, tuple(_streams(adapter.PORTS, contents(numbers))), shown)


def _as_it_is(arguments: Sequence[str], component: Component) -> dict[str, object]:
    """Return the parameters of a component that are its attributes of the same names."""
    return {argument: getattr(component, argument) for argument in arguments}


def _matching(
    kind: type[Parameters],
    arguments: Sequence[str],
    as_made: Mapping[str, Any],
    *values: object,
    **named: object,
) -> Parameters:
    """Return the parameters for a component with these constructor arguments.

    Raises:
        ValueError: there are more positional arguments than ``arguments`` names.
    """
    if len(values) > len(arguments):
        raise ValueError(f"no module is made with {', '.join(map(str, values[len(arguments) :]))}")
    keywords: dict[str, Any] = dict(zip(arguments, values, strict=False)) | named
    # A constant replaces the component's own argument; a conversion needs the argument.
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
    """Return a component that computes with values of a type, which it gets after construction."""
    component: Any = make(name, parameters)
    component.value_type = parameters.value_type
    return component  # type: ignore[no-any-return]  # mypy does not know which component it is


def _summary(kind: type[Component]) -> str:
    """Return the summary of a class from its docstring in one line, without the signature that Cython adds.

    The summary follows other text and begins in lower case, unless its first word has a second capital.
    """
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    said = next(" ".join(text.split()) for text in paragraphs if not text.startswith(f"{kind.__name__}("))
    begins = said if said[1:2].isupper() else said[:1].lower() + said[1:]
    return begins.rstrip(".").replace("``", "")


def _streams(declared: Sequence[Port], contents: PortContents) -> Iterator[Stream]:
    """Yield the module's streams: direction and name from the class's port, and the content."""
    ports = {port.name: port for port in declared}
    for label, what in contents.items():
        if isinstance(what, Stream):
            yield what
        else:
            yield from _at(ports[label], what)


def _at(port: Port, what: Fields | Lanes | Each) -> Sequence[Stream]:
    """Return the streams of a port with this content; an array with plain fields has a single member."""
    direction: Direction = "input" if isinstance(port, Input) else "output"
    if isinstance(what, Lanes):
        return [Bundle(port.name, port.name, direction, what.content, what.lanes, mask=what.mask)]
    if isinstance(what, Each):
        return streams(port.name, direction, what.content, what.count)
    if port.array:
        return streams(port.name, direction, what, 1)
    return [Stream(port.name, port.name, direction, what)]


def _check_observed(
    kind: type[Component], base: type[Adapter], summed: Mapping[str, Summed], statuses: Mapping[str, str]
) -> None:
    """Refuse counters that need cycles or tokens that an adapter class does not observe.

    No tokens are added to those that ``base`` observes, because it handles no others.
    """
    if base.OBSERVED is None:
        return
    unseen = [name for name, count in summed.items() if count.label not in base.OBSERVED]
    if missed := ", ".join([*statuses, *unseen]):
        raise ValueError(
            f"{kind.__name__}: {base.__name__} does not observe what these counters need: {missed}"
        )


def _adapter_class(
    kind: type[Component],
    base: type[Adapter],
    counters: Mapping[str, CounterSource],
    flags: Mapping[str, object],
) -> type[Adapter]:
    """Return an adapter class with the ports and counters of the event class.

    Raises:
        ValueError: a counter needs cycles or tokens that ``base`` does not observe.
    """
    summed = {name: count for name, count in counters.items() if isinstance(count, Summed)}
    statuses = {name: count.status for name, count in counters.items() if isinstance(count, StatusCounter)}

    _check_observed(kind, base, summed, statuses)

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
        counted_by = dict(base.COUNTED_BY)
        for name, status in statuses.items():
            counted_by[status] = (*counted_by.get(status, ()), name)
        UnitAdapter.COUNTED_BY = counted_by
    elif base.observe is Adapter.observe:  # nothing but the sums needs tokens; a status counts every cycle
        UnitAdapter.OBSERVED = tuple({count.label for count in summed.values()})
    for flag, value in flags.items():
        setattr(UnitAdapter, flag.upper(), value)
    return UnitAdapter
