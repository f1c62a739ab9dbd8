"""Claims of blocks of the stream machine that look up, compute, count and drop tokens.

Each ``add_...`` function adds the claims of one block with these parameters to ``properties``.
"""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, index_bits
from fiberscope.hw.streams.dense_rtl import DenseScannerParameters
from fiberscope.hw.streams.locator_rtl import LocatorParameters
from fiberscope.hw.streams.repeater_rtl import RepeatSignalGeneratorParameters
from fiberscope.hw.streams.stop_dropper_rtl import StopDropperParameters
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS
from fiberscope.hw.streams.values_rtl import AluParameters, ArrayParameters, ScalarReducerParameters
from fiberscope.hw.streams.writers_rtl import ValuesWriterParameters
from fiberscope.rtl.formal.properties import End, Properties, all_of, implies


def _kind(end: End) -> Signal:
    """Return the kind of a token: ``DATA``, ``EMPTY``, ``STOP`` or ``DONE``."""
    return end.fields["control"]


def _level(end: End) -> Signal:
    """Return the level of a stop."""
    return end.fields["level" if "level" in end.fields else "payload"][:LEVEL_BITS]


def _value(end: End, bits: int) -> Signal:
    """Return the value of an operand; zero for an empty operand."""
    wide = end.fields["value"].sign_extended(bits)
    return pyrtl.select(_kind(end) == EMPTY, pyrtl.Const(0, bits), wide)


def add_alu(parameters: AluParameters, properties: Properties) -> None:
    """Claim that both operands are taken together, and that integer results are right.

    An empty operand counts as 0. Results of an operation that is not in ``results`` are not checked.
    """
    left, right, sink = (properties.end(name) for name in ("in_val_0", "in_val_1", "out_val_0"))
    could = left.valid & right.valid & sink.ready
    together = (left.moves == could) & (right.moves == could) & (sink.moves == could)
    properties.claim("together", together)
    bits = parameters.result_bits
    a, b = _value(left, bits), _value(right, bits)
    results = {
        "mul": lambda: (a * b)[:bits],
        "add": lambda: (a + b)[:bits],
        "sub": lambda: (a - b)[:bits],
        "max": lambda: pyrtl.select(pyrtl.signed_gt(a, b), a, b),
        "min": lambda: pyrtl.select(pyrtl.signed_lt(a, b), a, b),
    }
    is_number = (_kind(left) == DATA) | (_kind(left) == EMPTY)
    if parameters.operation in results:
        same = sink.fields["value"] == results[parameters.operation]()
        properties.claim("result", same & (_kind(sink) == DATA), when=sink.moves & is_number)
    properties.claim("kind", _kind(sink) == _kind(left), when=sink.moves & ~is_number)
    stops = sink.moves & (_kind(left) == STOP)
    properties.claim("level", _level(sink) == _level(left), when=stops)


def add_array(parameters: ArrayParameters, properties: Properties) -> None:
    """Claim that a reference loads the last word written to its position.

    Positions that were never written are not checked. An empty reference loads 0, and stops pass.
    """
    source, load, sink = (properties.end(name) for name in ("in_ref", "load", "out_val_0"))
    place = properties.constant(load.stream.widths["address"], "watched_place")
    written, word = pyrtl.Register(1, "is_written"), DataRegister(load.stream.widths["word"], "word")
    writes = load.moves & (load.fields["address"] == place)
    written.next <<= written | writes
    word.next <<= pyrtl.select(writes, load.fields["word"], word)
    number = pyrtl.mux(place, *properties.words("words"))
    properties.claim("memory", number == word, when=written)
    properties.claim("a_token_a_token", source.moves == sink.moves)
    reads = sink.moves & (_kind(source) == DATA) & (source.fields["payload"] == place)
    properties.claim("loads_the_last_word", sink.fields["value"] == word, when=reads & written)
    properties.claim("zero_if_empty", sink.fields["value"] == 0, when=sink.moves & (_kind(source) == EMPTY))
    stops = sink.moves & (_kind(source) == STOP)
    properties.claim("stop", (_kind(sink) == STOP) & (_level(sink) == _level(source)), when=stops)


