"""The memory of a machine: its parameters, its channels, and their statistics in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from fiberscope.accelerators.configuration import Bytes, BytesPerSecond, Configuration, Picoseconds
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.hw.dram import (
    ADDRESS_MAPS,
    DramChannel,
    DramSpecification,
    SimpleMemory,
    SimpleSpecification,
    standards,
)
from fiberscope.hw.dram import standard as standard_row

# Limits of a memory clock in Hz: every real device is within them, and times remain whole numbers.
SLOWEST, FASTEST = (10**6, 10**11)
MemoryChannel: TypeAlias = DramChannel | SimpleMemory


class ChannelParameters(Configuration):
    """Parameters of a memory channel.

    - ``model``: ``dram`` (banks, rows and a controller, cycle by cycle) or ``simple`` (a latency and a peak
      bandwidth);
    - ``bandwidth``: bytes per second of one channel;
    - ``width``: bits of the data bus of a channel, a power of two;
    - ``standard``, ``address_map``: names in the tables of ``fiberscope.hw.dram``;
    - ``scheduler``, ``page_policy``, ``refresh``: rules of the DRAM controller, see ``DramSpecification``;
    - ``read_queue``, ``write_queue``: capacities of the queues of the controller, in bursts;
    - ``write_low``, ``write_high``: fractions of the write queue below which reads have priority, and above
      which writes have priority;
    - ``interleave``: consecutive bytes in one channel;
    - ``requests_per_cycle``: largest number of requests that a DRAM channel accepts per memory cycle;
    - ``simple_latency``, ``simple_queue``: latency and queue of the simple model.
    """

    model: Literal["dram", "simple"]
    bandwidth: BytesPerSecond = Field(ge=1)
    width: int = Field(ge=8, le=1024)
    standard: str
    address_map: str
    scheduler: Literal["frfcfs", "row_hit_first", "fcfs"]
    page_policy: Literal["open", "closed"] = "open"
    refresh: Literal["all_bank", "per_bank", "per_bank_lookahead", "off"]
    read_queue: int = Field(ge=1, le=4096)
    write_queue: int = Field(ge=1, le=4096)
    interleave: Bytes = Field(ge=1)
    write_low: float = Field(ge=0, le=1)
    write_high: float = Field(ge=0, le=1)
    requests_per_cycle: int = Field(ge=1, le=1024)
    simple_latency: Picoseconds = Field(ge=1)
    simple_queue: int = Field(ge=1, le=1 << 16)

    @model_validator(mode="after")
    def _check_standard(self) -> Self:
        """Check the names, the width, and the memory clock that follows from bandwidth and width."""
        for key, value, choices in (
            ("standard", self.standard, standards()),
            ("address_map", self.address_map, ADDRESS_MAPS),
        ):
            if value not in choices:
                raise ValueError(f"memory.{key} is {value}; it should be one of {', '.join(choices)}")
        if self.width & (self.width - 1):
            raise ValueError(f"memory.width is {self.width} bits; it should be a power of two")
        if not SLOWEST <= self.hertz <= FASTEST:
            clock = f"a clock of {float(self.hertz):g} Hz at {self.width} bits"
            raise ValueError(
                f"memory.bandwidth is {self.bandwidth} bytes a second, {clock}; "
                f"{float(SLOWEST):g} to {float(FASTEST):g} Hz would do"
            )
        return self

    @property
    def hertz(self) -> Fraction:
        """Return the memory clock at which a channel reaches its bandwidth with two transfers per cycle.

        The clock is exact, and need not be a whole number of hertz.
        """
        return Fraction(self.bandwidth * 8, 2 * self.width)

    @property
    def burst_bytes(self) -> int:
        """Return the bytes of one burst of the standard at this width."""
        return standard_row(self.standard).with_width(self.width).organisation.burst_bytes


class MemoryParameters(ChannelParameters):
    """Parameters of the memory of a machine; ``channels`` is its number of channels."""

    channels: int = Field(ge=1, le=1024)

    @property
    def peak_bytes_per_second(self) -> int:
        """Return the bandwidth of all channels together."""
        return self.channels * self.bandwidth

    def check(self, request_bytes: int) -> None:
        """Check that a channel for requests of this size can be built from these parameters.

        Args:
            request_bytes: bytes of one request, the machine's line.

        Raises:
            ValueError: if no channel can be built; the message names the parameter.
        """
        # A line must not lie in two channels
        if self.interleave % request_bytes:
            raise ValueError(
                f"memory.interleave is {self.interleave} bytes; it should be a multiple of a "
                f"{request_bytes}-byte line"
            )
        if self.model == "dram":  # the simple model serves requests of any size
            try:
                self.dram(request_bytes)
            except ValueError as error:
                raise ValueError(f"memory.{str(error).removeprefix('DramSpecification: ')}") from error

    def channel(self, name: str, request_bytes: int) -> MemoryChannel:
        """Return a new channel, which must be added to a clock domain of ``hertz``.

        Args:
            name: instance name.
            request_bytes: bytes of one request; call ``check`` with this size first.
        """
        if self.model == "simple":
            return SimpleMemory(name, self.simple(request_bytes))
        return DramChannel(name, self.dram(request_bytes))

    def dram(self, request_bytes: int) -> DramSpecification:
        """Return the specification of a DRAM channel, which is one pseudo-channel of the standard.

        Raises:
            ValueError: if no such channel serves requests of this size; ``check`` names the parameter.
        """
        return _dram(self, request_bytes)

    def simple(self, request_bytes: int) -> SimpleSpecification:
        """Return the specification of a channel of the simple model.

        Args:
            request_bytes: bytes of one request; call ``check`` with this size first.
        """
        return SimpleSpecification(
            bytes_per_second=self.bandwidth,
            clock_hertz=self.hertz,
            latency=SimpleSpecification.cycles(Fraction(self.simple_latency, 1000), self.hertz),  # ps to ns
            request_bytes=request_bytes,
            queue=self.simple_queue,
            burst_bytes=min(request_bytes, self.burst_bytes),
        )


@lru_cache(maxsize=64)
def _dram(memory: MemoryParameters, request_bytes: int) -> DramSpecification:
    """Return the specification that all channels with these parameters share; it has one pseudo-channel."""
    row = standard_row(memory.standard)
    single = row.organisation.model_copy(update={"pseudo_channels": 1})
    return DramSpecification(
        standard=row.model_copy(update={"organisation": single}),
        hertz=memory.hertz,
        width=memory.width,
        address_map=memory.address_map,
        scheduler=memory.scheduler,
        page_policy=memory.page_policy,
        refresh=memory.refresh,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
        write_low=memory.write_low,
        write_high=memory.write_high,
        request_bytes=request_bytes,
        requests_per_cycle=memory.requests_per_cycle,
        channels=memory.channels,
        interleave_bytes=memory.interleave,
    )


@contextmanager
def observe_requests(
    channels: Sequence[MemoryChannel], observer: Callable[[int, int, int, int], None]
) -> Iterator[None]:
    """Call a function for each request that the channels accept, while the context is active.

    Observers that the channels already have are called first. At the end, each channel has the observer of
    before again; contexts for the same channels must therefore end in reverse order.

    Args:
        channels: memory channels to observe.
        observer: function that is called with memory cycle, operation, byte address and tag of each request.
    """
    previous = [channel.on_request for channel in channels]
    for channel, first_observer in zip(channels, previous, strict=True):
        channel.on_request = _both(first_observer, observer) if first_observer else observer
    try:
        yield
    finally:
        for channel, first_observer in zip(channels, previous, strict=True):
            channel.on_request = first_observer


def _both(
    first_observer: Callable[[int, int, int, int], None], last_observer: Callable[[int, int, int, int], None]
) -> Callable[[int, int, int, int], None]:
    def note_both(now: int, operation: int, address: int, tag: int) -> None:
        first_observer(now, operation, address, tag)
        last_observer(now, operation, address, tag)

    return note_both


def traffic(
    channels: Sequence[MemoryChannel],
    tensors: Mapping[str, Sequence[int]],
    useful: Mapping[str, tuple[int, int]],
) -> dict[str, Traffic]:
    """Return the bytes read and written by tensor.

    Args:
        channels: the memory.
        tensors: tensor numbers of each name.
        useful: useful bytes read and written by name; without an entry, they are None in the result.
    """
    return {
        name: Traffic(
            sum(channel.read_bytes(number) for number in numbers for channel in channels),
            sum(channel.write_bytes(number) for number in numbers for channel in channels),
            *useful.get(name, ()),
        )
        for name, numbers in tensors.items()
    }


def memory_use(channels: Sequence[MemoryChannel], parameters: MemoryParameters) -> MemoryUse:
    """Return row hits, misses and conflicts (0 in the simple model) and peak bandwidth of all channels.

    The further ``counters`` of the result stay empty.

    Args:
        channels: the channels after, or during, a run.
        parameters: parameters of the memory, for the peak bandwidth.
    """
    counts = [channel.counters() for channel in channels]
    hits, misses, conflicts = (
        sum(count.get(name, 0) for count in counts) for name in ("row_hits", "row_misses", "row_conflicts")
    )
    return MemoryUse(hits, misses, conflicts, parameters.peak_bytes_per_second)
