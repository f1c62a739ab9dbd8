"""RTL of the high-radix merger ``fiberscope.hw.fibers.merge.HighRadixMerger``.

The module is the *twin* of the event class: it moves the same tokens in the same cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.merge import COORDINATE_BITS, RADIX, HighRadixMerger, nodes_of
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Content, Field, Payload, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number, one_of
from fiberscope.hw.rtl.kit.smallest import Candidate, select_smallest
from fiberscope.hw.rtl.kit.trees import all_up_to, any_of
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import Each, PortContents, elements, tokens, unit
from fiberscope.sim.channel import Channel

WAYS = (RADIX[0], 64)  # range of ``radix``; the event class permits more ways, which are not tested as RTL
WIDTHS = {"float": (32, 64), "bfloat": (16,), "whole": (32,)}  # bits of values, by kind
SCALE = "scale"  # field with the scale of an element
MAX_STAGES = (WAYS[1] - 1).bit_length()  # one stage for each level of the largest tree


@dataclass(frozen=True)
class MergerParameters(Parameters):
    """Parameters of a merger; widths in bits.

    Args:
        radix: number of ways, 2 to 64 (``WAYS``).
        coordinate_bits: width of a coordinate, 1 to 55, as in the event class (``COORDINATE_BITS``).
        reference_bits: width of a reference, 1 to 64.
        value_bits: width of a value, 16, 32 or 64; ``WIDTHS`` has the widths of each kind.
        values: kind of the values: ``float`` of 32 or 64 bits, ``bfloat`` of 16, or ``whole`` numbers of 32.
        stages: number of pipeline stages, 1 to 6; at most one for each level of the tree is built.
        scale_bits: width of the scale that accompanies an element, 0 to 64; 0 for none.

    Raises:
        ValueError: if a parameter is out of range, or ``values`` do not have the width ``value_bits``.
    """

    radix: int = number(64, *WAYS)
    coordinate_bits: int = number(32, 1, COORDINATE_BITS)
    reference_bits: int = number(64, 1, 64)
    value_bits: int = one_of(64, 16, 32, 64)
    stages: int = number(6, 1, MAX_STAGES)
    values: str = choice("float", tuple(WIDTHS))
    scale_bits: int = number(0, 0, 64)

    def __post_init__(self) -> None:
        """Check the parameters, and that values of this kind can have the width."""
        super().__post_init__()
        widths = WIDTHS[self.values]
        if self.value_bits not in widths:
            wanted = " or ".join(map(str, widths))
            raise ValueError(f"merger: value_bits of {self.values} must be {wanted}, not {self.value_bits}")


def scaled(bits: int) -> Content:
    """Return the field for the scale of an element; no field for 0 bits."""
    return {SCALE: Payload(bits)} if bits else {}


def port_contents(parameters: MergerParameters) -> PortContents:
    """Return the fields of each port; the coordinate of a task is the number of ways that take part."""
    element: Content = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": Field("value", parameters.value_bits, parameters.values),
        **scaled(parameters.scale_bits),
    }
    return {
        "tasks": {"coordinate": parameters.radix.bit_length()},
        "ways": Each(element, parameters.radix),
        "merged": element,
    }


def status(parameters: MergerParameters) -> tuple[str, ...]:
    """Return the status outputs: with several nodes, ``pending`` is high while a token is between nodes."""
    return (PENDING,) if len(nodes_of(parameters.radix, parameters.stages)) > 1 else ()


@dataclass(frozen=True)
class _Head:
    """An input of a node.

    Args:
        valid: 1 while the input shows a head, which is an element or a stop.
        fields: fields of the head.
        taken: undriven wire; the node drives it to 1 in the cycle in which it takes the head.
    """

    valid: Signal
    fields: Mapping[str, Signal]
    taken: Signal

    def take(self, condition: Signal) -> None:
        """Drive ``taken``."""
        taken = self.taken
        taken <<= condition


@dataclass(frozen=True)
class _Node:
    """The output of a node.

    Args:
        valid: 1 while the node has a token to pass on.
        smallest: the smallest head; if it is not ``present``, all heads are stops and the token is a stop.
        sent: undriven wire; ``send`` drives it to 1 in the cycle in which the token is passed on.
    """

    valid: Signal
    smallest: Candidate
    sent: Signal

    def send(self, ready: Signal) -> None:
        """Drive ``sent``; ``ready`` is 1 while the next stage has a free slot."""
        sent = self.sent
        sent <<= self.valid & ready


def design(parameters: MergerParameters, streams: Streams) -> None:
    """Build the nodes of the tree: comparators over the heads, and a buffer after each node but the root.

    Each node of the first stage has a register that holds whether it merges the current task. The sender must
    not send a task with more ways than ``radix``.
    """
    tasks, merged = streams.inputs["tasks"], streams.outputs["merged"]
    heads = [_way(streams.inputs[f"ways[{i}]"]) for i in range(parameters.radix)]
    nodes = nodes_of(parameters.radix, parameters.stages)
    running = [
        pyrtl.Register(1, f"running_{node:02}") for node, (first, _) in enumerate(nodes) if first < len(heads)
    ]
    # Whether any node of the first stage is running. The OR is in a register, so that ``tasks.ready`` does
    # not depend on logic of the same cycle.
    merging: Signal = pyrtl.Register(1, "merging")
    begins, parts = _task(tasks, merging, parameters.radix)
    going_on: list[Signal] = []
    entering = []
    for index, (first, ways) in enumerate(nodes):
        inputs, name = heads[first : first + ways], f"node{index:02}"
        if index < len(running):
            active = alias(f"{name}_active", running[index] | begins)
            node = _node(name, inputs, active, parts[first : first + ways])
            entering.append(node.sent)
            ended = node.sent & ~node.smallest.present
            going_on.append(alias(f"{name}_goes_on", active & ~ended))
            running[index].next <<= going_on[-1]
        else:  # a later node needs no task: each child sends a fiber, maybe an empty one, for each task
            always = pyrtl.Const(1, 1)
            node = _node(name, inputs, always, [always] * ways)
        if index < len(nodes) - 1:
            # ``nodes_of`` numbers the buffer of node n as input radix + n, which is its place in ``heads``
            heads.append(_buffer(name, node))
        else:
            stop = ~node.smallest.present
            merged.send(
                node.valid,
                {"control": stop}
                | {field: unless(stop, wire) for field, wire in node.smallest.fields.items()},
            )
            node.send(merged.ready)
    merging.next <<= any_of("going_on", going_on)
    if len(nodes) > 1:
        within = [head.valid for head in heads[parameters.radix :]]
        streams.show(PENDING, any_of("within", [*within, *entering]))


def _way(way: InputStream) -> _Head:
    taken: Signal = pyrtl.WireVector(1)
    way.accept(taken)
    return _Head(way.valid, way.fields, taken)


def _task(tasks: InputStream, merging: Signal, radix: int) -> tuple[Signal, list[Signal]]:
    """Return whether a task begins in this cycle, and for each way whether it takes part in the task.

    Both are valid from the cycle in which the task is taken, so that the first tokens can move in this cycle.
    """
    parts = []
    for way in range(radix):
        held: Signal = DataRegister(1, f"takes_part_{way:02}")
        part = alias(f"part_{way:02}", pyrtl.select(merging, held, tasks.fields["coordinate"] > way))
        held.next <<= part  # follows ``tasks`` while no task runs, and keeps the value afterwards
        parts.append(part)
    tasks.accept(~merging)
    return alias("begins", tasks.valid & ~merging), parts


def _node(name: str, inputs: Sequence[_Head], active: Signal, awaited: Sequence[Signal]) -> _Node:
    """Return the output of a node, which is valid once all awaited inputs show a head.

    The smallest element is taken. When no element is left, all stops of awaited inputs are taken together.

    Args:
        name: prefix of the names of the wires.
        inputs: inputs of the node.
        active: 1 while the node merges a task.
        awaited: for each input, whether it takes part in the task.
    """
    # A way that takes no part holds up nothing. Without any awaited way, the node passes a stop at once
    shown = [head.valid | ~waits for head, waits in zip(inputs, awaited, strict=True)]
    candidates = [
        Candidate(
            waits & head.valid & ~head.fields["control"],
            {field: wire for field, wire in head.fields.items() if field != "control"},
            pyrtl.Const(i, index_bits(len(inputs))),
        )
        for i, (head, waits) in enumerate(zip(inputs, awaited, strict=True))
    ]
    root = select_smallest(candidates, name)
    sent: Signal = pyrtl.WireVector(1, f"{name}_sent")
    for i, (head, waits) in enumerate(zip(inputs, awaited, strict=True)):
        head.take(sent & waits & (~root.present | (root.way == i)))
    return _Node(alias(f"{name}_valid", active & all_up_to(shown)[-1]), root, sent)


def _buffer(name: str, node: _Node) -> _Head:
    """Return the head of a buffer of two slots after a node.

    The node sees ``ready`` while the second slot is free, which is a register. No combinational path of
    ``ready`` therefore crosses a stage, and two slots still sustain one token per cycle.
    """
    full: list[Signal] = [pyrtl.Register(1, f"{name}_full_{slot}") for slot in range(2)]
    taken: Signal = pyrtl.WireVector(1, f"{name}_taken")
    node.send(~full[1])
    # The first slot is the head. The second slot is full only while the first one is
    stays = full[0] & ~taken
    full[0].next <<= stays | full[1] | node.sent
    full[1].next <<= stays & (full[1] | node.sent)
    fields = {}
    for field, wire in ({"control": ~node.smallest.present} | node.smallest.fields).items():
        # While the second slot is empty, its fields follow the node, which needs no enable: ``full`` counts
        first, second = (DataRegister(len(wire), f"{name}_{slot}_{field}") for slot in ("first", "second"))
        second.next <<= pyrtl.select(full[1], second, wire)
        first.next <<= pyrtl.select(stays, first, pyrtl.select(full[1], second, wire))
        fields[field] = first
    return _Head(full[0], fields, taken)


class MergerAdapter(Adapter):
    """Adapter that knows which ways are awaited: it counts the fibers that tasks have announced for each."""

    QUIET = OBSERVED = ("tasks",)

    def elaborate(self) -> None:
        """Look up the channels, and list the ways in their order."""
        super().elaborate()
        self._ways = [end for end in self.ends if end.stream.port[0] == "ways"]
        self._fibers = [0] * len(self._ways)  # by way, number of fibers that tasks have announced

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Count one more fiber for each way of a task that begins."""
        for way in range(moved["tasks"].coordinate):
            self._fibers[way] += 1

    def awaited(self) -> Channel | None:
        """Return the channel of the first way whose fiber has not ended and that shows no token, or None."""
        return self._first_held_up(
            way for way, fibers in zip(self._ways, self._fibers, strict=True) if way.stops < fibers
        )

    def under_way(self) -> bool:
        """Return whether a task has been taken and its stop has not left."""
        return self.end("tasks").tokens > self.end("merged").stops


BLOCK = unit(
    "merger",
    HighRadixMerger,
    MergerParameters,
    port_contents,
    design,
    arguments=("radix", "stages"),
    as_made={"stages": lambda stages: min(stages, MAX_STAGES)},
    status=status,
    base=MergerAdapter,
    counters={"merges": tokens("tasks"), "merged_elements": elements("merged")},
    events=("merged_elements",),
    fibers_of={"merged": "tasks"},
)
