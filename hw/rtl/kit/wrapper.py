"""Blocks joined by channels: one hierarchical module of Verilog, or one flat block of PyRTL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

import pyrtl

from hw.rtl import channel
from hw.rtl.channel import PENDING, carrying
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.foreign import ForeignBlock
from hw.rtl.kit.interface import CLOCKING, Interface, Stream, Wire
from hw.rtl.kit.parameters import Parameters
from hw.rtl.kit.twin import Signal, Streams, module_head


@dataclass(frozen=True)
class Part:
    """A block made for some parameters, with its status outputs or without."""

    block: RtlBlock
    parameters: Parameters
    status: bool = True

    @cached_property
    def interface(self) -> Interface:
        """Its ports."""
        interface = self.block.interface(self.parameters)
        return interface if self.status else replace(interface, status=())


@dataclass(frozen=True)
class Link:
    """A channel from a part's port to another's, ``part.port`` each, as ``Kernel.connect`` makes one.

    With a capacity of 0 there is no channel between them: the two ports are wired to one another. That is for
    a source whose ``valid`` and a target whose ``ready`` do not both wait for the other.
    """

    source: str
    target: str
    capacity: int = 2
    latency: int = 1


@dataclass(frozen=True)
class _Instance:
    """A part in its place, and the net at each of its pins but clock, reset and status that nobody reads."""

    name: str
    part: Part
    nets: Mapping[str, str]


@dataclass(frozen=True)
class Composition:
    """Parts joined by channels into one module.

    The module's status ``pending``, if it has status outputs, is high while that of a part is. So that is low
    only when no token is in a channel nor enters one, and nothing happens inside unless something changes at
    the ports. A part that acts while nothing at its own ports changes, such as a pipeline, must say so by a
    status ``pending`` too.

    Args:
        module: its name.
        parts: by instance name.
        links: the channels between them.
        exports: the part's port that each port of the module is: ``"ways[3]": "leaf_1.ways[0]"``.

    Raises:
        ValueError: naming every port that is not there, not joined, joined twice or to one of other fields,
            has lanes and is joined, or whose wires would have the names of others.
    """

    module: str
    parts: Mapping[str, Part]
    links: tuple[Link, ...]
    exports: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse what does not fit together, all of it at once."""
        faults = list(self._faults())
        if faults:
            raise ValueError(f"{self.module}: {'; '.join(faults)}")

    def _faults(self) -> Iterator[str]:
        ends = [end for link in self.links for end in (link.source, link.target)] + [*self.exports.values()]
        there = {
            f"{name}.{stream.label}" for name, part in self.parts.items() for stream in part.interface.streams
        }
        if not self.links:
            yield "there is no channel in it"
        yield from (f"there is no {end}" for end in ends if end not in there)
        yield from (f"{end} is joined {times} times" for end, times in Counter(ends).items() if times > 1)
        yield from (f"{end} is not joined" for end in sorted(there - set(ends)))
        for link in self.links:
            if {link.source, link.target} <= there:
                if link.capacity and self._has_lanes(link.source):
                    yield f"{link.source} has lanes, which a channel of one token a cycle cannot take"
                yield from _mismatch(link, self._stream(link.source), self._stream(link.target))
        yield from self._shorts(there)

    def _shorts(self, there: set[str]) -> Iterator[str]:
        """Streams that would be joined because their nets have the same names."""
        named: dict[str, list[str]] = {}
        for label in self.exports:
            named.setdefault(self._prefix(label), []).append(f"port {label}")
        for end in dict.fromkeys(net for link in self.links for net in _nets(link)):
            if end in there:
                named.setdefault(_net(end, self._stream(end)), []).append(f"the net at {end}")
        for prefix, streams in named.items():
            if len(streams) > 1:
                yield f"{' and '.join(streams)} would be one, {prefix}: call one otherwise"

    def interface(self) -> Interface:
        """The ports of the module: those exported, and ``pending``."""
        streams = tuple(
            replace(self._stream(end), label=label, prefix=self._prefix(label))
            for label, end in self.exports.items()
        )
        return Interface(self.module, streams, (PENDING,) if self._has_status else ())

    def without_status(self) -> Composition:
        """The same without any status output."""
        return replace(self, parts={name: replace(part, status=False) for name, part in self.parts.items()})

    @property
    def _has_status(self) -> bool:
        return all(part.status for part in self.parts.values())

    def instances(self) -> list[_Instance]:
        """The parts and the channels between them, with their nets."""
        nets: dict[str, dict[str, str]] = {name: {} for name in self.parts}
        for label, end in self.exports.items():
            name, _, inner = end.partition(".")
            prefix = self._prefix(label)
            nets[name].update(_pins(self._stream(f"{name}.{inner}"), prefix))
        for link in self.links:
            for end, net in zip((link.source, link.target), _nets(link), strict=True):
                nets[end.partition(".")[0]].update(_pins(self._stream(end), _net(net, self._stream(net))))
        parts = [_Instance(name, part, nets[name]) for name, part in self.parts.items()]
        channels = [self._channel(link) for link in self.links if link.capacity]
        return [_with_pending(instance) for instance in (*parts, *channels)]

    def _channel(self, link: Link) -> _Instance:
        """The instance of a channel; its name is that which the engine gives to it."""
        source, target = self._stream(link.source), self._stream(link.target)
        part = Part(channel.OF_STREAM, carrying(source, link.capacity, link.latency), self._has_status)
        into, out = part.interface.streams
        nets = _pins(into, _net(link.source, source)) | _pins(out, _net(link.target, target))
        return _Instance(f"channel_at_{_net(link.target, target)}", part, nets)

    def _stream(self, end: str) -> Stream:
        name, _, label = end.partition(".")
        return next(stream for stream in self.parts[name].interface.streams if stream.label == label)

    def _has_lanes(self, end: str) -> bool:
        """Whether the part sends more than one token a cycle there."""
        streams = self.parts[end.partition(".")[0]].interface.streams
        return [stream.port for stream in streams].count(self._stream(end).port) > 1

    def _prefix(self, label: str) -> str:
        """What the wires of a port begin with: numbers padded so that names sort as numbers do."""
        label, dot, lane = label.partition(".")
        if dot:
            return f"{self._prefix(label)}_lane_{lane}"
        port, bracket, index = label.rstrip("]").partition("[")
        if not bracket:
            return port
        count = sum(other.startswith(f"{port}[") and "." not in other for other in self.exports)
        return f"{port}_{int(index):0{len(str(count - 1))}}"


