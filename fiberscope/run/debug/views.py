"""Views of a machine in one cycle for the debugger: components, channels and tokens as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.constants import FIRST_STALL
from fiberscope.sim.statistics import collect_statistics
from fiberscope.sim.trigger import state_names


@dataclass(frozen=True)
class ChannelView:
    """A channel at a port of a component.

    Args:
        port: the port, as in ``ways[3]``.
        direction: ``input`` or ``output``.
        peer: the component at the other end.
        occupancy, capacity: current and maximum number of tokens; capacity None means unbounded.
        pushes, pops: total numbers of tokens pushed and popped.
    """

    port: str
    direction: str
    peer: str
    occupancy: int
    capacity: int | None
    pushes: int
    pops: int


@dataclass(frozen=True)
class ComponentView:
    """A component in one cycle.

    Args:
        name, kind, clock: instance name, class and clock domain.
        cycle: the next cycle to execute, in cycles of the component's clock, as ``since``; 0 without a clock.
        state: the state of the cycle, as in ``wait:ways[2]``.
        since: the first cycle of the current state.
        peers: the components that the component waits for; empty if it is busy or idle.
        accounts: nonzero cycles so far by state.
        counters: events so far by name.
        signals: values by name; a state is given by its name.
        channels: the channels in the order of the ports.
    """

    name: str
    kind: str
    clock: str
    cycle: int
    state: str
    since: int
    peers: Sequence[str]
    accounts: Mapping[str, int]
    counters: Mapping[str, int]
    signals: Mapping[str, str]
    channels: Sequence[ChannelView]


@dataclass(frozen=True)
class QueueView:
    """The tokens in a channel, oldest first.

    Args:
        channel: the name of the channel.
        writer, reader: the ports at its ends.
        protocol: the protocol of its tokens.
        capacity: maximum number of tokens; None means unbounded.
        fields: the fields of a token.
        tokens: for each token, the cycle of the reader's clock at which it becomes visible, and its fields.
    """

    channel: str
    writer: str
    reader: str
    protocol: str
    capacity: int | None
    fields: Sequence[str]
    tokens: Sequence[tuple[int, Sequence[float]]]


def build_component_view(kernel: Kernel, component: Component, time: int) -> ComponentView:
    """Describe a component in one cycle.

    Args:
        kernel: the kernel of the machine.
        component: the component.
        time: the current base tick; all components have executed all earlier ticks.
    """
    clock = component.clock
    cycle = -(-time // clock.period) if clock else 0  # the first cycle that does not begin before ``time``
    wiring = kernel.wiring
    counts = collect_statistics(component, wiring, cycle)
    stalls = {f"wait:{port}": cycles for port, cycles in counts.input_stall.items()}
    stalls |= {f"full:{port}": cycles for port, cycles in counts.output_stall.items()}
    accounts = {"busy": counts.busy, "idle": counts.idle, **stalls}
    names = state_names(component, wiring)
    peers: Sequence[str] = ()
    # The states from FIRST_STALL on are the stalls of the component, in this order.
    if component.state >= FIRST_STALL:
        peers = wiring.peers(wiring.stalls(component)[component.state - FIRST_STALL])
    return ComponentView(
        component.name,
        type(component).__name__,
        clock.name if clock else "",
        cycle,
        names[component.state],
        component.since,
        peers,
        {name: cycles for name, cycles in accounts.items() if cycles},
        component.counters(),
        _read_signals(component),
        [
            ChannelView(
                stall.label,
                stall.direction,
                wiring.peers(stall)[0],
                channel.occupancy,
                channel.capacity if channel.bounded else None,
                channel.pushes,
                channel.pops,
            )
            for stall in wiring.links(component)
            for channel in stall.channels
        ],
    )


def _read_signals(component: Component) -> dict[str, str]:
    """Return the signals by name; a value without the name of a state is a number."""
    signals = component.signals()
    return {
        signal.name: signal.states[value] if 0 <= value < len(signal.states) else str(value)
        for signal, value in zip(signals, component.sample(), strict=True)
    }


def queue_view(kernel: Kernel, channel: Channel) -> QueueView:
    """Describe all tokens of a channel, including tokens that the reader cannot see yet.

    Args:
        kernel: the kernel of the machine.
        channel: the channel.
    """
    link = kernel.wiring.link(channel)
    words = list(channel.protocol.fields)
    # Position of each named field in a token; every token has these four fields.
    field_indices = [("control", "coordinate", "reference", "value").index(word) for word in words]
    return QueueView(
        channel.name,
        link.producer.name,
        link.consumer.name,
        channel.protocol.name,
        channel.capacity if channel.bounded else None,
        list(channel.protocol.fields.values()),
        [
            (channel.arrival(position), [channel.token(position)[word] for word in field_indices])
            for position in range(channel.occupancy)
        ],
    )
