"""The bitmap of touched elements as RTL: the twin of ``fiberscope.hw.memory.touched.TouchedBitmap``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import pyrtl

from fiberscope.hw.memory.touched import WIDTHS, TouchedBitmap
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.trees import any_of, decoded, lowest, ones_of
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import Each, Lanes, PortContents, StatusCounter, unit

PORTS = (1, 16)  # of each array
COUNT_BITS = (12, 32)
PHASES = 5
COLLECTING, TELLING, WAITING, SCANNING, ENDING = range(PHASES)  # the phases of the component
PASSES = "passes"  # status output: a word is done


@dataclass(frozen=True)
class TouchedBitmapParameters(Parameters):
    """Parameters of a bitmap.

    Args:
        bits: number of bits, 1 to 8,192.
        width: bits of a word, 32 or 64.
        writers, readers: ports of ``sets`` and of ``found``, 1 to 16 each.
        count_bits: bits of the number of elements of a round, 12 to 32.
    """

    bits: int = number(1024, 1, 1 << 13)
    width: int = one_of(WIDTHS[0], *WIDTHS)
    writers: int = number(1, *PORTS)
    readers: int = number(1, *PORTS)
    count_bits: int = number(32, *COUNT_BITS)

    @property
    def words(self) -> int:
        """Return the number of words of the bitmap."""
        return (self.bits + self.width - 1) // self.width


def port_contents(parameters: TouchedBitmapParameters) -> PortContents:
    """Return the ports; the control of a scan is 0 for ``FIND`` and 1 for ``CLEAR``."""
    bit = {"control": 1, "coordinate": index_bits(parameters.bits)}
    return {
        "sets": Each(bit, parameters.writers),
        "ready": {"reference": Field("reference", parameters.count_bits, "unsigned")},
        "scans": {"control": 1},
        "found": Lanes(bit, parameters.readers),
    }


@dataclass(frozen=True)
class _Scan:
    """The progress of a scan.

    Args:
        word: number of the examined word.
        begins: whether a scan of the kind ``FIND`` begins.
        done: a wire to drive: whether the examined word is finished.
        clears: whether a scan of the kind ``CLEAR`` clears all words.
    """

    word: Signal
    begins: Signal
    done: Signal
    clears: Signal

    @property
    def reads(self) -> Signal:
        """Return whether memory reads the word ``following``, which is examined from the next cycle on."""
        return self.begins | self.done

    @property
    def following(self) -> Signal:
        """Return the number of the word to examine next: 0 at the beginning of a scan."""
        return unless(self.begins, (self.word + 1)[: len(self.word)])


def design(parameters: TouchedBitmapParameters, streams: Streams) -> None:
    """Create a memory for each writer, the scan over the OR of all memories, and the control of the phases.

    Each writer has a memory of its own, so that all can write in the same cycle. The scan sends the lowest
    bit of a word that it has not sent.
    """
    phase: Signal = pyrtl.Register(3, "phase")
    collecting, telling, waiting, scanning, ending = (phase == number for number in range(PHASES))
    ready, sink = streams.outputs["ready"], streams.outputs["found"]
    scan = _scan(parameters, streams, waiting)
    starts = alias("starts", ending & sink.ready)
    sources = [stream for label, stream in streams.inputs.items() if label != "scans"]
    puts, all_ended = _collected(sources, collecting, starts)
    banks = [
        _bank(parameters, f"{i:02}", *pair, scan) for i, pair in enumerate(zip(sources, puts, strict=True))
    ]
    sent: Signal = pyrtl.Register(parameters.width, "given")
    # The memories keep the bits that were sent until the word is done
    left = alias("left", reduce(or_, banks) & ~sent)
    first = pyrtl.concat_list(lowest(list(left)))  # one-hot
    gives = alias("gives", scanning & (left != 0))
    moves = alias("moves", gives & sink.ready)
    done = scan.done
    done <<= scanning & ((left == 0) | (moves & (left == first)))
    sent.next <<= unless(scan.done, pyrtl.select(moves, sent | first, sent))
    coordinate = pyrtl.concat(scan.word, _number(first))[: index_bits(parameters.bits)]
    token = {"control": ending, "coordinate": unless(ending, coordinate)}
    sink.send_lanes(ending | gives, [token] * parameters.readers)
    count: Signal = pyrtl.Register(parameters.count_bits, "count")
    count.next <<= unless(starts, (count + ones_of(pyrtl.concat_list(puts)))[: len(count)])
    ready.send(telling, {"reference": count})
    last = scan.done & (scan.word == parameters.words - 1)
    events = (
        (collecting & all_ended, TELLING),
        (telling & ready.ready, WAITING),
        (scan.begins, SCANNING),
        (scan.clears | last, ENDING),
    )
    behind = unless(starts, phase)
    for event, entered in events:
        behind = pyrtl.select(event, pyrtl.Const(entered, len(phase)), behind)
    phase.next <<= behind
    streams.show(PASSES, scan.done)
    streams.show(PENDING, telling | scanning | ending)


def _scan(parameters: TouchedBitmapParameters, streams: Streams, waiting: Signal) -> _Scan:
    """Take a scan in the phase ``WAITING``; return its progress, with a register for the examined word."""
    scans = streams.inputs["scans"]
    scans.accept(waiting)
    taken, clears = alias("scan_taken", waiting & scans.valid), scans.fields["control"]
    word: Signal = DataRegister(index_bits(parameters.words), "word")
    scan = _Scan(word, taken & ~clears, pyrtl.WireVector(1, "done"), taken & clears)
    word.next <<= pyrtl.select(scan.reads, scan.following, word)
    return scan


def _collected(
    sources: Sequence[InputStream], collecting: Signal, starts: Signal
) -> tuple[list[Signal], Signal]:
    """Return, for each writer, whether an element is taken; and whether all writers have sent their stops."""
    puts, ends = [], []
    for i, source in enumerate(sources):
        ended: Signal = pyrtl.Register(1, f"ended_{i:02}")
        open_ = collecting & ~ended
        source.accept(open_)
        taken = alias(f"taken_{i:02}", source.valid & open_)
        puts.append(taken & ~source.fields["control"])
        ends.append(ended | (taken & source.fields["control"]))
        ended.next <<= ends[-1] & ~starts
    return puts, reduce(and_, ends)


def _bank(
    parameters: TouchedBitmapParameters, name: str, source: InputStream, puts: Signal, scan: _Scan
) -> Signal:
    """Create the memory of a writer; return the bits that the writer has set in the examined word.

    A register bit for each word says whether the word is valid. The first write to an invalid word also
    writes zeros to its other bits; later writes change one bit. An invalid word reads as zeros.

    Args:
        name: suffix of the names of wires: the number of the writer.
        source: the writer's stream.
        puts: whether an element is taken.
        scan: progress of the scan.
    """
    lane_bits, place_bits = index_bits(parameters.width), index_bits(parameters.words)
    bit = source.fields["coordinate"].zero_extended(lane_bits + place_bits)
    chosen_bit, place = decoded(bit[:lane_bits], parameters.width), bit[lane_bits:]
    row = decoded(place, parameters.words)
    seen: Signal = pyrtl.Register(parameters.words, f"known_{name}")
    new = (seen & row) == 0
    memory = Sram(f"bits_{name}", parameters.words, 1, parameters.width)
    memory.write(place, list(chosen_bit), [puts & (new | lane) for lane in chosen_bit])
    word = pyrtl.concat_list(memory.read(scan.following, scan.reads))
    is_known: Signal = DataRegister(1, f"is_known_{name}")
    is_known.next <<= pyrtl.select(
        scan.reads, (seen & decoded(scan.following, parameters.words)) != 0, is_known
    )
    more = seen | unless(~puts, row)
    # A word that a scan has finished becomes invalid, which clears all its bits without a write
    seen.next <<= unless(scan.clears, more & ~unless(~scan.done, decoded(scan.word, parameters.words)))
    return unless(~is_known, word)


def _number(flags: Signal) -> Signal:
    """Return the number of the one flag that is set."""
    bits = range(index_bits(len(flags)))
    return pyrtl.concat_list(
        [any_of(f"number_{bit}", [flag for i, flag in enumerate(flags) if i >> bit & 1]) for bit in bits]
    )


def _set(adapter: Adapter) -> int:
    """Return the number of elements that all writers have sent."""
    return sum(end.elements for end in adapter.ends if end.stream.label.startswith("sets"))


def _bits_found(adapter: Adapter) -> int:
    """Return the number of found bits, each of which is sent on all lanes."""
    end = adapter.end("found")
    return end.elements // len(end.lanes)


def _matching(bits: int, *, width: int = WIDTHS[0], block: int = 1) -> TouchedBitmapParameters:
    if block != 1:
        raise ValueError(f"touched: block must be 1, not {block}; leave off the low bits of a coordinate")
    return TouchedBitmapParameters(bits, width)


BLOCK = unit(
    "touched",
    TouchedBitmap,
    TouchedBitmapParameters,
    port_contents,
    design,
    arguments=("bits", "width"),
    status={PASSES: 1, PENDING: 1},  # a word is done; there is something to tell or to find
    counters={"set_tokens": _set, "words_done": StatusCounter(PASSES), "bits_found": _bits_found},
    awaits=False,  # between two rounds it is idle, as within one where nothing comes
    matching=_matching,
)
