"""Blocks that exist as RTL; ``fiberscope.hw.rtl.catalogue`` lists them.

The *twin* of a component is an RTL module that moves the same tokens in the same cycles. The class of the
component in event models is the *event class* of the block.
"""

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
    """The definition of a block that has a twin: its parameters, ports, logic and adapter.

    Args:
        name: name on the command line.
        summary: description in one line.
        parameters: dataclass of its parameters.
        matching: returns the parameters for a component, from the component's constructor arguments after
            its name; raises ``ValueError`` if no twin matches.
        interface: returns the module's ports for parameters.
        design: creates the logic between the ports.
        adapter: adapter class that replaces the component by a module with these ports.
        component: creates the component from a name and ``parameters``; None if the block replaces several.
        listed: whether the block is in the catalogue; false for blocks that only join others.
        kinds: event classes of which the block is the twin.
        instance: returns the parameters, except widths, that the attributes of a component determine.
        connected: returns the parameters that the connections of a component determine; called after it is
            connected.
        has_registered_outputs: whether outputs are independent of ``ready`` and stable until they are taken.
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
        """Return the twin for these parameters, with or without status outputs.

        Status outputs show what the streams do not, for counters and for the accounting of cycles.
        """
        interface = self.interface(parameters)
        # ``design`` shows all status outputs either way; ``build`` removes the logic of those without a port.
        kept = interface if status else replace(interface, status=())
        return build(kept, lambda streams: self.design(parameters, streams))

    def verilog(self, parameters: Parameters, module: str | None = None, *, status: bool = True) -> str:
        """Return the twin as Verilog, deterministic; by default under the block's name.

        Comments at the head list the parameters and the contract of the ports.

        Args:
            parameters: parameters of the block, which determine the text completely.
            module: name of the module.
            status: whether the module has status outputs, which an adapter needs, and a user's design usually
                does not.
        """
        interface = self.interface(parameters)
        modules = self.modules(parameters, module or interface.module, status=status)
        rules = contract(interface, registered=self.has_registered_outputs)
        return f"// {self.name}: {self.summary}\n// {parameters.header}\n//\n{rules}\n{modules}"

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """Return the Verilog of the module, under this name, and of its parts, without comments at the head.

        Args:
            parameters: parameters of the block.
            module: name of the module, and prefix of the names of its parts.
            status: whether the module has status outputs.
        """
        return verilog(self.twin(parameters, status=status), module)

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """Return the inner blocks with their own Verilog file (``fiberscope.hw.rtl.kit.foreign``)."""
        return ()  # all logic of a plain block is in ``design``; composed blocks ask their parts


@dataclass(frozen=True)
class ForeignBlock(RtlBlock):
    """A Verilog module without parameters, with a Python model that PyRTL runs in place of the Verilog.

    Args:
        source: the Verilog file.
        model: creates the model, in its state after reset.
    """

    source: Path = field(kw_only=True)
    model: Callable[[], Behaviour] = field(kw_only=True)

    def modules(self, parameters: Parameters, module: str, *, status: bool = True) -> str:
        """Return no text: the module is in ``source``."""
        return ""

    def foreign(self, parameters: Parameters) -> tuple[ForeignBlock, ...]:
        """Return the block itself."""
        return (self,)
