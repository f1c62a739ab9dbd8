"""Requests for an accelerator with RTL in the loop."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.user_parts import add_policies, parse_parts
from fiberscope.base.errors import InputError
from fiberscope.converters.mint import MINT
from fiberscope.results.recording.waveform import Waveform
from fiberscope.results.report.files import matrices
from fiberscope.run.arguments import check_part_names
from fiberscope.run.find_machine import find
from fiberscope.sim import Kernel

__all__ = ["CosimRequest", "find_cosim_machine", "verilog_files"]


def find_cosim_machine(name: str) -> Accelerator[Any]:
    """The accelerator of this name, or MINT, which converts formats.

    Raises:
        ConfigurationError: there is none.
    """
    return MINT if name == MINT.name else find(name)


def verilog_files(name: str, blocks: Sequence[str]) -> tuple[str, ...]:
    """The files of Verilog that a machine's specification names for parts."""
    from fiberscope.models.from_spec.units import VerilogPart  # noqa: PLC0415  (most machines have no specification)

    own = find_cosim_machine(name).own.values()
    named = (str(source.path) for source in own if isinstance(source, VerilogPart) and source.part in blocks)
    return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class CosimRequest:
    """Run with RTL in the loop.

    Args:
        blocks: the parts that are replaced, names in the catalogue of RTL.
        accelerator: its name, or ``mint``.
        a, b: the operands; A again if there is no B.
        settings: parameters of the accelerator, ``key=value``.
        at: the components to replace, by instance name; of a block of which none is named, the first.
        sources: Verilog files of one's own, for one block; the twins' if there are none.
        module: the module among them; the block's name if None.
        cycle_limit: where a run is stopped, None for nowhere.
        lock_step: whether the RTL runs one cycle in every cycle of the machine; else it may sleep as a
            component does, and runs the cycles slept through when it wakes.
        waveform: the waveform of the run with RTL, which is in lock-step then.
        coverage: whether events at the ports of the RTL are counted.
        part_texts: components of the user, in the run with RTL and in the run without, each written
            ``part=module:Class`` or ``part=file.py:Class``.
    """

    blocks: tuple[str, ...]
    accelerator: str
    a: str
    b: str | None = None
    settings: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    module: str | None = None
    cycle_limit: int | None = None
    lock_step: bool = False
    waveform: Waveform | None = None
    coverage: bool = False
    part_texts: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> Mapping[str, PartFactory]:
        """Load the components of the user, by the name of the part.

        Raises:
            InputError: the machine has no such part, or is one module; or a component cannot be imported.
        """
        parts, machine = parse_parts(self.part_texts), find_cosim_machine(self.accelerator)
        check_part_names(machine, parts)
        if parts and "machine" in self.blocks:
            raise InputError("--part: all of the machine is RTL; leave --part out, or replace single blocks")
        return add_policies(parts, machine.parts)

    @property
    def is_in_lock_step(self) -> bool:
        """Return whether no component ever sleeps."""
        return self.lock_step or self.waveform is not None

    @property
    def inputs(self) -> dict[str, Path | None]:
        """Files that no output may overwrite, by what they are called in a message."""
        return {
            **matrices(self.a, self.b),
            **{f"--verilog {source}": Path(source) for source in self.sources},
        }

    @property
    def model(self) -> Accelerator[Any]:
        """The accelerator, in lock-step if it is to be: in a kernel in which no component ever sleeps."""
        accelerator = find_cosim_machine(self.accelerator)
        if not self.is_in_lock_step:
            return accelerator
        model = accelerator.models[EVENT]
        if "kernel" not in inspect.signature(model).parameters:
            raise InputError(
                f"{accelerator.name} takes no kernel, which lock-step and waveforms with RTL need"
            )
        awake = partial(model, kernel=Kernel(sleep=False))
        return replace(accelerator, models={**accelerator.models, EVENT: awake})
