"""Blocks with registered outputs, as AXI4-Stream requires.

With channels at its inputs too, the module behaves in every cycle as the component between channels does. A
test bench for the module then also runs on the component (``fiberscope.hw.rtl.kit.model``).
"""

from __future__ import annotations

from dataclasses import replace

from fiberscope.hw.rtl.kit import channel
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.channel import PendingAdapter, carrying
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.wrapper import ComposedBlock, Composition, Link, Part, composed

BEHIND = "behind_"  # prefix of the instance names of output channels
CAPACITY = 2  # of a channel at a port: a token in and one out in every cycle


def registered(block: RtlBlock, capacity: int = CAPACITY, *, inputs: bool = False) -> ComposedBlock:
    """Return the block with a channel after each output, as ``Kernel.connect`` puts one after a component.

    A sent token stays ``valid`` until it is taken, ``valid`` never waits for ``ready``, and no ``ready``
    depends on another ``ready``. A sink may wait for ``valid``, and such modules may be wired to each other.
    Tokens that the block sends together may be taken one by one. The only status output is ``pending``.

    Args:
        capacity: tokens in each channel, at least 2.
        inputs: whether each input has a channel too.

    The module matches, in every cycle, the component between channels of this capacity and of latency 1.
    """
    kept = {name: getattr(block.adapter, name) for name in ("PORTS", "FIBERS_OF", "HAS_DONE")}
    adapter = type("Registered", (PendingAdapter,), kept)
    whole = composed(
        block.name,
        f"{block.summary}; outputs registered",
        block.parameters,
        lambda parameters: _composition(block, parameters, capacity, inputs),
        adapter,
    )
    return replace(whole, has_registered_outputs=True)


def _composition(block: RtlBlock, parameters: Parameters, capacity: int, inputs: bool) -> Composition:
    """Return the block with a channel after each output, and before each input if ``inputs``."""
    parts = {"block": Part(block, parameters)}
    interface = parts["block"].interface
    links: list[Link] = []
    exports: dict[str, str] = {}
    for stream in interface.streams:
        if stream.direction == "input" and inputs:
            name = f"before_{stream.prefix}"
            parts[name] = Part(channel.OF_STREAM, carrying(stream, capacity))
            links.append(Link(f"{name}.out", f"block.{stream.label}", capacity=0))
            exports[stream.label] = f"{name}.in"
        elif stream.direction == "input":
            exports[stream.label] = f"block.{stream.label}"
        elif not stream.lane:
            lanes = _lanes(interface, stream)
            name = f"{BEHIND}{stream.prefix}"
            parts[name] = Part(channel.OF_STREAM, carrying(stream, capacity, lanes=len(lanes)))
            sources = [end for end in parts[name].interface.streams if end.direction == "input"]
            links += [
                Link(f"block.{lane.label}", f"{name}.{source.label}", capacity=0)
                for lane, source in zip(lanes, sources, strict=True)
            ]
            exports[stream.label] = f"{name}.out"
    return Composition(interface.module, parts, tuple(links), exports)


def _lanes(interface: Interface, first: Stream) -> list[Stream]:
    """Return the streams of a port, the first lane first."""
    return [stream for stream in interface.streams if stream.port == first.port]
