"""The processing element of Gamma: its units and the channels between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fiberscope.accelerators.composition import User
from fiberscope.accelerators.gamma.layout import B_BASE, COMPLETION, PARTIAL_BASE
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.pages import PAGE, PAGE_REQUEST
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.fibers.sum_lookahead import SumLookahead
from fiberscope.hw.fibers.tasks import TASK
from fiberscope.hw.memory.protocol import REPLY, REQUEST
from fiberscope.hw.value_type import DOUBLE
from fiberscope.sim import Component, Input, Kernel, Output
from fiberscope.sim.assembly import Assembly, end
from fiberscope.sim.lookahead import LookaheadKernel

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.configuration import ProcessingElements
    from fiberscope.accelerators.gamma.element_rtl import ElementParameters
    from fiberscope.accelerators.gamma.machine import Gamma

PIPELINE = ("prefetcher", "reader", "merger", "multiplier", "accumulator", "writer")
UNITS = ("prefetcher", "reader", "writer")  # with a port at the FiberCache's network


class Wire(NamedTuple):
    """A channel between two units of a processing element.

    Args:
        producer, output: name of the unit that writes the channel, and its port.
        consumer, port: name of the unit that reads the channel, and its port.
        capacity: tokens that the channel holds, tokens in flight included.
        latency: cycles from a push until the consumer sees the token.
    """

    producer: str
    output: str
    consumer: str
    port: str
    capacity: int
    latency: int = 1


def wires(pe: ProcessingElements | ElementParameters, line_elements: int) -> Iterator[Wire]:
    """Yield the channels between the units.

    The channels after the merger, multiplier and accumulator model the pipelines of these units: the capacity
    is the latency plus the entries of a queue. The other channels have a latency of 1.

    Args:
        pe: parameters with the sizes of the queues and the latencies.
        line_elements: largest number of elements that a line touches.
    """
    yield Wire("prefetcher", "prefetched", "reader", "tasks", pe.task_queue)
    yield Wire("reader", "merge_tasks", "merger", "tasks", pe.merge_queue)
    yield Wire("reader", "output_tasks", "writer", "output_tasks", pe.output_queue)
    way_capacity = pe.buffer_lines * (line_elements + 1)  # 1 more for the stop after the elements
    for i in range(pe.radix):
        yield Wire("reader", f"ways[{i}]", "merger", f"ways[{i}]", way_capacity)
    for producer, output, consumer, port, latency in (
        ("merger", "merged", "multiplier", "operands", pe.merger_latency),
        ("multiplier", "products", "accumulator", "products", pe.multiplier_latency),
        ("accumulator", "sums", "writer", "elements", pe.accumulator_latency),
    ):
        yield Wire(producer, output, consumer, port, latency + pe.pipeline_queue, latency)


class ProcessingElement(Assembly):
    """One processing element: prefetcher, fiber buffers, merger, multiplier, accumulator and writer.

    ``requests[i]`` and ``replies[i]`` belong to unit i of ``UNITS``.

    Args:
        machine: machine that the processing element belongs to.
        number: index of the processing element, from 0.
    """

    PORTS = (
        Input("tasks", TASK),
        Output("requests", REQUEST, array=True),
        Input("replies", REPLY, array=True),
        Output("completions", COMPLETION),
        Output("page_requests", PAGE_REQUEST),
        Input("pages", PAGE),
    )

    def __init__(self, name: str, machine: Gamma, number: int) -> None:
        super().__init__(name)
        self.machine = machine
        self._create_units(len(UNITS) * number)

    def _create_units(self, port: int) -> None:
        """Create the units; ``port`` is the first unit's port at the FiberCache's network."""
        machine, name = self.machine, self.name
        table, b, partials, parts = machine.table, machine.b, machine.partials, machine.parts
        pe, scheduler, sizes = machine.parameters.pe, machine.parameters.scheduler, machine.parameters.sizes
        self.prefetcher = parts["prefetcher"](
            f"{name}.prefetcher",
            table,
            machine.a,
            b,
            port,
            sizes=sizes,
            b_sizes=machine.b_sizes,
            pointer_lines=pe.row_reads,
            fetching=pe.prefetch,
        )
        # Ports follow the order of ``UNITS``, by which ``users`` connects the units to the network.
        self.reader = FiberReader(
            f"{name}.reader",
            table,
            b,
            partials,
            port + 1,
            base=B_BASE,
            partial_base=PARTIAL_BASE,
            buffer_lines=pe.buffer_lines,
            line_bytes=sizes.line_bytes,
            element_bytes=machine.b_sizes.element_bytes,
        )
        self.merger = parts["merger"](f"{name}.merger", pe.radix, pe.merger_stages)
        typed = {"values": machine.value_type.name} if machine.value_type is not DOUBLE else {}
        self.multiplier = parts["multiplier"](f"{name}.multiplier", machine.a.values, **typed)
        self.accumulator = parts["accumulator"](f"{name}.accumulator", **typed)
        self.writer = FiberWriter(
            f"{name}.writer",
            table,
            partials,
            machine.product,
            port + 2,
            sizes=sizes,
            page_bytes=scheduler.output_page,
            max_open_tasks=pe.finishing,
            keeps_z_in_cache=scheduler.output == "cache",
        )

    def put(self, kernel: Kernel) -> None:
        """Add the units to a kernel and connect them."""
        for unit in PIPELINE:
            kernel.add(getattr(self, unit))
        sizes = self.machine.parameters.sizes
        smallest = min(sizes.element_bytes, self.machine.b_sizes.element_bytes)
        # Partial fibers and B can differ in element size.
        # An element may lie in two lines, so that a line touches up to one element more than fit.
        for wire in wires(self.machine.parameters.pe, sizes.line_bytes // smallest + 1):
            producer, consumer = getattr(self, wire.producer), getattr(self, wire.consumer)
            channel = {"capacity": wire.capacity, "latency": wire.latency}
            kernel.connect(producer, wire.output, consumer, wire.port, **channel)
        self._add_lookahead(kernel)

    def _add_lookahead(self, kernel: Kernel) -> None:
        """Add a lookahead for the pipeline from the ways to the sums, unless a unit of it was replaced."""
        merger, multiplier, accumulator = self.merger, self.multiplier, self.accumulator
        if (
            # Not ``isinstance``: a subclass of the user may have another timing.
            type(merger) is HighRadixMerger
            and type(multiplier) is Multiplier
            and type(accumulator) is Accumulator
            and isinstance(kernel, LookaheadKernel)
        ):
            fibers = (self.machine.b, self.machine.partials, self.reader)
            self.reader.lookahead = SumLookahead(*fibers, merger, multiplier, accumulator, self.writer)
            kernel.add_lookahead(self.reader.lookahead)

    def end(self, port: str) -> tuple[Component, str]:
        """Return the unit behind a port of the processing element, and the unit's port."""
        name, _, index = port.rstrip("]").partition("[")
        if index:
            return getattr(self, UNITS[int(index)]), name
        # Completions and both ports of pages belong to the writer.
        return self.prefetcher if name == "tasks" else self.writer, name


def users(element: Component) -> Iterator[User]:
    """Yield the units at the FiberCache's network with their ports, in the order of ``UNITS``."""
    for i in range(len(UNITS)):
        (unit, requests), (_unit, replies) = end(element, f"requests[{i}]"), end(element, f"replies[{i}]")
        yield unit, requests, replies
