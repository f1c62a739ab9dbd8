"""Twins whose memories, FIFOs and counters are filled to their last place, at and beside powers of two."""

import random
from dataclasses import replace
from itertools import pairwise

import pairs
import pytest
from channel_scenario import SCENARIO as CHANNEL
from counter_banks_scenario import COUNT, FETCH, READ
from counter_banks_scenario import EMPTY_TOKEN as EMPTY_LANE
from fiber_streams import STOP_TOKEN
from nested import DONE_TOKEN, EMPTY_TOKEN, number, stop, stream, value
from pairs import check_pair
from prefetch_scenario import SCENARIO as PREFETCH
from scenarios import SCENARIOS
from sorted_head_scenario import _tokens as heads_and_successors

from fiberscope.hw.fibers.allocator_rtl import BumpAllocatorParameters, NodeWriterParameters
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.fibers.pages_rtl import PageAllocatorParameters
from fiberscope.hw.fibers.sorted_head_rtl import SortedHeadParameters
from fiberscope.hw.lanes.counter_banks_rtl import CounterBanksParameters
from fiberscope.hw.memory.atomic_update_rtl import AtomicUpdateParameters
from fiberscope.hw.memory.prefetch_rtl import StreamPrefetcherParameters
from fiberscope.hw.memory.touched import FIND
from fiberscope.hw.memory.touched_rtl import TouchedBitmapParameters
from fiberscope.hw.networks.islip_rtl import IslipParameters
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, MEMORY_KINDS
from fiberscope.hw.streams.absent_values_rtl import MarkedArrayParameters
from fiberscope.hw.streams.accumulators_rtl import SparseAccumulatorParameters, TensorAccumulatorParameters
from fiberscope.hw.streams.counter_rtl import CounterParameters
from fiberscope.hw.streams.dense_rtl import DenseScannerParameters
from fiberscope.hw.streams.locator_rtl import LocatorParameters
from fiberscope.hw.streams.scanner_rtl import CompressedScannerParameters
from fiberscope.hw.streams.seek_rtl import ProjectionParameters, SeekParameters
from fiberscope.hw.streams.values_rtl import ArrayParameters
from fiberscope.hw.streams.writers_rtl import CompressedWriterParameters, ValuesWriterParameters

SIZES = (1, 2, 3, 4, 7, 8, 9)
SEED = 2  # even: the lists are not deepened


def check(block, parameters, inputs, **changes):
    """A block with these parameters and tokens, of which every cycle is compared; gives the cycles."""
    scenario = replace(SCENARIOS[block], inputs=lambda *_: inputs, **changes)
    return check_pair(scenario.pair(SEED, parameters))


