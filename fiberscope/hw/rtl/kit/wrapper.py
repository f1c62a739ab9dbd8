"""A composition as a hierarchical Verilog module, or as a flat PyRTL block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import ForeignBlock, RtlBlock
from fiberscope.hw.rtl.kit.composition import Composition, Instance, Link, Part
from fiberscope.hw.rtl.kit.interface import CLOCKING, Wire
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Signal, Streams, bit_range, module_head, unless

__all__ = ["ComposedBlock", "Composition", "Link", "Part", "composed", "flat", "hierarchical", "join"]


def _inner_nets(composition: Composition, instances: list[Instance]) -> dict[str, int]:
    """Return the width of every net that is no port of the module."""
    ports = {wire.name for wire in composition.interface().wires()}
    return {
        instance.nets[wire.name]: wire.width
        for instance in instances
        for wire in instance.part.interface.wires()
        if wire.name in instance.nets and instance.nets[wire.name] not in ports
    }


def flat(composition: Composition, streams: Streams) -> None:
    """Create all parts within one PyRTL block, each in its own name scope.

    Args:
        composition: the parts and their connections.
        streams: the ports of the module, whose outputs and status outputs the parts drive.
    """
    instances = composition.instances()
    inner = _inner_nets(composition, instances)
    nets = {**streams.ports} | {name: pyrtl.WireVector(width, name) for name, width in inner.items()}
    # Inner nets exist before the parts: PyRTL's wires may be read before they are driven.
    for instance in instances:
        with pyrtl.name_scope(instance.name):
            inside = Streams.from_interface(
                instance.part.interface, lambda wire: pyrtl.WireVector(wire.width, wire.name)
            )
            instance.part.block.design(instance.part.parameters, inside)
        for wire in instance.part.interface.wires():
            if wire.name in instance.nets:
                join(wire, inside.ports[wire.name], nets[instance.nets[wire.name]])
    for status, shown in composition.shown(instances).items():
        # Without a part that can be pending, nothing is ever pending.
        streams.show(status, reduce(or_, [nets[name] for name in shown]) if shown else pyrtl.Const(0, 1))
    for status, (valid, ready, *value) in composition.tapped(instances).items():
        moves = nets[valid] & nets[ready]
        streams.show(status, unless(~moves, nets[value[0]]) if value else moves)


def join(wire: Wire, pin: Signal, net: Signal) -> None:
    """Connect a pin of an inner part to its net, in the direction of the port.

    Args:
        wire: the port of the part.
        pin: the part's side of the connection.
        net: the module's side; an output drives it, so that only one output may join a net.
    """
    if wire.direction == "input":
        pin <<= net
    else:
        net <<= pin


def hierarchical(composition: Composition, module: str) -> str:
    """Return Verilog: the wrapper, and each inner module once.

    Args:
        composition: the parts and their connections.
        module: name of the wrapper, and prefix of the names of inner modules that are not foreign.
    """
    instances = composition.instances()
    modules = _module_names(module, instances)
    texts = [part.block.modules(part.parameters, name, status=part.status) for part, name in modules]
    return "\n".join([_wrapper(composition, module, instances, dict(modules)), *filter(None, texts)])


def _module_names(module: str, instances: list[Instance]) -> list[tuple[Part, str]]:
    """Return every distinct part with a module name, numbered if a block has several parameter sets.

    A foreign module keeps its name.
    """
    parts = list(dict.fromkeys(instance.part for instance in instances))  # equal parts share a module
    blocks = Counter(part.block.name for part in parts)
    seen: Counter[str] = Counter()
    named_parts = []
    for part in parts:
        block = part.block.name
        name = f"{module}_{block}" + (f"_{seen[block]}" if blocks[block] > 1 else "")
        named_parts.append((part, part.interface.module if isinstance(part.block, ForeignBlock) else name))
        seen[block] += 1
    return named_parts


def _wrapper(
    composition: Composition, module: str, instances: list[Instance], modules: Mapping[Part, str]
) -> str:
    """Return the Verilog of the module that instantiates and connects the parts."""
    wires = [
        f"    wire {bit_range(width)}{name};" for name, width in _inner_nets(composition, instances).items()
    ]
    placed = [_instantiation(instance, modules[instance.part]) for instance in instances]
    shown = composition.shown(instances).items()
    status = [f"    assign {name} = {' | '.join(nets) or 0};" for name, nets in shown]
    status += [_tap(name, *nets) for name, nets in composition.tapped(instances).items()]
    return module_head(module, composition.interface()) + "\n".join(
        [*wires, "", *placed, *status, "endmodule", ""]
    )


def _tap(name: str, valid: str, ready: str, value: str = "") -> str:
    """Return the assignment of a status output that shows transfers: 0 in cycles without a transfer.

    Args:
        name: the status output.
        valid, ready: nets of the handshake.
        value: the net of the shown field; empty to show whether a token moves.
    """
    said = f"{valid} & {ready}"
    return f"    assign {name} = {f'{said} ? {value} : 0' if value else said};"


def _instantiation(instance: Instance, module: str) -> str:
    """Return the Verilog of an instance; pins without a net, such as unused status outputs, stay open."""
    pins = ",\n".join(
        f"        .{wire.name}({wire.name if wire.name in CLOCKING else instance.nets.get(wire.name, '')})"
        for wire in instance.part.interface.wires()
    )
    return f"    {module} {instance.name}(\n{pins}\n    );\n"


@dataclass(frozen=True)
class ComposedBlock(RtlBlock):
    """A block that is composed of others.

    Args:
        compose: returns the composition for parameters.
    """

    compose: Callable[[Any], Composition] = field(kw_only=True)

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """Return the wrapper, under this name, and the inner modules."""
        composition = self.compose(parameters)
        return hierarchical(composition if status else composition.without_status(), module)

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """Return the foreign modules of the parts, each once."""
        parts = self.compose(parameters).parts.values()
        return tuple(dict.fromkeys(block for part in parts for block in part.block.foreign(part.parameters)))


def composed(
    name: str,
    summary: str,
    parameters: type[Parameters],
    compose: Callable[[Any], Composition],
    adapter: type[Adapter],
) -> ComposedBlock:
    """Return a composed block for the catalogue; see ``RtlBlock`` for the arguments.

    The function ``matching`` of the block is the constructor of ``parameters``.
    """
    return ComposedBlock(
        name,
        summary,
        parameters,
        parameters,
        lambda numbers: compose(numbers).interface(),
        lambda numbers, streams: flat(compose(numbers), streams),
        adapter,
        compose=compose,
    )
