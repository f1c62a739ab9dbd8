"""Substitution of RTL in an accelerator: components that are replaced, and modules that replace them."""

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
from fiberscope.sim.scopes import full_name
from fiberscope.workloads.errors import nearest

__all__ = ["ALL", "MACHINE", "Maker", "Place", "choose_places", "makers", "outermost_places"]

MACHINE = "machine"  # of blocks: all of them, in one module
ALL = "all"  # of blocks: those that exist as RTL, at all places; of instance names: every one


@dataclass(frozen=True)
class Place:
    """A component that is replaced.

    Args:
        at: its instance name.
        accelerator: the machine that it is in.
        block: what it is, a name among the machine's units.
        parameters: those of the RTL.
        module: the module's name in Verilog.
        absent: status outputs that it does not have.
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
        """The ports that its module must have."""
        needed = self.unit.interface(self.parameters)
        status = {name: bits for name, bits in needed.status_widths.items() if name not in self.absent}
        return replace(needed, module=self.module, status=status)

    def fitted(self, ports: Sequence[Wire]) -> Place:
        """The place with a module that has these ports.

        Raises:
            SimulationError: if they are not those that it needs.
        """
        there = check_ports(self.interface, ports).status
        return replace(self, absent=tuple(name for name in self.interface.status if name not in there))

    @property
    def instance(self) -> str:
        """Return the name of its module in an HDL simulator."""
        return self.at.replace(".", "_")


class Maker:
    """Makes the parts of one kind: notes them all, and puts RTL at some places."""

    def __init__(
        self, block: RtlBlock, kind: Callable[..., Component], rtl: Mapping[str, Callable[..., Component]]
    ) -> None:
        self.block = block
        self.kind = kind
        self.rtl = rtl
        self.parameters_by_name: dict[
            str, Callable[[], Parameters]
        ] = {}  # what suits each, once connected, by its name

    def __call__(self, name: str, *arguments: object, **options: object) -> Component:
        """Make a part; the arguments are those of the machine."""
        component = self.rtl.get(name, self.kind)(name, *arguments, **options)
        suits = partial(self.block.matching, *arguments, **options)
        self.parameters_by_name[name] = lambda: replace(suits(), **self.block.connected(component))
        return component


def makers(
    accelerator: str,
    blocks: Iterable[str],
    rtl: Mapping[str, Callable[..., Component]],
    own: Mapping[str, Callable[..., Component]] | None = None,
) -> dict[str, Maker]:
    """A maker for each of the accelerator's parts that are among ``blocks``.

    Args:
        accelerator: its name.
        blocks: the parts that may be replaced, or ``all`` of those that exist as RTL.
        rtl: what makes the component in the place of another, by instance name.
        own: components of the user by the name of the part.

    Raises:
        InputError: it lacks some of the blocks; the message names each of them.
    """
    kind, there = find_cosim_machine(accelerator), units(accelerator)
    parts = {**kind.parts, **(own or {})}
    block_names = {name for name, part in parts.items() if name in there and _stands_in(there[name], part)}
    blocks = sorted(block_names) if ALL in blocks and block_names else tuple(blocks)
    unknown = [_refusal(kind, block, block_names) for block in blocks if block not in block_names]
    if unknown:
        raise InputError("; ".join(unknown))
    return {block: Maker(there[block], parts[block], rtl) for block in blocks}


def _refusal(accelerator: Accelerator[Any], block: str, block_names: Set[str]) -> str:
    """Say why a block cannot be replaced, and which blocks can."""
    if not block_names:
        return f"{accelerator.name} has no part {block} to replace; none of its parts exists as RTL"
    if block in accelerator.parts:
        others = ", ".join(sorted(block_names))
        return f"{accelerator.name}: {block} has no module of its own; those that have: {others}"
    return f"{accelerator.name} has no part {block} to replace; {nearest(block, block_names)}"


def _stands_in(block: RtlBlock, part: Callable[..., Component]) -> bool:
    """Return whether a block's module can replace a part; machines share names of parts, not ports."""
    ports = block.adapter.PORTS  # a function makes one of several components that are alike in these
    theirs = getattr(part, "PORTS", ports)
    alone = [port for port in ports if port not in theirs]
    return all(port in ports for port in theirs) and all(port.optional for port in alone)


def outermost_places(makers_by_block: Mapping[str, Maker]) -> tuple[dict[str, Maker], tuple[str, ...]]:
    """Return the names of instances outside of others, and the makers of these."""
    names = [name for maker in makers_by_block.values() for name in maker.parameters_by_name]
    outer = tuple(name for name in names if not any(name.startswith(f"{prefix}.") for prefix in names))
    return {
        block: maker
        for block, maker in makers_by_block.items()
        if maker.parameters_by_name.keys() & set(outer)
    }, outer


def choose_places(
    accelerator: str, makers_by_block: Mapping[str, Maker], at: Sequence[str], own_module: str | None
) -> tuple[Place, ...]:
    """Return the places of RTL: the named instances of each block, or its first one if none is named.

    Args:
        accelerator: name of the accelerator.
        makers_by_block: makers that have recorded all instances of their blocks.
        at: instance names, or ``ALL``.
        own_module: a module of the user's, the same at all places.

    Raises:
        InputError: if there is no such instance, or the RTL cannot be made for its arguments.
    """
    block_of = {name: block for block, maker in makers_by_block.items() for name in maker.parameters_by_name}
    places = {name if name == ALL else _instance(accelerator, name, block_of) for name in at}
    chosen, refusals = [], Refusals()
    for block, maker in makers_by_block.items():
        if not maker.parameters_by_name:
            raise InputError(f"{accelerator} has no {block} in this run")
        named = [name for name in maker.parameters_by_name if name in places or ALL in places]
        for name in named or list(maker.parameters_by_name)[:1]:
            with refusals.collected():
                chosen.append((name, block, maker.parameters_by_name[name]()))
    try:
        refusals.check()
    except ValueError as error:
        raise InputError(f"{error}; set the accelerator so that it suits the RTL") from error
    return _with_modules(accelerator, chosen, own_module)


def _instance(accelerator: str, name: str, block_of: Mapping[str, str]) -> str:
    """Return the instance name that a name of ``--at`` stands for.

    Args:
        accelerator: name of the accelerator.
        name: the instance name, which may lack the machine's name and zeros in front of numbers.
        block_of: block of each instance.

    Raises:
        InputError: there is no such instance.
    """
    instance = full_name(name, block_of)
    if instance is None:
        blocks = " or ".join(dict.fromkeys(block_of.values()))
        raise InputError(f"{accelerator} has no {blocks} named {name}; {nearest(name, block_of)}")
    return instance


def _with_modules(
    accelerator: str, modules: Iterable[tuple[str, str, Parameters]], own_module: str | None
) -> tuple[Place, ...]:
    """One module for all places of a block with the same parameters, numbered from the second on."""
    names: dict[tuple[str, Parameters], str] = {}
    numbers: Counter[str] = Counter()
    for _name, block, parameters in modules:
        if (block, parameters) not in names:
            names[block, parameters] = f"{block}_{numbers[block]}" if numbers[block] else block
            numbers[block] += 1
    return tuple(
        Place(name, accelerator, block, parameters, own_module or names[block, parameters])
        for name, block, parameters in modules
    )