def add_locator(parameters: LocatorParameters, properties: Properties) -> None:
    """Claim that existing coordinates leave with both references, others drop, and stops and done pass."""
    crd, ref = properties.end("in_crd"), properties.end("in_ref")
    sinks = [properties.end(name) for name in ("out_crd_0", "out_ref_0", "out_ref2_0")]
    acts = all_of([crd.valid, ref.valid, *(sink.ready for sink in sinks)])
    within = crd.fields["payload"] < parameters.size
    finds = (_kind(crd) == DATA) & (_kind(ref) == DATA) & within
    control = (_kind(crd) == STOP) | (_kind(crd) == DONE)
    properties.claim("together", (crd.moves == acts) & (ref.moves == acts))
    for sink, payload in zip(sinks, (crd, ref, crd), strict=True):
        name = sink.stream.port[0]
        properties.claim(f"{name}_sends", sink.moves == (acts & (finds | control)))
        same = (_kind(sink) == DATA) & (sink.fields["payload"] == payload.fields["payload"])
        properties.claim(f"{name}_payload", same, when=sink.moves & finds)
        passed = (_kind(sink) == _kind(crd)) & implies(_kind(crd) == STOP, _level(sink) == _level(crd))
        properties.claim(f"{name}_stop", passed, when=sink.moves & control)


def add_repeat_signal(_parameters: RepeatSignalGeneratorParameters, properties: Properties) -> None:
    """Claim a signal for each token: repeat for a coordinate or N, stop for a stop, done for done."""
    source, sink = properties.end("in_crd"), properties.end("out_repsig_0")
    repeats = (_kind(source) == DATA) | (_kind(source) == EMPTY)
    right = pyrtl.select(repeats, _kind(sink) == EMPTY, _kind(sink) == _kind(source))
    data = pyrtl.select(repeats, _kind(sink) == DATA, right)
    properties.claim("a_signal_a_token", source.moves == sink.moves)
    properties.claim("kind", data, when=sink.moves)


def add_stop_dropper(parameters: StopDropperParameters, properties: Properties) -> None:
    """Claim that stops below a level drop, and that all other tokens pass unchanged."""
    source, sink = properties.end("in_stream"), properties.end("out_stream_0")
    drops = (_kind(source) == STOP) & (_level(source) < parameters.kept)
    properties.claim("takes", source.moves == (source.valid & sink.ready))
    properties.claim("drops", sink.moves == (source.moves & ~drops))
    data = implies(_kind(source) == DATA, sink.word == source.word)
    level = implies(_kind(source) == STOP, _level(sink) == _level(source))
    properties.claim("unchanged", (_kind(sink) == _kind(source)) & data & level, when=sink.moves)


def add_scalar_reducer(parameters: ScalarReducerParameters, properties: Properties) -> None:
    """Claim an integer sum for each fiber, and a stop of the next lower level after a higher stop.

    Each stop ends a fiber. After a stop above level 0, the reducer owes the lower stop, and takes no token
    until that stop has left.
    """
    source, sink = properties.end("in_val"), properties.end("out_val_0")
    bits = parameters.sum_bits
    total, owes = pyrtl.Register(bits, "total"), pyrtl.Register(1, "owes")
    level = DataRegister(LEVEL_BITS, "owed_level")
    stops, ends = (source.moves & (_kind(source) == kind) for kind in (STOP, DONE))
    numbers = source.moves & ~stops & ~ends
    added = (total + _value(source, bits))[:bits]
    total.next <<= pyrtl.select(numbers, added, pyrtl.select(source.moves, pyrtl.Const(0, bits), total))
    owes.next <<= pyrtl.select(stops, _level(source) != 0, owes & ~sink.moves)
    level.next <<= pyrtl.select(stops, (_level(source) - 1)[:LEVEL_BITS], level)
    sends_sum = sink.moves & (_kind(sink) == DATA)
    properties.claim("a_sum_a_fiber", sends_sum == stops)
    properties.claim("sum", sink.fields["value"] == total, when=sends_sum)
    properties.claim("pays", (_kind(sink) == STOP) & (_level(sink) == level), when=owes & sink.moves)
    properties.claim("pays_first", ~source.moves & (sink.valid == sink.ready), when=owes)
    properties.claim("stops_alone", owes, when=sink.moves & (_kind(sink) == STOP))
    properties.claim("done", (sink.moves & (_kind(sink) == DONE)) == ends)
    held = implies(owes, properties.inner("its_level") == level)
    begun = properties.inner("begun")
    inside = pyrtl.select(begun, properties.inner("result"), pyrtl.Const(0, bits)) == total
    properties.claim("registers", (properties.inner("stop_follows") == owes) & held & inside)