def _nets(link: Link) -> tuple[str, str]:
    """The ends by which the nets at source and target are called: one where they are wired."""
    return link.source, link.target if link.capacity else link.source


def _mismatch(link: Link, source: Stream, target: Stream) -> Iterator[str]:
    if (source.direction, target.direction) != ("output", "input"):
        yield f"{link.source} to {link.target} is not from an output to an input"
    if source.widths != target.widths or source.fields != target.fields:
        yield (
            f"{link.source} has {dict(source.widths)}, but {link.target} has {dict(target.widths)}: "
            "a channel changes no width"
        )
    if len(source.ports) != len(target.ports):
        yield f"{link.source} has {len(source.ports)} lanes, but {link.target} has {len(target.ports)}"


def _net(end: str, stream: Stream) -> str:
    """What the nets at a part's stream begin with."""
    return f"{end.partition('.')[0]}_{stream.prefix}"


def _pins(stream: Stream, prefix: str) -> dict[str, str]:
    """The net at each wire of a stream."""
    outer = replace(stream, prefix=prefix)
    return {pin.name: net.name for pin, net in zip(stream.wires(), outer.wires(), strict=True)}


def _with_pending(instance: _Instance) -> _Instance:
    if PENDING not in instance.part.interface.status:
        return instance
    return replace(instance, nets={**instance.nets, PENDING: f"{instance.name}_{PENDING}"})


def _pending(instances: list[_Instance]) -> list[str]:
    return [instance.nets[PENDING] for instance in instances if PENDING in instance.nets]


