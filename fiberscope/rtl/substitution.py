"""Selection of the components of an accelerator that RTL replaces, and of the modules that replace them.

A first construction of the accelerator with ``Maker`` factories records all instances of the blocks.
``choose_replacements`` selects the instances that RTL replaces. The accelerator is then constructed again,
with makers that create the RTL of these instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface, Wire
from fiberscope.hw.rtl.kit.parameters import Parameters, Refusals
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.rtl.cosim_request import find_cosim_machine
from fiberscope.rtl.units import units
from fiberscope.sim import Component
from fiberscope.sim.scopes import find_full_name
from fiberscope.workloads.errors import suggest

MACHINE = "machine"  # in place of blocks: the whole machine as one module
ALL = "all"  # in place of blocks: every block that exists as RTL; in place of instances: every instance


@dataclass(frozen=True)
class Replacement:
    """A component that an RTL module replaces.

    Args:
        at: instance name of the component.
        accelerator: name of the accelerator.
        block: name of the block among the accelerator's units.
        parameters: parameters of the module.
        module: name of the module in Verilog.
        absent: status outputs of the block that the module lacks.
    """

    at: str
    accelerator: str
    block: str
    parameters: Parameters
    module: str
    absent: tuple[str, ...] = ()

    @property
    def unit(self) -> RtlBlock:
        """Return the unit that replaces the component."""
        return units(self.accelerator)[self.block]

    @property
    def interface(self) -> Interface:
        """Return the ports that the module must have."""
        needed = self.unit.interface(self.parameters)
        status = {name: bits for name, bits in needed.status_widths.items() if name not in self.absent}
        return replace(needed, module=self.module, status=status)

    def with_ports(self, ports: Sequence[Wire]) -> Replacement:
        """Return the replacement by a module with these ports, which may lack status outputs.

        Raises:
            SimulationError: the module lacks a port that it must have.
        """
        status = check_ports(self.interface, ports).status
        return replace(self, absent=tuple(name for name in self.interface.status if name not in status))

    @property
    def instance(self) -> str:
        """Return the name of the instance in an HDL simulator."""
        return self.at.replace(".", "_")


class Maker:
    """A factory for the components of a block, which records them and substitutes RTL for some of them.

    Args:
        kind: creates the component, as the accelerator does; usually its class.
        rtl: for each instance that RTL replaces, by name, a function that creates its adapter.

    Attributes:
        parameters_by_name: by instance name, a function that returns the parameters of matching RTL. Call it
            after the component is connected.
    """

    def __init__(
        self, block: RtlBlock, kind: Callable[..., Component], rtl: Mapping[str, Callable[..., Component]]
    ) -> None:
        self.block = block
        self.kind = kind
        self.rtl = rtl
        self.parameters_by_name: dict[str, Callable[[], Parameters]] = {}

    def __call__(self, name: str, *arguments: object, **options: object) -> Component:
        """Create the component or the RTL of an instance, and record the instance.

        Args:
            name: instance name.
            arguments, options: the accelerator's constructor arguments for the component.
        """
        component = self.rtl.get(name, self.kind)(name, *arguments, **options)
        matching = partial(self.block.matching, *arguments, **options)
        self.parameters_by_name[name] = lambda: replace(matching(), **self.block.connected(component))
        return component


def makers(
    accelerator: str,
    blocks: Iterable[str],
    rtl: Mapping[str, Callable[..., Component]],
    user_parts: Mapping[str, Callable[..., Component]] | None = None,
) -> dict[str, Maker]:
    """Return a maker for each of these blocks.

    Args:
        accelerator: name of the accelerator.
        blocks: names of the parts to replace; ``ALL`` for every part that exists as RTL.
        rtl: see ``Maker``.
        user_parts: factories of the user's components, by part; they replace the machine's own.

    Raises:
        InputError: a block cannot be replaced; the message names each such block.
    """
    machine, rtl_units = find_cosim_machine(accelerator), units(accelerator)
    parts = {**machine.parts, **(user_parts or {})}
    block_names = {
        name for name, part in parts.items() if name in rtl_units and _can_replace(rtl_units[name], part)
    }
    # If no part exists as RTL, ``ALL`` stays in ``blocks`` and is refused below.
    blocks = sorted(block_names) if ALL in blocks and block_names else tuple(blocks)
    refusals = [_refusal(machine, block, block_names) for block in blocks if block not in block_names]
    if refusals:
        raise InputError("; ".join(refusals))
    return {block: Maker(rtl_units[block], parts[block], rtl) for block in blocks}


def _refusal(accelerator: Accelerator[Any], block: str, block_names: Set[str]) -> str:
    """Return the reason why a block cannot be replaced, and the blocks that can."""
    if not block_names:
        return f"{accelerator.name} has no part {block} to replace; none of its parts exists as RTL"
    if block in accelerator.parts:
        replaceable = ", ".join(sorted(block_names))
        return f"{accelerator.name}: {block} has no module of its own; those that have: {replaceable}"
    return f"{accelerator.name} has no part {block} to replace; {suggest(block, block_names)}"


def _can_replace(block: RtlBlock, part: Callable[..., Component]) -> bool:
    """Return whether a block's module has all ports of a part, and otherwise only optional ports.

    Parts of the same name may have different ports in different accelerators.

    A part that is a function, not a class, creates components with the ports of the block.
    """
    ports = block.adapter.PORTS
    part_ports = getattr(part, "PORTS", ports)
    additional = [port for port in ports if port not in part_ports]
    return all(port in ports for port in part_ports) and all(port.optional for port in additional)


def outermost_instances(makers_by_block: Mapping[str, Maker]) -> tuple[dict[str, Maker], tuple[str, ...]]:
    """Return the makers of instances that are in no other recorded instance, and their names.

    RTL of an outer instance includes its inner instances, which then need no replacement of their own.
    """
    names = [name for maker in makers_by_block.values() for name in maker.parameters_by_name]
    outermost = tuple(name for name in names if not any(name.startswith(f"{prefix}.") for prefix in names))
    return {
        block: maker
        for block, maker in makers_by_block.items()
        if maker.parameters_by_name.keys() & set(outermost)
    }, outermost


def choose_replacements(
    accelerator: str, makers_by_block: Mapping[str, Maker], at: Sequence[str], user_module: str | None
) -> tuple[Replacement, ...]:
    """Return the replacements: the named instances of each block, or by default its first instance.

    Args:
        accelerator: name of the accelerator.
        makers_by_block: makers that have recorded all instances of their blocks.
        at: instance names, or ``ALL`` for every instance.
        user_module: name of the user's module for all of them; None for the modules of the blocks.

    Raises:
        InputError: an instance does not exist, a block has no instance in this run, or no RTL supports the
            parameters of an instance; the message names each such instance.
    """
    block_of = {name: block for block, maker in makers_by_block.items() for name in maker.parameters_by_name}
    selected = {name if name == ALL else _instance(accelerator, name, block_of) for name in at}
    modules, refusals = [], Refusals()
    for block, maker in makers_by_block.items():
        if not maker.parameters_by_name:
            raise InputError(f"{accelerator} has no {block} in this run")
        instances = [name for name in maker.parameters_by_name if name in selected or ALL in selected]
        for name in instances or list(maker.parameters_by_name)[:1]:
            with refusals.collected():
                modules.append((name, block, maker.parameters_by_name[name]()))
    try:
        refusals.check()
    except ValueError as error:
        raise InputError(f"{error}; set the accelerator so that it suits the RTL") from error
    return _with_modules(accelerator, modules, user_module)


def _instance(accelerator: str, name: str, block_of: Mapping[str, str]) -> str:
    """Return the instance for a name of ``--at``.

    Args:
        accelerator: name of the accelerator.
        name: the instance name, which may omit the machine's name and leading zeros of numbers.
        block_of: block of each instance.

    Raises:
        InputError: there is no such instance.
    """
    instance = find_full_name(name, block_of)
    if instance is None:
        blocks = " or ".join(dict.fromkeys(block_of.values()))
        raise InputError(f"{accelerator} has no {blocks} named {name}; {suggest(name, block_of)}")
    return instance


def _with_modules(
    accelerator: str, modules: Iterable[tuple[str, str, Parameters]], user_module: str | None
) -> tuple[Replacement, ...]:
    """Return the replacements with their modules: one module for each block and set of parameters.

    The names of the second and further modules of a block end with a number.
    """
    names: dict[tuple[str, Parameters], str] = {}
    numbers: Counter[str] = Counter()
    for _name, block, parameters in modules:
        if (block, parameters) not in names:
            names[block, parameters] = f"{block}_{numbers[block]}" if numbers[block] else block
            numbers[block] += 1
    return tuple(
        Replacement(name, accelerator, block, parameters, user_module or names[block, parameters])
        for name, block, parameters in modules
    )
