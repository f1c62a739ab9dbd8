"""A machine's states over time as a trace for the Perfetto viewer (ui.perfetto.dev), in its protobuf format.

A track a component, within those of its scopes; its states are slices, the queues at its input ports counters
below it. A nanosecond of the viewer is a cycle of the first clock. The slices of a component on another clock
begin and end in the cycles in which they do, and have their own cycles as a note.

The messages are those of the ``perfetto`` package, which has the published schema. What a track's events have
in common is made once, and the rest put behind it: the parts of a message may follow one another in any order
(protobuf.dev/programming-guides/encoding, "Field Order" and "Last One Wins").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.base.progress import install_commands
from fiberscope.results.recording.document import ComponentStates, StateTimeline, slices_of

__all__ = ["require_perfetto", "trace_of"]

SEQUENCE = 1  # all packets are of one writer
PACKET = b"\x0a"  # Trace.packet: field 1, with its length
TIMESTAMP = b"\x40"  # TracePacket.timestamp: field 8, a varint
# What is noted of a slice.
WAITS_FOR = "waits for"
WITHIN = "somewhere within cycles"  # of the component's clock; what has no such note is where it was
CYCLES = "cycles"  # of a clock other than the first


def require_perfetto() -> None:
    """Refuse a trace where its library is missing.

    Raises:
        InputError: saying how to install it.
    """
    if find_spec("perfetto") is None:
        raise InputError(f"a trace for Perfetto needs its library: {install_commands('perfetto')}")


def trace_of(states: StateTimeline) -> bytes:
    """The trace as the bytes of its file.

    Raises:
        InputError: the library is missing.
    """
    require_perfetto()
    return b"".join(_Trace(states).packets())


class _Trace:
    """The packets of a trace: those that describe it, then what happened on one track after the other."""

    def __init__(self, states: StateTimeline) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - it takes 0.1 s

        self._messages: Any = perfetto_trace_pb2  # made when it is imported: no types to be read
        self._states = states
        self._base_ticks = next(iter(states.clocks.values())).base_ticks  # of a cycle of the first clock
        self._tracks: dict[str, int] = {}  # their numbers by path, that of a queue ending in its port
        components = states.components.values()
        self._names = _numbers(state for component in components for state in component.states)
        self._kinds = _numbers(state.partition(":")[0] for state in self._names)
        self._peers = _numbers(
            ", ".join(peers) for component in components for peers in component.waits_for.values()
        )
        self._notes = _numbers((WAITS_FOR, WITHIN, CYCLES))

    def packets(self) -> Iterator[bytes]:
        """Yield all packets of the trace."""
        yield self._vocabulary()
        for path, component in self._states.components.items():
            yield from self._scopes(path)
            for port, queue in component.queues.items():
                room = "no bound" if queue.capacity is None else f"of {queue.capacity}"
                yield self._track(f"{path}.{port}", f"{port} ({room})", path, counter={"unit_name": "tokens"})
        for path, component in self._states.components.items():
            yield from self._slices(path, component)
            for port, queue in component.queues.items():
                yield from self._counts(self._tracks[f"{path}.{port}"], queue.tokens)

    def _vocabulary(self) -> bytes:
        """The texts that events name by a number."""
        texts = {
            "event_names": _entries(self._names, "name"),
            "event_categories": _entries(self._kinds, "name"),
            "debug_annotation_names": _entries(self._notes, "name"),
            "debug_annotation_string_values": [
                {"iid": number, "str": text.encode()} for text, number in self._peers.items()
            ],
        }
        cleared = self._messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        return _framed(self._packet(interned_data=texts, sequence_flags=cleared))

    def _scopes(self, path: str) -> Iterator[bytes]:
        """The track of a component, and of those scopes around it that have none yet."""
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            scope = ".".join(parts[:depth])
            if scope not in self._tracks:
                yield self._track(scope, parts[depth - 1], ".".join(parts[: depth - 1]))

    def _track(self, path: str, name: str, within: str, **more: object) -> bytes:
        number = self._tracks[path] = len(self._tracks) + 1
        described = {"uuid": number, "name": name, "sibling_order_rank": number, **more}
        if within:
            described["parent_uuid"] = self._tracks[within]
        explicit = self._messages.TrackDescriptor.EXPLICIT
        return _framed(self._packet(track_descriptor={**described, "child_ordering": explicit}))

    def _slices(self, path: str, component: ComponentStates) -> Iterator[bytes]:
        track, first_clock = self._tracks[path], self._base_ticks
        ticks = self._states.clocks[component.clock].base_ticks
        first = -(-self._states.start * first_clock // ticks)
        begins = cache(lambda state, within, cycles: self._begin(track, component, state, within, cycles))
        end = self._event(track, "TYPE_SLICE_END")
        for each in slices_of(component):
            cycles = 0 if ticks == first_clock else each.end - each.begin
            event = begins(each.state, each.interval, cycles)
            yield _at((first + each.begin) * ticks // first_clock, event)
            yield _at((first + each.end) * ticks // first_clock, end)

    def _begin(self, track: int, component: ComponentStates, state: str, within: int, cycles: int) -> bytes:
        notes = [
            {"name_iid": self._notes[name], "uint_value": number}
            for name, number in ((WITHIN, within), (CYCLES, cycles))
            if number
        ]
        if state in component.waits_for:
            peers = self._peers[", ".join(component.waits_for[state])]
            notes.append({"name_iid": self._notes[WAITS_FOR], "string_value_iid": peers})
        return self._event(
            track,
            "TYPE_SLICE_BEGIN",
            name_iid=self._names[state],
            category_iids=[self._kinds[state.partition(":")[0]]],
            debug_annotations=notes,
        )

    def _counts(self, track: int, tokens: Iterable[int]) -> Iterator[bytes]:
        """Yield the fill of a queue at the end of each interval in which it changes."""
        counts = cache(lambda count: self._event(track, "TYPE_COUNTER", counter_value=count))
        last = -1
        for number, count in enumerate(tokens, start=1):
            if count != last:
                cycle = min(self._states.start + number * self._states.interval, self._states.end)
                yield _at(cycle, counts(count))
                last = count

    def _event(self, track: int, kind: str, **more: object) -> bytes:
        number = getattr(self._messages.TrackEvent, kind)
        needed = self._messages.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return self._packet(track_event={"type": number, "track_uuid": track, **more}, sequence_flags=needed)

    def _packet(self, **fields: object) -> bytes:
        packet = self._messages.TracePacket(trusted_packet_sequence_id=SEQUENCE, **fields)
        return bytes(packet.SerializeToString())


def _numbers(texts: Iterable[str]) -> dict[str, int]:
    """A number from 1 on for each text."""
    return {text: number for number, text in enumerate(dict.fromkeys(texts), start=1)}


def _entries(numbers: dict[str, int], name: str) -> list[dict[str, object]]:
    return [{"iid": number, name: text} for text, number in numbers.items()]


def _at(time: int, event: bytes) -> bytes:
    return _framed(event + TIMESTAMP + _varint(time))


def _framed(packet: bytes) -> bytes:
    return PACKET + _varint(len(packet)) + packet


def _varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first; all but the last have the eighth bit set."""
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
