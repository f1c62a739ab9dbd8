"""Blocks that have a twin; ``fiberscope.hw.rtl.catalogue`` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.behaviour import Behaviour
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Streams, Twin, build, verilog
from fiberscope.sim import Component


@dataclass(frozen=True)
class RtlBlock:
    """A block that has a twin.

    Args:
        name: as on the command line.
        summary: one line.
        parameters: the dataclass of its parameters.
        matching: parameters that suit a component, from the arguments with which that is made.
        interface: the module's ports for some parameters.
        design: what is between them.
        adapter: the adapter that puts a module with these ports into the component's place.
        component: makes the component from a name and ``parameters``; None if the block is several.
        listed: whether it is in the catalogue; not what only joins others.
        kinds: the event classes whose instances it is the twin of.
        instance: the parameters that follow from such an instance: all but widths and places.
        connected: those that follow only from what is connected to one in its machine.
        has_registered_outputs: whether its outputs depend on no ``ready`` and stay until they are taken.
    """

    name: str
    summary: str
    parameters: type[Parameters]
    matching: Callable[..., Parameters]
    interface: Callable[[Any], Interface]
    design: Callable[[Any, Streams], None]
    adapter: type[Adapter]
    component: Callable[..., Component] | None = None
    listed: bool = True
    kinds: tuple[type[Component], ...] = ()
    instance: Callable[[Any], Mapping[str, object]] = lambda _component: {}
    connected: Callable[[Any], Mapping[str, int]] = lambda _component: {}
    has_registered_outputs: bool = False

    def twin(self, parameters: Parameters, *, status: bool = True) -> Twin:
        """The twin for these parameters, with status outputs or without."""
        interface = self.interface(parameters)
        kept = interface if status else replace(interface, status=())
        return build(kept, lambda streams: self.design(parameters, streams))

    def verilog(self, parameters: Parameters, module: str | None = None, *, status: bool = True) -> str:
        """The twin as Verilog, the same text every time; under the block's name if no other is given.

        A stand-in needs its status outputs, a design of one's own mostly does not. Comments at the head give
        the parameters and the contract of the ports.
        """
        interface = self.interface(parameters)
        modules = self.modules(parameters, module or interface.module, status=status)
        rules = contract(interface, registered=self.has_registered_outputs)
        return f"// {self.name}: {self.summary}\n// {parameters.header}\n//\n{rules}\n{modules}"

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """The module, under this name, and those that it consists of."""
        return verilog(self.twin(parameters, status=status), module)

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """The blocks within whose Verilog has a file of its own (``fiberscope.hw.rtl.kit.foreign``)."""
        return ()


@dataclass(frozen=True)
class ForeignBlock(RtlBlock):
    """A module of Verilog with a Python model; it has no parameters.

    Args:
        source: the file that has it.
        model: makes the model, as it is behind a reset.
    """

    source: Path = field(kw_only=True)
    model: Callable[[], Behaviour] = field(kw_only=True)

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """None: the file has them."""
        return ""

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """Return the block itself, which is Verilog from outside."""
        return (self,)
