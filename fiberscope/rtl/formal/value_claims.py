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
from fiberscope.rtl.formal.properties import Properties, StreamWires, all_of, implies


def _kind(stream: StreamWires) -> Signal:
    """Return the kind of a token: ``DATA``, ``EMPTY``, ``STOP`` or ``DONE``."""
    return stream.fields["control"]


def _level(stream: StreamWires) -> Signal:
    """Return the level of a stop: a field in a stream of values, otherwise the low bits of the payload."""
    return stream.fields["level" if "level" in stream.fields else "payload"][:LEVEL_BITS]


def _value(stream: StreamWires, bits: int) -> Signal:
    """Return the value of an operand; zero for an empty operand."""
    wide_value = stream.fields["value"].sign_extended(bits)
    return pyrtl.select(_kind(stream) == EMPTY, pyrtl.Const(0, bits), wide_value)


def add_alu(parameters: AluParameters, properties: Properties) -> None:
    """Claim that both operands are taken together, and that results are right. Only for integers.

    An empty operand counts as 0. Results are checked modulo ``2**result_bits``. Not checked: the operation
    ``take``, and that the operands have the same kind; the left operand determines the kind of the result.
    """
    left, right, sink = (properties.stream(name) for name in ("in_val_0", "in_val_1", "out_val_0"))
    can_fire = left.valid & right.valid & sink.ready
    together = (left.fire == can_fire) & (right.fire == can_fire) & (sink.fire == can_fire)
    properties.claim("together", together)
    bits = max(parameters.value_bits, parameters.result_bits)
    a, b = _value(left, bits), _value(right, bits)
    # Functions, so that the monitor gets the logic of one operation only.
    results = {
        "mul": lambda: a * b,
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "max": lambda: pyrtl.select(pyrtl.signed_gt(a, b), a, b),
        "min": lambda: pyrtl.select(pyrtl.signed_lt(a, b), a, b),
    }
    is_number = (_kind(left) == DATA) | (_kind(left) == EMPTY)
    if parameters.operation in results:
        is_right = sink.fields["value"] == results[parameters.operation]()[: parameters.result_bits]
        properties.claim("result", is_right & (_kind(sink) == DATA), when=sink.fire & is_number)
    properties.claim("kind", _kind(sink) == _kind(left), when=sink.fire & ~is_number)
    is_stop = sink.fire & (_kind(left) == STOP)
    properties.claim("level", _level(sink) == _level(left), when=is_stop)


def add_array(parameters: ArrayParameters, properties: Properties) -> None:
    """Claim that a reference loads the last word written to its position.

    Positions that were never written are not checked. An empty reference loads 0, and stops pass. Only for a
    combinational memory, which answers in the cycle of the reference.
    """
    source, load, sink = (properties.stream(name) for name in ("in_ref", "load", "out_val_0"))
    # One arbitrary position stands for all positions.
    address = properties.constant(load.definition.widths["address"], "watched_place")
    is_written, word = pyrtl.Register(1, "is_written"), DataRegister(load.definition.widths["word"], "word")
    is_watched_write = load.fire & (load.fields["address"] == address)
    is_written.next <<= is_written | is_watched_write
    word.next <<= pyrtl.select(is_watched_write, load.fields["word"], word)
    stored = pyrtl.mux(address, *properties.memory_words("words"))
    # Ties the memory to the monitor's copy; induction could otherwise begin with another word in the memory.
    properties.claim("memory", stored == word, when=is_written)
    properties.claim("a_token_a_token", source.fire == sink.fire)
    is_watched_read = sink.fire & (_kind(source) == DATA) & (source.fields["payload"] == address)
    properties.claim("loads_the_last_word", sink.fields["value"] == word, when=is_watched_read & is_written)
    properties.claim("zero_if_empty", sink.fields["value"] == 0, when=sink.fire & (_kind(source) == EMPTY))
    is_stop = sink.fire & (_kind(source) == STOP)
    properties.claim("stop", (_kind(sink) == STOP) & (_level(sink) == _level(source)), when=is_stop)


