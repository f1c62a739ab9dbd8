"""RTL of OuterSPACE's merge core, ``fiberscope.hw.fibers.sorted_head.SortedHeadUnit``, in both forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import pyrtl

from fiberscope.hw.fibers.sorted_head import COLUMN_BITS, FORMS, SYSTOLIC, SortedHeadUnit
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.sram import REGISTERED, AnnouncedSram, memory_parameter
from fiberscope.hw.rtl.kit.trees import ones_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    Signal,
    Streams,
    alias,
    index_bits,
    packed,
    unless,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import Fields, PortContents, elements, tokens, unit
from fiberscope.sim.channel import Channel

ENTRIES = (1, 256)  # range of ``entries``; the event class permits more, which are not tested as RTL
STEPS = "steps"  # status output: number of comparisons of this cycle that count as swaps

Entry: TypeAlias = Mapping[str, Signal]  # a head: column (coordinate), list (reference) and value


@dataclass(frozen=True)
class SortedHeadParameters(Parameters):
    """Parameters of a merge core; widths in bits.

    Args:
        form: ``"systolic"`` or ``"sequential"``, see ``SortedHeadUnit``.
        entries: capacity in heads of lists, 1 to 256.
        column_bits: width of a column, 1 to 42, as in the event class.
        value_bits: width of a value, 0, 32 or 64; 0 omits the values, if all are 0.
        memory: memory of the sequential form: ``combinational`` or ``registered``. Both take the same cycles.
    """

    form: str = choice(SYSTOLIC, FORMS)
    entries: int = number(32, *ENTRIES)
    column_bits: int = number(32, 1, COLUMN_BITS)
    value_bits: int = one_of(64, 0, 32, 64)
    memory: str = memory_parameter()


def port_contents(parameters: SortedHeadParameters) -> PortContents:
    """Return the fields of each port; the reference of a head is the number of its list."""
    source: Fields = {"reference": Field("reference", index_bits(parameters.entries), "unsigned")}
    head: Fields = {"control": 1, "coordinate": parameters.column_bits}
    element = {**head, **source, **payload_widths(0, parameters.value_bits)}
    return {
        "tasks": {"coordinate": parameters.entries.bit_length()},
        "elements": element,
        "merged": element,
        "successors": source,
    }


def status(parameters: SortedHeadParameters) -> Mapping[str, int]:
    """Return the width of each status output.

    In the systolic form, ``steps`` is 1 + the position of a head in the cycle in which the head is taken. In
    the sequential form it is 1 in each cycle of a walk. ``pending`` is high while the comparator walks.
    """
    return {STEPS: parameters.entries.bit_length(), PENDING: 1}


@dataclass(frozen=True)
class _Control:
    """State of a row that both forms share. Each form drives the wires ``ends``, ``stays`` and ``taken``.

    Args:
        head: fields of the visible element.
        shown: 1 if a head or the stop of a list is visible and awaited.
        is_head: 1 if a head is visible and awaited.
        last: 1 if exactly one head or stop is awaited.
        none_awaited: 1 if no head or stop of the current row is awaited.
        room: 1 if the outputs have space for what would leave.
        ends: 1 if all heads are in their places, so that the smallest head or the stop of the row can leave.
        stays: 1 if a head is left; if 0, the stop of the row leaves.
        taken: 1 if the visible head or stop is taken.
    """

    head: Entry
    shown: Signal
    is_head: Signal
    last: Signal
    none_awaited: Signal
    room: Signal
    ends: Signal
    stays: Signal
    taken: Signal

    @property
    def pushes(self) -> Signal:
        """Return whether a head is inserted in this cycle."""
        return self.taken & self.is_head

    @property
    def pops(self) -> Signal:
        """Return whether the smallest head leaves in this cycle."""
        return self.ends & self.room & self.stays


def _drive(wire: Signal, source: Signal) -> None:
    wire <<= source


def design(parameters: SortedHeadParameters, streams: Streams) -> None:
    """Build the merge core in the form that the parameters name.

    The module does not check its inputs. A row with more lists than ``entries`` gives a wrong result, where
    the component raises an error.
    """
    control = _control(parameters, streams)
    form = _systolic if parameters.form == SYSTOLIC else _sequential
    _send(streams, control, form(parameters, streams, control))


def _control(parameters: SortedHeadParameters, streams: Streams) -> _Control:
    """Return the state of a row: its registers, and the conditions that follow from them."""
    tasks, elements = streams.inputs["tasks"], streams.inputs["elements"]
    running: Signal = pyrtl.Register(1, "running")
    awaited: Signal = pyrtl.Register(parameters.entries.bit_length(), "awaited")
    # Wires without a driver yet: the form drives them, and its logic reads signals that depend on them.
    ends, stays, taken = (pyrtl.WireVector(1, name) for name in ("ends", "stays", "taken"))
    room = alias("room", streams.outputs["merged"].ready & (~stays | streams.outputs["successors"].ready))
    leaves = alias("leaves", ends & room)
    begins = alias("begins", tasks.valid & ~running)
    tasks.accept(~running)
    elements.accept(taken)
    running.next <<= begins | (running & ~(leaves & ~stays))
    # An element leaves only when nothing else is awaited, so that only its successor is awaited next.
    fewer = pyrtl.select(leaves & stays, pyrtl.Const(1, len(awaited)), (awaited - taken)[: len(awaited)])
    awaited.next <<= pyrtl.select(begins, tasks.fields["coordinate"], fewer)
    shown = alias("shown", running & (awaited != 0) & elements.valid)
    return _Control(
        head={name: wire for name, wire in elements.fields.items() if name != "control"},
        shown=shown,
        is_head=alias("is_head", shown & ~elements.fields["control"]),
        last=alias("last", awaited == 1),
        none_awaited=alias("none_awaited", running & (awaited == 0)),
        room=room,
        ends=ends,
        stays=stays,
        taken=taken,
    )


def _send(streams: Streams, control: _Control, smallest: Entry) -> None:
    """Send the smallest head together with the request for its successor, or the stop of the row alone."""
    merged, successors = streams.outputs["merged"], streams.outputs["successors"]
    fields = {name: unless(~control.stays, wire) for name, wire in smallest.items()}
    merged.send(control.ends & (~control.stays | successors.ready), {"control": ~control.stays} | fields)
    successors.send(control.ends & control.stays & merged.ready, {"reference": smallest["reference"]})


def _precedes(head: Entry, other: Entry) -> Signal:
    """Return whether a head leaves before another: by the smaller column, else by the larger list."""
    # PyRTL's concat puts the column above the inverted list, so a larger list gives a smaller word.
    first, second = (pyrtl.concat(entry["coordinate"], ~entry["reference"]) for entry in (head, other))
    return first < second


def _either(condition: Signal, entry: Entry, other: Entry) -> Entry:
    return {name: pyrtl.select(condition, wire, other[name]) for name, wire in entry.items()}


def _registers(name: str, like: Entry) -> dict[str, Signal]:
    return {part: DataRegister(len(wire), f"{name}_{part}") for part, wire in like.items()}


def _systolic(parameters: SortedHeadParameters, streams: Streams, control: _Control) -> Entry:
    """Build the entries as registers in the order of leaving; return the smallest head.

    All entries compare themselves with the new head in the same cycle. The entries after its place then move
    back by one. If the first entry leaves in the same cycle, the entries before the place move up instead.
    """
    none, always = pyrtl.Const(0, 1), pyrtl.Const(1, 1)
    head, count = control.head, parameters.entries
    full: list[Signal] = [pyrtl.Register(1, f"full_{i:03}") for i in range(count)]
    entries = [_registers(f"entry_{i:03}", head) for i in range(count)]
    before = [
        alias(f"before_{i:03}", full[i] & control.is_head & _precedes(entries[i], head)) for i in range(count)
    ]
    _drive(control.ends, (control.shown & control.last) | control.none_awaited)
    _drive(control.stays, full[0] | control.is_head)
    _drive(control.taken, control.shown & (~control.last | control.room))
    pushes, pops = alias("pushes", control.pushes), alias("pops", control.pops)
    for i, entry in enumerate(entries):
        is_first, is_last = i == 0, i == count - 1
        ahead, behind = (always if is_first else before[i - 1]), (none if is_last else before[i + 1])
        # ``before``: this entry leaves before the new head; ``ahead`` and ``behind``: its neighbours do.
        lands = pushes & pyrtl.select(pops, before[i] & ~behind, ahead & ~before[i])
        follows = _either(pops & (behind | ~pushes), head if is_last else entries[i + 1], entry)
        stays = _either(pushes & ~pops & ~ahead, head if is_first else entries[i - 1], follows)
        for name, wire in _either(lands, head, stays).items():
            entry[name].next <<= wire
        # The full entries are always the first ones: a push fills the next, a pop empties the last.
        one_more = full[i] | (pushes & (always if is_first else full[i - 1]))
        one_less = pyrtl.select(pushes, full[i], none if is_last else full[i + 1])
        full[i].next <<= pyrtl.select(pops, one_less, one_more)
    position = ones_of(pyrtl.concat_list(before))
    streams.show(STEPS, unless(~pushes, (position + 1)[: count.bit_length()]))
    streams.show(PENDING, none)
    return _either(before[0] | ~control.is_head, entries[0], head)


def _sequential(parameters: SortedHeadParameters, streams: Streams, control: _Control) -> Entry:
    """Build the entries as a memory with one comparator; return the smallest head.

    The first head to leave has the highest address. For a new head, the comparator walks down from the free
    word above it. ``hole`` is the address of the free word. If the entry below the hole leaves before the new
    head, the entry moves up into the hole; otherwise the new head is written there.
    """
    bits, head = parameters.entries.bit_length(), control.head
    filled: Signal = pyrtl.Register(bits, "filled")
    walks: Signal = pyrtl.Register(1, "walks")
    reached: Signal = DataRegister(bits, "reached")
    held = _registers("held", head)
    width = sum(map(len, head.values()))
    if parameters.memory == REGISTERED:
        ahead = AnnouncedSram("heads", parameters.entries, width, reads=2)
    else:
        memory = pyrtl.MemBlock(width, index_bits(parameters.entries), "heads", asynchronous=True)
        ahead = None

    hole = alias("hole", pyrtl.select(walks, reached, filled))
    moving = _either(walks, held, head)
    below = unpacked(ahead.word(0) if ahead else memory[(hole - 1)[: memory.addrwidth]], head)
    compares = alias("compares", walks | control.is_head)
    # With ``hole`` = 0 there is no entry below, and the word read at address -1 is meaningless.
    moves = alias("moves", compares & (hole != 0) & _precedes(below, moving))
    at_once = control.shown & control.last & ~moves
    _drive(control.ends, pyrtl.select(walks, control.none_awaited & ~moves, at_once | control.none_awaited))
    _drive(control.stays, (filled != 0) | control.is_head)
    _drive(control.taken, ~walks & control.shown & (moves | ~control.last | control.room))
    stands = alias("stands", control.ends & ~control.room)  # all heads are in place, but the outputs stall
    filled.next <<= (filled + control.pushes - control.pops)[:bits]
    walks.next <<= moves | (walks & stands)
    reached.next <<= pyrtl.select(moves, (hole - 1)[:bits], hole)
    for name, register in held.items():
        register.next <<= moving[name]
    word = packed(_either(moves, below, moving))
    if ahead:
        # An SRAM gets its address one cycle early, hence the next values of the registers.
        ahead.write(hole, word, compares)
        next_hole = pyrtl.select(walks.reg_in, reached.reg_in, filled.reg_in)
        ahead.announce(next_hole - 1, 0)
        ahead.announce(filled.reg_in - 1, 1)
    else:
        memory[hole[: memory.addrwidth]] <<= pyrtl.MemBlock.EnabledWrite(word, enable=compares)
    streams.show(STEPS, (compares & ~stands).zero_extended(bits))
    streams.show(PENDING, walks & (moves | ~control.none_awaited))
    first = unpacked(ahead.word(1) if ahead else memory[(filled - 1)[: memory.addrwidth]], head)
    return _either(control.is_head & ~walks, head, first)


class SortedHeadAdapter(Adapter):
    """Adapter that follows the rows, and counts the comparisons in rows with more than one list."""

    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {STEPS: ("swaps",)}

    _lists = 0  # number of lists of the current row
    _all_lists = 0  # number of lists of all rows so far
    _swaps = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Note the number of lists of a new row, and count comparisons in rows with more than one list."""
        for task in tokens_of(moved.get("tasks", ())):
            self._lists = task.coordinate
            self._all_lists += task.coordinate
        if self._lists > 1:
            self._swaps += self.status[STEPS]

    def complete(self) -> bool:
        """Return whether all heads of a row are in place, or the last awaited one is visible."""
        if self.status[PENDING] or not self._is_within():
            return False
        missing = self._missing()
        return missing == 0 or (missing == 1 and self.end("elements").is_open)

    def awaited(self) -> Channel | None:
        """Return the channel ``elements`` if a token of the current row is awaited and missing, else None."""
        waits = self._is_within() and not self.status[PENDING] and self._missing() > 0
        return self.end("elements").waits_at() if waits else None

    def counters(self) -> dict[str, int]:
        """Return the number of swaps."""
        return {"swaps": self._swaps}

    def _is_within(self) -> bool:
        return self.end("tasks").tokens > self.end("merged").stops

    def _missing(self) -> int:
        """Return the number of heads and stops that are awaited: one for each list and each successor."""
        return self._all_lists + self.end("successors").tokens - self.end("elements").tokens


BLOCK = unit(
    "sorted_head",
    SortedHeadUnit,
    SortedHeadParameters,
    port_contents,
    design,
    arguments=("entries", "form"),
    as_made={"column_bits": COLUMN_BITS, "value_bits": 64},
    status=status,
    base=SortedHeadAdapter,
    counters={"rows": tokens("tasks"), "merged_elements": elements("merged")},
    events=("merged_elements",),
    together=("merged", "successors"),
    fibers_of={"merged": "tasks"},
)
