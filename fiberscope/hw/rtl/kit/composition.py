"""Composition of blocks into one module: parts, the channels or wires between them, ports, and checks.

An *end* is a port of a part, written ``part.port``. A *net* is a wire of the module, to which pins of parts
are connected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.block import ForeignBlock, RtlBlock
from fiberscope.hw.rtl.kit.channel import PENDING, carrying
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.loops import loop_of, paths
from fiberscope.hw.rtl.kit.parameters import Parameters


@dataclass(frozen=True)
class Part:
    """A block with parameters, as a part of a composition.

    Args:
        block, parameters: what the module is; parts with equal fields are instances of one module.
        status: whether the module has status outputs.
    """

    block: RtlBlock
    parameters: Parameters
    status: bool = True

    @cached_property
    def interface(self) -> Interface:
        """Return the ports of the module."""
        interface = self.block.interface(self.parameters)
        return interface if self.status else replace(interface, status=())

    @property
    def all_status(self) -> Mapping[str, int]:
        """Bits of each status output that the block has with ``status``."""
        return self.block.interface(self.parameters).status_widths


@dataclass(frozen=True)
class Link:
    """A channel between two ports, as ``Kernel.connect`` creates, or wires.

    Wires must not create a combinational loop. Fields that the target lacks are not connected.

    Args:
        source: end of the output, ``part.port``.
        target: end of the input.
        capacity: tokens in the channel, including those in flight; 0 for wires instead of a channel.
        latency: cycles from a push until the token is visible, at least 1; ignored for wires.
    """

    source: str
    target: str
    capacity: int = 2
    latency: int = 1


def joined(
    parts: dict[str, Part], source: str, target: str, capacity: int, latency: int = 1
) -> Iterator[Link]:
    """Yield the links between two ports, of which the source may have several lanes.

    A link is a channel for one lane only. For several lanes, a channel with these lanes is added to
    ``parts``, and wires connect it. A lane without fields sends nothing: it reads at ``ready`` whether the
    channel is empty. Such a lane must be the last. The iteration adds the channel, not the call.

    Args:
        parts: the parts by name; may get a channel.
        source: end of the output, without lane.
        target: end of the input.
        capacity: tokens in the channel, at least 1.
        latency: cycles from a push until the token is visible.
    """
    streams = [stream for stream in _streams(parts, source) if stream.content]
    ends = [f"{_part(source)}.{stream.label}" for stream in _streams(parts, source)]
    if len(ends) == 1:
        yield Link(source, target, capacity, latency)
        return
    taken = stream_at(parts, target)  # the channel stores only fields that the target takes
    name, stream = f"channel_at_{_net(target, taken)}", replace(streams[0], content=taken.content)
    drained = len(streams) < len(ends)
    parts[name] = Part(channel.OF_STREAM, carrying(stream, capacity, latency, len(streams), drained=drained))
    *sources, out = parts[name].interface.streams  # the inputs in the order of the lanes, ``drained`` last
    for end, into in zip(ends, sources, strict=True):
        yield Link(end, f"{name}.{into.label}", 0)
    yield Link(f"{name}.{out.label}", target, 0)


@dataclass(frozen=True)
class Instance:
    """An instance of a part.

    Args:
        nets: the net at each pin, except clock, reset and unused status outputs.
    """

    name: str
    part: Part
    nets: Mapping[str, str]


@dataclass(frozen=True)
class Composition:
    """Parts that channels or wires join into one module.

    The module's status ``pending``, if it has status outputs, is high while a part's is. It is low only when
    no token is in a channel or enters one, and nothing happens inside until a port changes. A part that acts
    while its own ports are unchanged, such as a pipeline, must therefore have a status ``pending``.

    Args:
        module: name of the module.
        parts: the parts by instance name.
        links: the channels between them.
        exports: for each port of the module, the part's port: ``"ways[3]": "leaf_1.ways[0]"``.
        status: for each status output of the module except ``pending``, the part's status: ``"dropped":
            "intersector.dropped"``.
        taps: status outputs that show transfers inside: whether a token moves at a part's port, ``"ended":
            ("writer.completions",)``, or a field of the moving token, with ``"reference"`` as a second item.
            Taps are not checked: an unknown port or field is an error of ``interface``.

    Raises:
        ValueError: naming every unknown port, every port that is not joined or joined twice, every mismatch
            of fields or lanes, every name conflict of wires, every unknown status, and the ports of a
            combinational loop.
    """

    module: str
    parts: Mapping[str, Part]
    links: tuple[Link, ...]
    exports: Mapping[str, str]
    status: Mapping[str, str] = field(default_factory=dict)
    taps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the composition; report all faults together."""
        # Combinational paths exist only between ports that exist and fit, so loops are sought last.
        faults = list(self._faults()) or list(self._loops())
        if faults:
            raise ValueError(f"{self.module}: {'; '.join(faults)}")

    def _faults(self) -> Iterator[str]:
        """Yield every fault of ends, links, net names and status outputs."""
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
            if {link.source, link.target} <= there:  # an unknown end is reported above
                if link.capacity and self._has_lanes(link.source):
                    yield f"{link.source} has lanes, which a channel of one token a cycle cannot take"
                yield from _mismatch(link, self._stream(link.source), self._stream(link.target))
        yield from self._shorts(there)
        for name, end in self.status.items():
            part, _, shown = end.partition(".")
            if part not in self.parts or shown not in self.parts[part].all_status:
                yield f"there is no status {end}"
            if name == PENDING or name in map(self._prefix, self.exports):
                yield f"status {name} would have a name that is taken"

    def _loops(self) -> Iterator[str]:
        """Yield a combinational loop through parts that are joined by wires, if any."""
        # All links of foreign parts are cut, so ``paths`` never meets a block without logic in PyRTL.
        wired = [link for link in self.links if not link.capacity and not self._is_cut(link)]
        if not wired:
            return
        follows: dict[str, list[str]] = {}
        for name in sorted({_part(end) for link in wired for end in (link.source, link.target)}):
            part = self.parts[name]
            for output, inputs in sorted(paths(part.block, part.parameters).items()):
                for wire in sorted(inputs):
                    follows.setdefault(f"{name}.{wire}", []).append(f"{name}.{output}")
        for link in wired:
            source, target = self._stream(link.source), self._stream(link.target)
            here, there = _part(link.source), _part(link.target)
            for wire in ("valid", *target.widths, "ready"):
                ends = f"{here}.{source.wire(wire)}", f"{there}.{target.wire(wire)}"
                first, second = reversed(ends) if wire == "ready" else ends  # ``ready`` runs backwards
                follows.setdefault(first, []).append(second)
        loop = loop_of(follows)
        if loop:
            yield f"wires make a loop without a register, where a channel should be: {' -> '.join(loop)}"

    def _is_cut(self, link: Link) -> bool:
        """Return whether all outputs of a part at one end come from registers.

        No combinational loop passes through such a part. This holds for channels, and is required of foreign
        modules.
        """
        blocks = [self.parts[_part(end)].block for end in (link.source, link.target)]
        return any(
            block in (channel.OF_STREAM, channel.BLOCK) or isinstance(block, ForeignBlock) for block in blocks
        )

    def _shorts(self, there: set[str]) -> Iterator[str]:
        """Yield an error for streams whose nets would have the same names, and be short-circuited."""
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
        """Return the ports of the module: the exported ports and status outputs."""
        streams = tuple(
            replace(self._stream(end), label=label, prefix=self._prefix(label))
            for label, end in self.exports.items()
        )
        if not self._has_status:
            return Interface(self.module, streams)
        status = {name: self._status_width(end) for name, end in self.status.items()}
        taps = {
            name: sum(self._stream(end).widths[part] for part in fields) or 1  # one bit without a field
            for name, (end, *fields) in self.taps.items()
        }
        return Interface(self.module, streams, {PENDING: 1} | status | taps)

    def _status_width(self, end: str) -> int:
        part, _, name = end.partition(".")
        return self.parts[part].all_status[name]

    def without_status(self) -> Composition:
        """Return the composition without status outputs."""
        return replace(self, parts={name: replace(part, status=False) for name, part in self.parts.items()})

    @property
    def _has_status(self) -> bool:
        """Return whether the module has status outputs: ``pending`` needs the status of every part."""
        return all(part.status for part in self.parts.values())

    def instances(self) -> list[Instance]:
        """Return the parts, in their order, and then the channels between them, with their nets."""
        nets: dict[str, dict[str, str]] = {name: {} for name in self.parts}
        for label, end in self.exports.items():
            name, _, inner = end.partition(".")
            prefix = self._prefix(label)
            nets[name].update(_pins(self._stream(f"{name}.{inner}"), prefix))
        # With a channel, the two ends have nets of their own; wires join both ends to the nets of the source.
        for link in self.links:
            taken = self._stream(link.target)
            for end, net in zip((link.source, link.target), _nets(link), strict=True):
                prefix = _net(net, self._stream(net))
                nets[end.partition(".")[0]].update(_pins(self._stream(end), prefix, taken))
        parts = [Instance(name, part, nets[name]) for name, part in self.parts.items()]
        channels = [self._channel(link) for link in self.links if link.capacity]
        return [self._with_status(instance) for instance in (*parts, *channels)]

    def _with_status(self, instance: Instance) -> Instance:
        """Return the instance with a net at each status output in use."""
        shown = [
            PENDING,
            *(end.partition(".")[2] for end in self.status.values() if _part(end) == instance.name),
        ]
        nets = {name: _shows(instance.name, name) for name in shown if name in instance.part.interface.status}
        return replace(instance, nets={**instance.nets, **nets})

    def shown(self, instances: Sequence[Instance]) -> dict[str, list[str]]:
        """Return, for each status output of the module, the nets whose OR it is.

        Args:
            instances: all instances, from ``instances``.
        """
        if not self._has_status:
            return {}
        pending = [instance.nets[PENDING] for instance in instances if PENDING in instance.nets]
        passed_on = {name: [_shows(*end.split("."))] for name, end in self.status.items()}
        return {PENDING: pending, **passed_on}

    def tapped(self, instances: Sequence[Instance]) -> dict[str, list[str]]:
        """Return, for each tap, the nets of ``valid``, ``ready`` and of the field, if the tap shows a field.

        Args:
            instances: all instances, from ``instances``.
        """
        nets = {instance.name: instance.nets for instance in instances}
        return {
            name: [nets[_part(end)][self._stream(end).wire(wire)] for wire in ("valid", "ready", *fields)]
            for name, (end, *fields) in (self.taps if self._has_status else {}).items()
        }

    def _channel(self, link: Link) -> Instance:
        """Return the instance of a channel, named after the port that reads it."""
        source, target = self._stream(link.source), self._stream(link.target)
        stream = replace(source, content=target.content)
        part = Part(channel.OF_STREAM, carrying(stream, link.capacity, link.latency), self._has_status)
        into, out = part.interface.streams
        nets = _pins(into, _net(link.source, source)) | _pins(out, _net(link.target, target))
        return Instance(f"channel_at_{_net(link.target, target)}", part, nets)

    def _stream(self, end: str) -> Stream:
        return stream_at(self.parts, end)

    def _has_lanes(self, end: str) -> bool:
        """Return whether the part can send several tokens in a cycle at this port."""
        streams = self.parts[end.partition(".")[0]].interface.streams
        return [stream.port for stream in streams].count(self._stream(end).port) > 1

    def _prefix(self, label: str) -> str:
        """Return the prefix of a port's wires, with padded indices: ``ways_03`` for ``ways[3]`` of 64."""
        label, dot, lane = label.partition(".")
        if dot:
            return f"{self._prefix(label)}_lane_{lane}"
        port, bracket, index = label.rstrip("]").partition("[")
        if not bracket:
            return port
        # Indices run from 0, and lanes share the index of their port: the count gives the highest index.
        count = sum(other.startswith(f"{port}[") and "." not in other for other in self.exports)
        return f"{port}_{int(index):0{len(str(count - 1))}}"


