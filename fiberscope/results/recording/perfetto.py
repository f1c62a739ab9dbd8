"""Perfetto traces of a machine's states over time (ui.perfetto.dev), in protobuf format.

Each component has a track, nested in the tracks of its scopes. States are slices; the fills of the queues at
input ports are counters. One nanosecond of the viewer is one cycle of the first clock. Slices of a component
on a clock with another period have their number of cycles of that clock as an annotation.

Messages come from the ``perfetto`` package with the published schema. The common part of a track's events is
serialized once and the varying part is appended, because fields of a message may come in any order
(protobuf.dev/programming-guides/encoding, "Field Order" and "Last One Wins").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.base.progress import install_commands
from fiberscope.results.recording.document import ComponentStates, StateTimeline, iterate_slices

SEQUENCE = 1  # all packets have the same writer
PACKET = b"\x0a"  # Trace.packet: field 1, with its length
TIMESTAMP = b"\x40"  # TracePacket.timestamp: field 8, a varint
# Annotations of a slice.
WAITS_FOR = "waits for"
WITHIN = "somewhere within cycles"  # present if the exact position is unknown
CYCLES = "cycles"  # only on clocks with another period than the first


def require_perfetto() -> None:
    """Check that the perfetto library is installed.

    Raises:
        InputError: the library is missing; the message has the command that installs it.
    """
    if find_spec("perfetto") is None:
        raise InputError(f"a trace for Perfetto needs its library: {install_commands('perfetto')}")


def trace_of(states: StateTimeline) -> bytes:
    """Return a trace as the bytes of a file.

    Raises:
        InputError: the library is missing.
    """
    require_perfetto()
    return b"".join(_Trace(states).iterate_packets())


class _Trace:
    """The packets of a trace: first descriptions, then the events of each track."""

    def __init__(self, states: StateTimeline) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: PLC0415 - it takes 0.1 s

        self._messages: Any = perfetto_trace_pb2  # generated at import, without types
        self._states = states
        self._base_ticks = next(iter(states.clocks.values())).base_ticks  # period of the first clock
        self._tracks: dict[str, int] = {}  # track numbers by path; a queue's path ends in its port
        components = states.components.values()
        self._names = _number_texts(state for component in components for state in component.states)
        self._kinds = _number_texts(state.partition(":")[0] for state in self._names)
        self._peers = _number_texts(
            ", ".join(peers) for component in components for peers in component.waits_for.values()
        )
        self._annotations = _number_texts((WAITS_FOR, WITHIN, CYCLES))

    def iterate_packets(self) -> Iterator[bytes]:
        """Yield all packets of the trace."""
        yield self._build_interned_texts()
        for path, component in self._states.components.items():
            yield from self._iterate_scope_tracks(path)
            for port, queue in component.queues.items():
                capacity = "no bound" if queue.capacity is None else f"of {queue.capacity}"
                yield self._track(
                    f"{path}.{port}", f"{port} ({capacity})", path, counter={"unit_name": "tokens"}
                )
        for path, component in self._states.components.items():
            yield from self._iterate_slices(path, component)
            for port, queue in component.queues.items():
                yield from self._iterate_counter_events(self._tracks[f"{path}.{port}"], queue.tokens)

    def _build_interned_texts(self) -> bytes:
        """Return the packet of the texts that events refer to by number."""
        texts = {
            "event_names": _encode_entries(self._names, "name"),
            "event_categories": _encode_entries(self._kinds, "name"),
            "debug_annotation_names": _encode_entries(self._annotations, "name"),
            "debug_annotation_string_values": [
                {"iid": number, "str": text.encode()} for text, number in self._peers.items()
            ],
        }
        # the first packet of the writer: numbers of texts begin here
        cleared = self._messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        return _encode_frame_packet(self._build_packet(interned_data=texts, sequence_flags=cleared))

    def _iterate_scope_tracks(self, path: str) -> Iterator[bytes]:
        """Yield the track of a component, and the missing tracks of its scopes."""
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            scope = ".".join(parts[:depth])
            if scope not in self._tracks:
                yield self._track(scope, parts[depth - 1], ".".join(parts[: depth - 1]))

    def _track(self, path: str, name: str, parent: str, **fields: object) -> bytes:
        """Return the description of a new track; an empty ``parent`` makes it a track at the top."""
        number = self._tracks[path] = len(self._tracks) + 1
        description = {"uuid": number, "name": name, "sibling_order_rank": number, **fields}
        if parent:
            description["parent_uuid"] = self._tracks[parent]
        explicit = self._messages.TrackDescriptor.EXPLICIT
        return _encode_frame_packet(
            self._build_packet(track_descriptor={**description, "child_ordering": explicit})
        )

    def _iterate_slices(self, path: str, component: ComponentStates) -> Iterator[bytes]:
        track, first_clock = self._tracks[path], self._base_ticks
        ticks = self._states.clocks[component.clock].base_ticks
        # the first cycle of the component's clock that does not begin before the window
        first_cycle = -(-self._states.start * first_clock // ticks)
        # Equal events of a track are serialized once; only their timestamps differ.
        begin_event = cache(
            lambda state, within, cycles: self._begin_event(track, component, state, within, cycles)
        )
        end = self._build_event(track, "TYPE_SLICE_END")
        for slice_ in iterate_slices(component):
            cycles = 0 if ticks == first_clock else slice_.end - slice_.begin
            event = begin_event(slice_.state, slice_.interval, cycles)
            yield _encode_frame_event((first_cycle + slice_.begin) * ticks // first_clock, event)
            yield _encode_frame_event((first_cycle + slice_.end) * ticks // first_clock, end)

    def _begin_event(
        self, track: int, component: ComponentStates, state: str, uncertainty: int, cycles: int
    ) -> bytes:
        annotations = [
            {"name_iid": self._annotations[name], "uint_value": number}
            for name, number in ((WITHIN, uncertainty), (CYCLES, cycles))
            if number
        ]
        if state in component.waits_for:
            peers = self._peers[", ".join(component.waits_for[state])]
            annotations.append({"name_iid": self._annotations[WAITS_FOR], "string_value_iid": peers})
        return self._build_event(
            track,
            "TYPE_SLICE_BEGIN",
            name_iid=self._names[state],
            category_iids=[self._kinds[state.partition(":")[0]]],
            debug_annotations=annotations,
        )

    def _iterate_counter_events(self, track: int, tokens: Iterable[int]) -> Iterator[bytes]:
        """Yield the fill of a queue at the end of each interval in which it changed."""
        counts = cache(lambda count: self._build_event(track, "TYPE_COUNTER", counter_value=count))
        last = -1  # no count, so that the first interval always has an event
        for number, count in enumerate(tokens, start=1):
            if count != last:
                cycle = min(self._states.start + number * self._states.interval, self._states.end)
                yield _encode_frame_event(cycle, counts(count))
                last = count

    def _build_event(self, track: int, kind: str, **fields: object) -> bytes:
        """Return an event without its timestamp, which ``_encode_frame_event`` appends."""
        number = getattr(self._messages.TrackEvent, kind)
        flags = self._messages.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return self._build_packet(
            track_event={"type": number, "track_uuid": track, **fields}, sequence_flags=flags
        )

    def _build_packet(self, **fields: object) -> bytes:
        packet = self._messages.TracePacket(trusted_packet_sequence_id=SEQUENCE, **fields)
        return bytes(packet.SerializeToString())


def _number_texts(texts: Iterable[str]) -> dict[str, int]:
    """Number distinct texts from 1, because 0 is the value of a field that is not set."""
    return {text: number for number, text in enumerate(dict.fromkeys(texts), start=1)}


def _encode_entries(numbers: dict[str, int], name: str) -> list[dict[str, object]]:
    return [{"iid": number, name: text} for text, number in numbers.items()]


def _encode_frame_event(time: int, event: bytes) -> bytes:
    return _encode_frame_packet(event + TIMESTAMP + _encode_varint(time))


def _encode_frame_packet(packet: bytes) -> bytes:
    return PACKET + _encode_varint(len(packet)) + packet


def _encode_varint(number: int) -> bytes:
    """Encode a number in groups of seven bits, the lowest first; the eighth bit marks all but the last."""
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