def add_locator(parameters: LocatorParameters, properties: Properties) -> None:
    """Claim that existing coordinates leave with both references, others drop, and stops and done pass.

    Only for a level with one fiber (``bases`` is 0), whose references are the coordinates.
    """
    crd, ref = properties.stream("in_crd"), properties.stream("in_ref")
    sinks = [properties.stream(name) for name in ("out_crd_0", "out_ref_0", "out_ref2_0")]
    can_act = all_of([crd.valid, ref.valid, *(sink.ready for sink in sinks)])
    is_in_level = crd.fields["payload"] < parameters.size
    is_found = (_kind(crd) == DATA) & (_kind(ref) == DATA) & is_in_level
    is_control = (_kind(crd) == STOP) | (_kind(crd) == DONE)
    properties.claim("together", (crd.fire == can_act) & (ref.fire == can_act))
    # The second reference is the position in the located level: the coordinate itself.
    for sink, source in zip(sinks, (crd, ref, crd), strict=True):
        name = sink.definition.port[0]
        properties.claim(f"{name}_sends", sink.fire == (can_act & (is_found | is_control)))
        is_payload = (_kind(sink) == DATA) & (sink.fields["payload"] == source.fields["payload"])
        properties.claim(f"{name}_payload", is_payload, when=sink.fire & is_found)
        is_passed = (_kind(sink) == _kind(crd)) & implies(_kind(crd) == STOP, _level(sink) == _level(crd))
        properties.claim(f"{name}_stop", is_passed, when=sink.fire & is_control)


def add_repeat_signal(_parameters: RepeatSignalGeneratorParameters, properties: Properties) -> None:
    """Claim a signal for each token: repeat for a coordinate or N, stop for a stop, done for done."""
    source, sink = properties.stream("in_crd"), properties.stream("out_repsig_0")
    is_repeat = (_kind(source) == DATA) | (_kind(source) == EMPTY)
    is_kind = pyrtl.select(is_repeat, _kind(sink) == DATA, _kind(sink) == _kind(source))
    properties.claim("a_signal_a_token", source.fire == sink.fire)
    properties.claim("kind", is_kind, when=sink.fire)


def add_stop_dropper(parameters: StopDropperParameters, properties: Properties) -> None:
    """Claim that stops below a level drop, and that all other tokens pass unchanged."""
    source, sink = properties.stream("in_stream"), properties.stream("out_stream_0")
    is_dropped = (_kind(source) == STOP) & (_level(source) < parameters.kept)
    properties.claim("takes", source.fire == (source.valid & sink.ready))
    properties.claim("drops", sink.fire == (source.fire & ~is_dropped))
    # The level of a stream of values is a field of its own, which an element does not have.
    same_fields = [sink.fields[name] == wire for name, wire in source.fields.items() if name != "level"]
    is_payload = implies(_kind(source) == DATA, all_of(same_fields))
    is_level = implies(_kind(source) == STOP, _level(sink) == _level(source))
    properties.claim("unchanged", (_kind(sink) == _kind(source)) & is_payload & is_level, when=sink.fire)


def add_scalar_reducer(parameters: ScalarReducerParameters, properties: Properties) -> None:
    """Claim an integer sum for each fiber, and a stop of the next lower level after a higher stop.

    Each stop ends a fiber. After a stop above level 0, the reducer owes the lower stop, and takes no token
    until that stop has left. Only for sums, with ``empty_fibers=keep``: an empty fiber has the sum 0.
    """
    source, sink = properties.stream("in_val"), properties.stream("out_val_0")
    bits = parameters.sum_bits
    total, is_owed = pyrtl.Register(bits, "total"), pyrtl.Register(1, "owes")
    level = DataRegister(LEVEL_BITS, "owed_level")
    is_stop, is_done = (source.fire & (_kind(source) == kind) for kind in (STOP, DONE))
    is_number = source.fire & ~is_stop & ~is_done
    new_total = (total + _value(source, bits))[:bits]
    total.next <<= pyrtl.select(is_number, new_total, pyrtl.select(source.fire, pyrtl.Const(0, bits), total))
    is_owed.next <<= pyrtl.select(is_stop, _level(source) != 0, is_owed & ~sink.fire)
    level.next <<= pyrtl.select(is_stop, (_level(source) - 1)[:LEVEL_BITS], level)
    is_sum = sink.fire & (_kind(sink) == DATA)
    properties.claim("a_sum_a_fiber", is_sum == is_stop)
    properties.claim("sum", sink.fields["value"] == total, when=is_sum)
    properties.claim("pays", (_kind(sink) == STOP) & (_level(sink) == level), when=is_owed & sink.fire)
    # The owed stop is offered only while the output is ready, as every token of this block.
    properties.claim("pays_first", ~source.fire & (sink.valid == sink.ready), when=is_owed)
    properties.claim("stops_alone", is_owed, when=sink.fire & (_kind(sink) == STOP))
    properties.claim("done", (sink.fire & (_kind(sink) == DONE)) == is_done)
    has_level = implies(is_owed, properties.inner("its_level") == level)
    # Before the first number of a fiber, the block's register ``result`` is meaningless, and the sum is 0.
    has_sum = properties.inner("begun")
    is_stored = pyrtl.select(has_sum, properties.inner("result"), pyrtl.Const(0, bits)) == total
    properties.claim("registers", (properties.inner("stop_follows") == is_owed) & has_level & is_stored)