def _inner_nets(composition: Composition, instances: list[_Instance]) -> dict[str, int]:
    """Width of every net that is no port of the module."""
    ports = {wire.name for wire in composition.interface().wires()}
    return {
        instance.nets[wire.name]: wire.width
        for instance in instances
        for wire in instance.part.interface.wires()
        if wire.name in instance.nets and instance.nets[wire.name] not in ports
    }


def flat(composition: Composition, between: Streams) -> None:
    """Design all parts within one block of PyRTL, the names of each under its own."""
    instances = composition.instances()
    inner = _inner_nets(composition, instances)
    nets = {**between.ports} | {name: pyrtl.WireVector(width, name) for name, width in inner.items()}
    for instance in instances:
        with pyrtl.name_scope(instance.name):
            inside = Streams.of(instance.part.interface, lambda wire: pyrtl.WireVector(wire.width, wire.name))
            instance.part.block.design(instance.part.parameters, inside)
        for wire in instance.part.interface.wires():
            if wire.name in instance.nets:
                _join(wire, inside.ports[wire.name], nets[instance.nets[wire.name]])
    between.show(PENDING, reduce(or_, (nets[name] for name in _pending(instances))))


def _join(wire: Wire, pin: Signal, net: Signal) -> None:
    if wire.direction == "input":
        pin <<= net
    else:
        net <<= pin


def hierarchical(composition: Composition, module: str) -> str:
    """Verilog: the wrapper under this name, and each module that it consists of once."""
    instances = composition.instances()
    modules = _module_names(module, instances)
    texts = [part.block.modules(part.parameters, name, status=part.status) for part, name in modules]
    return "\n".join([_wrapper(composition, module, instances, dict(modules)), *filter(None, texts)])


def _module_names(module: str, instances: list[_Instance]) -> list[tuple[Part, str]]:
    """Every part that differs, with a name for its module: numbered where a block has several parameters.

    One with a file of its own is called as it is there.
    """
    parts = list(dict.fromkeys(instance.part for instance in instances))
    blocks = Counter(part.block.name for part in parts)
    seen: Counter[str] = Counter()
    found = []
    for part in parts:
        block = part.block.name
        name = f"{module}_{block}" + (f"_{seen[block]}" if blocks[block] > 1 else "")
        found.append((part, part.interface.module if isinstance(part.block, ForeignBlock) else name))
        seen[block] += 1
    return found


def _wrapper(
    composition: Composition, module: str, instances: list[_Instance], modules: Mapping[Part, str]
) -> str:
    wires = [
        f"    wire {_range(width)}{name};" for name, width in _inner_nets(composition, instances).items()
    ]
    placed = [_instantiation(instance, modules[instance.part]) for instance in instances]
    interface = composition.interface()
    status = [f"    assign {name} = {' | '.join(_pending(instances))};" for name in interface.status]
    return module_head(module, interface) + "\n".join([*wires, "", *placed, *status, "endmodule", ""])


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _instantiation(instance: _Instance, module: str) -> str:
    pins = ",\n".join(
        f"        .{wire.name}({wire.name if wire.name in CLOCKING else instance.nets.get(wire.name, '')})"
        for wire in instance.part.interface.wires()
    )
    return f"    {module} {instance.name}(\n{pins}\n    );\n"


@dataclass(frozen=True)
class ComposedBlock(RtlBlock):
    """A block that is composed of others.

    Args:
        compose: the composition for some parameters.
    """

    compose: Callable[[Any], Composition] = field(kw_only=True)

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """The wrapper, under this name, and the modules within."""
        composition = self.compose(parameters)
        return hierarchical(composition if status else composition.without_status(), module)

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """Those of the parts, each once."""
        parts = self.compose(parameters).parts.values()
        return tuple(dict.fromkeys(block for part in parts for block in part.block.foreign(part.parameters)))


def composed(
    name: str,
    summary: str,
    parameters: type[Parameters],
    compose: Callable[[Any], Composition],
    stand_in: type[Adapter],
) -> ComposedBlock:
    """A block for the catalogue from what it is composed of; the arguments are those of ``RtlBlock``."""
    return ComposedBlock(
        name,
        summary,
        parameters,
        parameters,
        lambda given: compose(given).interface(),
        lambda given, between: flat(compose(given), between),
        stand_in,
        compose=compose,
    )