def parted(elements, fibers):
    """So many numbers in so many fibers, the first of which are empty if there are too few."""
    bounds = [elements * i // fibers for i in range(fibers + 1)]
    return [[number(place) for place in range(*ends)] for ends in pairwise(bounds)]


@pytest.mark.parametrize("fibers", SIZES)
def test_a_compressed_writer_has_exactly_as_many_fibers_and_elements_as_it_can(fibers):
    for elements in (*SIZES, 16):
        given = CompressedWriterParameters(fibers, elements, coordinate_bits=4)
        lists = parted(elements, fibers)
        inputs = {"in_crd": stream(lists, 1) if fibers > 1 else stream(lists[0], 0)}
        assert check("compressed_writer", given, inputs) > fibers


@pytest.mark.parametrize("entries", SIZES)
def test_a_writer_of_values_has_exactly_as_many_as_it_can(entries):
    inputs = {"in_val": stream([value(float(place)) for place in range(entries)], 0)}
    assert check("values_writer", ValuesWriterParameters(entries, 8), inputs) > entries


@pytest.mark.parametrize("memory", MEMORY_KINDS)
@pytest.mark.parametrize("entries", SIZES)
def test_the_last_entries_of_an_array_are_read(entries, memory):
    places = [number(place) for place in (*range(entries), *reversed(range(entries)))]
    given = ArrayParameters(entries, 6, 8, memory=memory)
    assert check("array", given, {"in_ref": stream(places, 0)}) > entries
    marked = MarkedArrayParameters(entries, 6, 20, empty=-3)
    assert check("marked_array", marked, {"in_ref": stream([*places, EMPTY_TOKEN], 0)}) > entries


@pytest.mark.parametrize("memory", MEMORY_KINDS)
@pytest.mark.parametrize("fibers", [*SIZES, 16])
def test_a_scanner_reads_a_level_that_is_full(fibers, memory):
    for elements in SIZES:
        narrowest = max(4, max(fibers, elements - 1).bit_length())  # the number after the last fiber fits
        given = CompressedScannerParameters(fibers, elements, 8, narrowest, memory)
        lengths = [len(fiber) for fiber in parted(elements, fibers)]
        level = Level([sum(lengths[:i]) for i in range(fibers + 1)], range(100, 100 + elements))
        inputs = {"in_ref": stream([number(fiber) for fiber in (*range(fibers), fibers - 1)], 0)}
        assert check("compressed_scanner", given, inputs, contents=lambda *_, level=level: level) > fibers


@pytest.mark.parametrize("size", SIZES)
def test_dense_levels_end_behind_their_last_coordinate(size):
    references = [number(reference) for reference in (0, 3, 0)]
    assert (
        check("dense_scanner", DenseScannerParameters(size, 8, 12), {"in_ref": stream(references, 0)}) > size
    )
    coordinates = stream([number(place) for place in (*range(size + 2), size - 1)], 0)
    inputs = {"in_crd": coordinates, "in_ref": coordinates}
    assert check("locator", LocatorParameters(size, 0, 8, 8), inputs) > size


@pytest.mark.parametrize("size", SIZES)
def test_a_counter_ends_behind_its_last_coordinate(size):
    begins = [number(begin) for begin in (0, size - 1, size, 15)]
    for step in SIZES:
        for piece in (0, 1, 8, 9):
            given = CounterParameters(size, step, piece, 4, 4)
            assert check("counter", given, {"in_ref": stream(begins, 0)}) > len(begins)


@pytest.mark.parametrize("divisor", [*SIZES, 255, 256, 257])
def test_every_coordinate_of_a_byte_is_divided(divisor):
    """The factor of the remainder tells both numbers apart."""
    given = ProjectionParameters(2, 1, 1, divisor, 256, divisor, coordinate_bits=17)
    coordinates = stream([number(coordinate) for coordinate in range(256)], 0)
    assert check("projection", given, {"in_crd[0]": coordinates, "in_crd[1]": coordinates}) > 256


@pytest.mark.parametrize("fibers", SIZES)
def test_every_word_of_a_look_up_is_read(fibers):
    """Fibers are full and empty by turns; none has what lies behind the last coordinate of the one before."""
    for size in SIZES:
        full = size * ((fibers + 1) // 2)
        given = SeekParameters(fibers, size, full, 0, coordinate_bits=4, reference_bits=7)
        segments = [size * ((fiber + 1) // 2) for fiber in range(fibers + 1)]
        level = Level(segments, list(range(size)) * ((fibers + 1) // 2))
        asked = [(fiber, coordinate) for fiber in range(fibers) for coordinate in (*range(size), size, 15)]
        crd, base = (stream([number(pair[side]) for pair in asked], 0) for side in (1, 0))
        contents = {"contents": lambda *_, given=given, level=level: (given, level)}
        assert check("seek", given, {"in_crd": crd, "in_base": base}, **contents) > len(asked)


@pytest.mark.parametrize("points", [size for size in SIZES if size > 1])
def test_accumulators_hold_as_many_points_as_they_can_twice(points):
    places = [*reversed(range(points)), *range(points)] * 2
    values = [*(value(1.0 + place) for place in range(len(places))), DONE_TOKEN]
    inner = [*map(number, places), DONE_TOKEN]
    outer = [*(number(place // (2 * points)) for place in range(len(places))), DONE_TOKEN]
    inputs = {"in_crd_outer": outer, "in_crd_inner": inner, "in_val": values}
    assert check("sparse_accumulator", SparseAccumulatorParameters(points, 5, 16, 24, 1), inputs) > points
    tasks = {"in_crd[0]": inner, "in_val": values}
    half = len(places) // 2
    tasks = {
        label: [*tokens[:half], stop(0), *tokens[half:-1], stop(0), DONE_TOKEN]
        for label, tokens in tasks.items()
    }
    given = TensorAccumulatorParameters(points, 5, 16, 24, 1, 0, flushes=1)
    assert check("tensor_accumulator", given, tasks) > points


MERGE_CORES = [("systolic", COMBINATIONAL), *(("sequential", memory) for memory in MEMORY_KINDS)]


@pytest.mark.parametrize(("form", "memory"), MERGE_CORES)
@pytest.mark.parametrize("entries", SIZES)
def test_a_merge_core_has_a_list_in_every_entry(form, memory, entries):
    given = SortedHeadParameters(form, entries, column_bits=8, value_bits=0, memory=memory)
    rising = [[(column, 0.0) for column in (place, place + 100)] for place in range(entries)]
    inputs = {"tasks": [], "elements": []}
    for row, lists in enumerate((rising, rising[::-1])):
        inputs["tasks"].append((0, entries, row, 0.0))
        inputs["elements"] += heads_and_successors(lists)
    assert check("sorted_head", given, inputs) > entries


@pytest.mark.parametrize("bits", [1, 31, 32, 33, 64])
def test_every_bit_of_a_bitmap_is_set_and_found(bits):
    tokens = [*((0, place, 0, 0.0) for place in range(bits)), STOP_TOKEN] * 2
    inputs = {"sets[0]": tokens, "scans": [(FIND, 0, 0, 0.0)] * 2}
    assert check("touched", TouchedBitmapParameters(bits, 32, 1, 1, 12), inputs) > bits


@pytest.mark.parametrize("size", SIZES)
def test_the_last_of_rows_pages_and_addresses_is_given_out(size):
    nodes = [(1, row, 10 + row, 0.0) for row in (*range(size), *reversed(range(size)))]
    assert check("node_writer", NodeWriterParameters(size, 16, 4), {"nodes": nodes}) > size
    requests = [(0, 1, 0, 0.0)] * (size + 1)  # the last of them overflows
    given = BumpAllocatorParameters(5, 5 + size, size_bits=1, who_bits=1)
    assert check("bump_allocator", given, {"requests": requests}) > size
    pages = [(0, 0, 0, 0.0)] * size
    given = PageAllocatorParameters(2, (1 << 8) - 2 * size, page_bits=8)
    assert check("page_allocator", given, {f"page_requests[{i}]": pages for i in range(2)}) > size


@pytest.mark.parametrize("mode", ["stall", "forward"])
@pytest.mark.parametrize("entries", SIZES)
def test_every_destination_is_updated_and_read(entries, mode):
    places = [*range(entries), *reversed(range(entries))]
    inputs = {
        "updates": [*((0, place, 0, float(-place)) for place in places), STOP_TOKEN],
        "reads": [(0, place, 0, 0.0) for place in places],
    }
    assert (
        check("atomic_update", AtomicUpdateParameters(mode, entries=entries, value_bits=12), inputs) > entries
    )


@pytest.mark.parametrize("counters", SIZES)
def test_every_counter_of_the_banks_counts_and_is_read(counters):
    given = CounterBanksParameters(
        counters, 2, sweep_lanes=2, fetch_lanes=0, banks=2, counter_bits=16, word_bits=0
    )
    row = [[(0, place, 0, 0.0), EMPTY_LANE] for place in range(counters)]
    rows = [*row, [STOP_TOKEN, STOP_TOKEN]] * 2
    inputs = {"commands": [(kind, counters, 0, 0.0) for kind in (COUNT, FETCH, READ)]}
    inputs |= {f"updates[{lane}]": [tokens[lane] for tokens in rows] for lane in range(2)}
    inputs |= {f"starts[{lane}]": [] for lane in range(2)}
    assert check("counter_banks", given, inputs) > counters


@pytest.mark.parametrize("capacity", SIZES)
def test_channels_and_fifos_are_filled_behind_a_sink_that_rests(capacity, monkeypatch):
    rests = (8 * capacity + 60, *[0] * 9 * capacity)
    monkeypatch.setattr(pairs, "_stalls", lambda _generator: rests)  # the sources rest as long, then hurry
    tokens = [(0, place, 0, 0.0) for place in range(3 * capacity + 8)]
    given = ChannelParameters(capacity, 1, 0, 16, 0, 0)
    assert check_pair(replace(CHANNEL, inputs=lambda *_: {"in": tokens}).pair(SEED, given)) > capacity
    inputs = {f"inputs[{i}]": [(0, place % 2, 0, 0.0) for place in range(4 * capacity + 8)] for i in range(2)}
    for memory in MEMORY_KINDS:
        assert check("islip", IslipParameters(2, 2, capacity, 5, 0, 0, memory), inputs) > capacity


@pytest.mark.parametrize(("line_bytes", "element_bytes"), [(64, 12), (8, 1)])
def test_a_prefetcher_reads_a_job_of_thousands_of_elements(line_bytes, element_bytes, monkeypatch):
    monkeypatch.setattr(pairs, "_stalls", lambda _generator: (0,))
    given = StreamPrefetcherParameters(0, element_bytes, line_bytes, 4, 16, 32)
    jobs = [(0, 0, 4200, 0.0), (0, 12, 20, 0.0)]
    scenario = replace(PREFETCH, inputs=lambda *_: {"jobs": jobs})
    assert check_pair(scenario.pair(SEED, given)) > 4200


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 8])
def test_a_prefetcher_has_a_job_for_every_buffer(lines):
    given = StreamPrefetcherParameters(0, 8, 64, lines, 16, 32)
    jobs = [(0, 64 * place, 64 * place + 3, 0.0) for place in range(4 * lines)]
    scenario = replace(PREFETCH, inputs=lambda *_: {"jobs": jobs})
    assert check_pair(scenario.pair(SEED, given)) > lines


def test_a_prefetcher_reads_up_to_its_last_element():
    """Of elements as large as a line: the highest bit of a line's number is that of an element's."""
    given = StreamPrefetcherParameters(0, 16, 16, 2, 9, 32)
    generator = random.Random(SEED)
    jobs = [(0, first, min(first + 3, 511), 0.0) for first in generator.sample(range(400, 510), 20)]
    jobs += [(0, 508, 511, 0.0), (0, 0, 2, 0.0)]
    assert check_pair(replace(PREFETCH, inputs=lambda *_: {"jobs": jobs}).pair(SEED, given)) > 20