def add_values_writer(parameters: ValuesWriterParameters, properties: Properties) -> None:
    """Claim that values are stored at consecutive addresses from 0 on, and that other tokens are dropped."""
    source, store = properties.end("in_val"), properties.end("store")
    is_value = _kind(source) == DATA
    bits = index_bits(parameters.entries)
    stored = pyrtl.Register(bits, "stored")
    stored.next <<= (stored + store.moves)[:bits]
    properties.claim("stores_values", store.moves == (source.moves & is_value))
    properties.claim("drops_the_others", source.moves == source.valid, when=~is_value)
    properties.claim("address", store.fields["address"] == stored, when=store.moves)
    properties.claim("word", store.fields["word"] == source.fields["value"], when=store.moves)
    properties.claim("count", properties.inner("count") == stored)


def add_dense_scanner(parameters: DenseScannerParameters, properties: Properties) -> None:
    """Claim all coordinates of the level for each reference, in order, each with its reference.

    The reference of coordinate c in the fiber of reference r is ``r * size + c``. An empty reference has a
    fiber without coordinates.
    """
    source, crd, ref = (properties.end(name) for name in ("in_ref", "out_crd_0", "out_ref_0"))
    size, bits = parameters.size, parameters.reference_bits
    sent, base = pyrtl.Register(size.bit_length(), "sent"), DataRegister(bits, "base")
    within, owes = pyrtl.Register(1, "within"), pyrtl.Register(1, "owes_stop")
    begins, empty, ends = (source.moves & (_kind(source) == kind) for kind in (DATA, EMPTY, DONE))
    elements, stops = (crd.moves & (_kind(crd) == kind) for kind in (DATA, STOP))
    within.next <<= (within | begins) & ~stops
    owes.next <<= (owes | empty) & ~stops
    sent.next <<= pyrtl.select(stops, pyrtl.Const(0, len(sent)), (sent + elements)[: len(sent)])
    first = (source.fields["payload"] * size)[:bits]
    base.next <<= pyrtl.select(begins, first, base)
    position = (pyrtl.select(begins, first, base) + sent)[:bits]
    properties.claim("together", crd.moves == ref.moves)
    properties.claim("a_fiber_a_reference", ~within & ~owes, when=begins | empty)
    properties.claim("elements_of_a_fiber", within | begins, when=elements)
    in_order = (crd.fields["payload"] == sent) & (sent < size)
    properties.claim("coordinate", in_order, when=elements)
    properties.claim("reference", (_kind(ref) == DATA) & (ref.fields["payload"] == position), when=elements)
    properties.claim("whole_fibers", sent == size, when=stops & within)
    properties.claim("done", (crd.moves & (_kind(crd) == DONE)) == ends)
    last = properties.inner("coordinate"), properties.inner("reference")
    held = [(last[0] + 1)[: len(sent)] == sent, (last[1] + 1)[:bits] == (base + sent)[:bits]]
    place = all_of([sent > 0, sent <= size, ~owes, *held])
    flags = (properties.inner("in_fiber") == within) & (properties.inner("owes") == owes)
    properties.claim("registers", flags & pyrtl.select(within, place, sent == 0))