def _nets(link: Link) -> tuple[str, str]:
    """Return the nets at source and target, which are the same for wires."""
    return link.source, link.target if link.capacity else link.source


def _mismatch(link: Link, source: Stream, target: Stream) -> Iterator[str]:
    """Yield the errors of a link: in direction, in fields of the target, and in number of lanes."""
    if (source.direction, target.direction) != ("output", "input"):
        yield f"{link.source} to {link.target} is not from an output to an input"
    widths, fields = ({name: of.get(name) for name in target.widths} for of in (source.widths, source.fields))
    if widths != target.widths or fields != {name: target.fields.get(name) for name in fields}:
        yield (
            f"{link.source} has {dict(source.widths)}, but {link.target} has {dict(target.widths)}: "
            "a channel changes no width"
        )
    if len(source.ports) != len(target.ports):
        yield f"{link.source} has {len(source.ports)} lanes, but {link.target} has {len(target.ports)}"


def _net(end: str, stream: Stream) -> str:
    """Return the prefix of the nets at a part's stream."""
    return f"{end.partition('.')[0]}_{stream.prefix}"


def stream_at(parts: Mapping[str, Part], end: str) -> Stream:
    """Return the stream at a port of a part; ``end`` is ``part.port``."""
    name, _, label = end.partition(".")
    return next(stream for stream in parts[name].interface.streams if stream.label == label)


def _streams(parts: Mapping[str, Part], end: str) -> list[Stream]:
    """Return the lanes of a part's port, lane 0 first."""
    name, _, label = end.partition(".")
    return [stream for stream in parts[name].interface.streams if stream.label.partition(".")[0] == label]


def _pins(stream: Stream, prefix: str, taken: Stream | None = None) -> dict[str, str]:
    """Return the net at each wire of a stream, optionally without the fields that ``taken`` lacks."""
    outer = replace(stream, prefix=prefix)
    kept = [name for name in stream.widths if taken is None or name in taken.widths]
    return {stream.wire(name): outer.wire(name) for name in ("valid", *kept, "ready")}


def _part(end: str) -> str:
    """Return the name of the part at an end."""
    return end.partition(".")[0]


def _shows(part: str, status: str) -> str:
    """Return the net at a status output of a part."""
    return f"{part}_shows_{status}"
