"""Requests for a cosimulation: a run of an accelerator in which RTL modules replace components.

A *twin* is the RTL module of a component that moves the same tokens in the same cycles.
"""

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


def find_cosim_machine(name: str) -> Accelerator[Any]:
    """Return the accelerator with this name, or the format converter MINT.

    Raises:
        ConfigurationError: there is no such accelerator.
    """
    return MINT if name == MINT.name else find(name)  # MINT is no accelerator, so ``find`` lacks it


def verilog_files(name: str, blocks: Sequence[str]) -> tuple[str, ...]:
    """Return the Verilog files that a machine's specification names for parts, each once.

    Args:
        name: name of the machine.
        blocks: the parts to replace; files of other parts are left out.

    Raises:
        ConfigurationError: there is no such machine.
    """
    from fiberscope.models.from_spec.units import VerilogPart  # noqa: PLC0415  (rarely needed)

    parts = [part for part in find_cosim_machine(name).own.values() if isinstance(part, VerilogPart)]
    return tuple(dict.fromkeys(str(part.path) for part in parts if part.part in blocks))


@dataclass(frozen=True)
class CosimRequest:
    """A run of an accelerator in which RTL replaces some components, or the whole machine.

    Args:
        blocks: parts to replace, by their names in the RTL catalogue; ``all`` for every part that exists as
            RTL, ``machine`` alone for the whole machine as one module.
        accelerator: name of the accelerator, or ``mint``.
        a, b: the operands, as files or names; without ``b``, A is multiplied by itself.
        settings: parameters of the accelerator, ``key=value``.
        at: instance names of the components to replace, or ``all``; by default the first instance of each
            block.
        sources: Verilog files of the user, for one block; by default the Verilog of Fiberscope's own RTL of
            the blocks, their *twins*.
        module: module in these files; by default the block's name.
        cycle_limit: cycle at which the run ends incomplete; None for no limit.
        lock_step: whether the RTL runs in every cycle of the machine. Otherwise the RTL may sleep as a
            component does, and simulates the skipped cycles when it wakes.
        waveform: waveform of the run with RTL, which is then in lock-step.
        coverage: whether events at the ports of the RTL are counted.
        line_coverage: whether Verilator counts lines, branches and toggles of the RTL.
        part_texts: components of the user, in both runs, each as ``part=module:Class`` or
            ``part=file.py:Class``.
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
    line_coverage: bool = False
    part_texts: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> Mapping[str, PartFactory]:
        """Load the components of the user, by part.

        Raises:
            ConfigurationError: there is no such machine.
            InputError: the machine has no such part, or is a single module; or a component cannot be
                imported.
        """
        parts, machine = parse_parts(self.part_texts), find_cosim_machine(self.accelerator)
        check_part_names(machine, parts)
        if parts and "machine" in self.blocks:  # no component is left that a part could replace
            raise InputError("--part: all of the machine is RTL; leave --part out, or replace single blocks")
        return add_policies(parts, machine.parts)

    @property
    def is_in_lock_step(self) -> bool:
        """Return whether no component ever sleeps; a waveform implies lock-step."""
        return self.lock_step or self.waveform is not None

    @property
    def inputs(self) -> dict[str, Path | None]:
        """Return the files that no output may overwrite, by their names in messages: operands and Verilog."""
        return {
            **matrices(self.a, self.b),
            **{f"--verilog {source}": Path(source) for source in self.sources},
        }

    @property
    def model(self) -> Accelerator[Any]:
        """Return the accelerator; for lock-step, with a kernel in which no component sleeps.

        Raises:
            ConfigurationError: there is no such machine.
            InputError: lock-step is requested, and the accelerator's event model takes no kernel.
        """
        accelerator = find_cosim_machine(self.accelerator)
        if not self.is_in_lock_step:
            return accelerator
        model = accelerator.models[EVENT]
        # A model without this argument creates a kernel of its own, whose components may sleep.
        if "kernel" not in inspect.signature(model).parameters:
            raise InputError(
                f"{accelerator.name} takes no kernel, which lock-step and waveforms with RTL need"
            )
        awake = partial(model, kernel=Kernel(sleep=False))
        return replace(accelerator, models={**accelerator.models, EVENT: awake})