def add_values_writer(parameters: ValuesWriterParameters, properties: Properties) -> None:
    """Claim that values are stored at consecutive addresses from 0 on, and that other tokens are dropped."""
    source, store = properties.stream("in_val"), properties.stream("store")
    is_value = _kind(source) == DATA
    bits = index_bits(parameters.entries)
    stored_count = pyrtl.Register(bits, "stored")
    # The count wraps as the block's does; the sender must not send more values than entries.
    stored_count.next <<= (stored_count + store.fire)[:bits]
    properties.claim("stores_values", store.fire == (source.fire & is_value))
    properties.claim("drops_the_others", source.fire == source.valid, when=~is_value)
    properties.claim("address", store.fields["address"] == stored_count, when=store.fire)
    properties.claim("word", store.fields["word"] == source.fields["value"], when=store.fire)
    properties.claim("count", properties.inner("count") == stored_count)


def add_dense_scanner(parameters: DenseScannerParameters, properties: Properties) -> None:
    """Claim all coordinates of the level for each reference, in order, each with its reference.

    The reference of coordinate c in the fiber of reference r is ``r * size + c``. An empty reference has a
    fiber without coordinates.
    """
    source, crd, ref = (properties.stream(name) for name in ("in_ref", "out_crd_0", "out_ref_0"))
    size, bits = parameters.size, parameters.reference_bits
    index, base = pyrtl.Register(index_bits(size + 1), "sent"), DataRegister(bits, "base")
    is_in_fiber, is_owed = pyrtl.Register(1, "within"), pyrtl.Register(1, "owes_stop")
    is_begin, is_empty, is_done = (source.fire & (_kind(source) == kind) for kind in (DATA, EMPTY, DONE))
    if not size:  # every fiber is empty
        is_begin, is_empty = pyrtl.Const(0, 1), is_begin | is_empty
    is_element, is_stop = (crd.fire & (_kind(crd) == kind) for kind in (DATA, STOP))
    is_in_fiber.next <<= (is_in_fiber | is_begin) & ~is_stop
    is_owed.next <<= (is_owed | is_empty) & ~is_stop
    index.next <<= pyrtl.select(is_stop, pyrtl.Const(0, len(index)), (index + is_element)[: len(index)])
    # The first element leaves in the cycle in which its reference is taken, before ``base`` is stored.
    first = (source.fields["payload"] * size)[:bits]
    base.next <<= pyrtl.select(is_begin, first, base)
    position = (pyrtl.select(is_begin, first, base) + index)[:bits]
    properties.claim("together", crd.fire == ref.fire)
    properties.claim("a_fiber_a_reference", ~is_in_fiber & ~is_owed, when=is_begin | is_empty)
    properties.claim("elements_of_a_fiber", is_in_fiber | is_begin, when=is_element)
    is_next = (crd.fields["payload"] == index) & (index < size)
    properties.claim("coordinate", is_next, when=is_element)
    properties.claim("reference", (_kind(ref) == DATA) & (ref.fields["payload"] == position), when=is_element)
    properties.claim("whole_fibers", index == size, when=is_stop & is_in_fiber)
    properties.claim("done", (crd.fire & (_kind(crd) == DONE)) == is_done)
    # The block's registers hold the element that was sent last, the monitor counts the sent elements.
    registers = properties.inner("coordinate"), properties.inner("reference")
    is_last = [(registers[0] + 1)[: len(index)] == index, (registers[1] + 1)[:bits] == (base + index)[:bits]]
    is_inside = all_of([index > 0, index <= size, ~is_owed, *is_last])
    flags = (properties.inner("in_fiber") == is_in_fiber) & (properties.inner("owes") == is_owed)
    properties.claim("registers", flags & pyrtl.select(is_in_fiber, is_inside, index == 0))
