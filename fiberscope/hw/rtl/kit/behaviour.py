"""Python models of foreign Verilog modules, for simulations in PyRTL.

A *foreign* module is Verilog that no design in PyRTL describes. A PyRTL block leaves a *seat* for such a
module: the outputs of the module are inputs of the block, which a Python model drives in each cycle, and its
inputs are outputs of the block, which the model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyrtl

from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.twin import Signal, Streams, Twin
from fiberscope.sim.errors import SimulationError


class Behaviour(Protocol):
    """Behaviour of a module, which the simulation calls twice in each cycle: ``outputs``, then ``clock``.

    The outputs of a cycle are needed before its inputs are known. They therefore depend only on the state
    after the cycle before, as if all outputs came from registers.
    """

    def outputs(self) -> Mapping[str, int]:
        """Return the bits of every output in the next cycle."""

    def clock(self, wires: Mapping[str, int]) -> None:
        """Run the cycle, which changes the state.

        Args:
            wires: the bits of all inputs and outputs in this cycle, by name.
        """


class _Driven(pyrtl.Input):  # type: ignore[misc]  # PyRTL has no types
    """An output that a model drives; an input of the surrounding PyRTL block."""

    seat: _Seat


@dataclass(eq=False)
class _Seat:
    """The seat of a model in a PyRTL block.

    Args:
        module: name of the module.
        model: creates the model, in its state after reset.
        driven: wires of the block that the model drives, by the names of the module's outputs.
        seen: wires of the block that the model reads, by the names of the module's inputs.
    """

    module: str
    model: Callable[[], Behaviour]
    driven: dict[str, Signal]
    seen: dict[str, Signal]


def leave_seat(interface: Interface, model: Callable[[], Behaviour], streams: Streams) -> None:
    """Leave a seat for a model in the current PyRTL block, in place of a module's logic.

    Args:
        interface: ports of the module.
        model: creates the model, in its state after reset.
        streams: the streams around the module.
    """
    seat = _Seat(interface.module, model, {}, {})
    for wire in interface.wires():
        port = streams.ports.get(wire.name)
        if port is None:
            continue  # clock and reset
        if wire.direction == "output":
            driven = _Driven(wire.width, f"{wire.name}_by_model")
            driven.seat = seat
            seat.driven[wire.name] = driven
            port <<= driven
        else:
            seen = pyrtl.Output(wire.width, f"{wire.name}_at_model")
            seat.seen[wire.name] = seen
            seen <<= port


class Models:
    """The models in the seats of a twin.

    In each cycle, call ``driven_bits``, simulate the logic, then call ``clocked``.

    Attributes:
        count: number of models.
        seen: names of the wires of the PyRTL block that the models read.

    Raises:
        SimulationError: in the run, if a model omits an output, or its value does not fit the wire.
    """

    def __init__(self, twin: Twin) -> None:
        seats = {driven.seat: None for driven in sorted(_driven(twin), key=lambda driven: str(driven.name))}
        self._seated = [(seat, seat.model()) for seat in seats]
        self._outputs: list[Mapping[str, int]] = []
        self.count = len(self._seated)
        self.seen = [str(wire.name) for seat, _model in self._seated for wire in seat.seen.values()]

    def driven_bits(self) -> dict[str, int]:
        """Return the bits that models drive in the next cycle, by wire of the surrounding block."""
        self._outputs = [model.outputs() for _seat, model in self._seated]
        return {
            driven.name: _checked(seat, name, len(driven), outputs)
            for (seat, _model), outputs in zip(self._seated, self._outputs, strict=True)
            for name, driven in seat.driven.items()
        }

    def clocked(self, seen: Mapping[str, int]) -> None:
        """Run the cycle in all models.

        Args:
            seen: the bits of the wires in ``self.seen``, by name.
        """
        for (seat, model), outputs in zip(self._seated, self._outputs, strict=True):
            model.clock({**outputs, **{name: seen[wire.name] for name, wire in seat.seen.items()}})


def _driven(twin: Twin) -> set[_Driven]:
    drivers: set[_Driven] = twin.block.wirevector_subset(_Driven)
    return drivers


def _checked(seat: _Seat, name: str, width: int, outputs: Mapping[str, int]) -> int:
    """Return the bits of an output, checked to exist and to fit."""
    if name not in outputs:
        raise SimulationError(f"the model of {seat.module} does not say what {name} is")
    if not 0 <= outputs[name] < 1 << width:
        raise SimulationError(f"the model of {seat.module}: {name} is {outputs[name]}, of {width} bits")
    return outputs[name]
