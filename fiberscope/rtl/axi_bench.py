"""A cocotb bench for a machine as one module, with AxiRam memories that stall at random.

The bench needs only cocotb and cocotbext-axi. Its parameters are in the file ``*_told.json`` beside it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiRam

Handle: TypeAlias = Any  # a handle of cocotb, or a model of cocotbext-axi

(BENCH_DATA,) = (
    json.loads(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*_told.json")
)
SIZES: dict[str, int] = BENCH_DATA["bytes"]
LINE, ELEMENT, VALUE, PAGE = (SIZES[name] for name in ("line", "element", "value", "page"))  # bytes
PRODUCT_ADDRESS: int = BENCH_DATA["z"]  # address of Z
STALL_RATE = 0.3  # share of the cycles in which a memory channel stalls
QUIET_CYCLES = 200  # cycles without activity after which the machine is done
MAX_CYCLES = 100_000  # cycles
SPACE = 1 << 48  # bytes


def stalls(generator: random.Random) -> Iterator[bool]:
    """Yield whether a channel stalls, cycle by cycle."""
    while True:
        yield generator.random() < STALL_RATE


def ram(dut: Handle, number: int, shared: Handle = None) -> Handle:
    """Return the memory at a port, whose channels stall at random.

    Args:
        dut: the machine.
        number: number of the port, which is also the seed of the stalls.
        shared: content of another memory that this memory shares; None for a content of its own.
    """
    memory = AxiRam(AxiBus.from_prefix(dut, f"m{number}_axi"), dut.clk, dut.rst, size=SPACE, mem=shared)
    writes, reads, generator = memory.write_if, memory.read_if, random.Random(number)
    for channel in (writes.aw_channel, writes.w_channel, writes.b_channel, reads.ar_channel, reads.r_channel):
        channel.set_pause_generator(stalls(generator))
    return memory


async def watch(dut: Handle, prefix: str, fields: Sequence[str]) -> None:
    """Fail if a master ends or changes an offer before it is taken; AXI forbids both. It never returns.

    Args:
        dut: the machine.
        prefix: what the names of the channel's ports begin with.
        fields: fields that have to stay unchanged.
    """
    valid, ready = (getattr(dut, f"{prefix}{name}") for name in ("valid", "ready"))
    wires = [getattr(dut, f"{prefix}{name}") for name in fields]
    pending_offer: list[int] | None = None  # the offer of the cycle before, if it was not taken
    while True:
        await RisingEdge(dut.clk)
        offer = [int(wire.value) for wire in wires] if int(valid.value) else None
        assert pending_offer is None or offer == pending_offer, f"{prefix} takes back what it offered"
        pending_offer = None if offer is None or int(ready.value) else offer


def pointers() -> tuple[int, int]:
    """Return the address of the row pointers of Z, and the number of their bits for the end of a row.

    The low bits of a pointer are the end of its row among the elements of Z that a processing element writes.
    The bits above are the number of the processing element. An empty row has the pointer 0.
    """
    return BENCH_DATA["pointers"]["z"], BENCH_DATA["pointers"]["end_bits"]


class Element:
    """The pages of Z of a processing element, in order.

    Args:
        dut: the machine.
        number: number of the processing element.
    """

    def __init__(self, dut: Handle, number: int) -> None:
        self._paged, self._ended = (getattr(dut, f"{name}_{number}") for name in ("paged", "ended"))
        self.pages: list[int] = []

    def address_of(self, number: int) -> int:
        """Return the address of element ``number`` of Z, counted within this processing element.

        Raises:
            IndexError: the processing element has not received the page of this element.
        """
        page, offset = divmod(number * ELEMENT, PAGE)
        return PRODUCT_ADDRESS + self.pages[page] * PAGE + offset

    def record_page(self, page: int) -> tuple[int, int]:
        """Record a page if the element receives it now; return whether it does, and whether a task ends.

        Args:
            page: the number that the page gets if it is received.
        """
        has_page = int(self._paged.value)
        if has_page:
            self.pages.append(page)
        return has_page, int(self._ended.value)


async def record_pages(dut: Handle, elements: Sequence[Element]) -> None:
    """Record the pages of each element until all tasks have ended and nothing happens for ``QUIET_CYCLES``.

    Pages are numbered in the order in which the elements receive them, by ascending element within a cycle.

    Raises:
        AssertionError: ``MAX_CYCLES`` cycles have passed before.
    """
    pages = ended_tasks = quiet_cycles = 0
    for _ in range(MAX_CYCLES):
        await RisingEdge(dut.clk)
        for element in elements:
            has_page, is_task_end = element.record_page(pages)
            pages, ended_tasks = pages + has_page, ended_tasks + is_task_end
        quiet_cycles = 0 if int(dut.pending.value) else quiet_cycles + 1
        if ended_tasks == BENCH_DATA["tasks"] and quiet_cycles >= QUIET_CYCLES:
            return
    raise AssertionError(f"{ended_tasks} of {BENCH_DATA['tasks']} tasks have ended in {MAX_CYCLES} cycles")


def product(memory: Handle, elements: Sequence[Element]) -> dict[int, list[tuple[int, int]]]:
    """Return the rows of Z in memory, by its row pointers: columns, and the bits of values."""
    first, end_bits = pointers()
    ends = [number(memory, first + 4 * row, 4) for row in range(len(BENCH_DATA["product"]["pointers"]) - 1)]
    entries = {}
    for i, element in enumerate(elements):
        start, rows = 0, [row for row, pointer in enumerate(ends) if pointer and pointer >> end_bits == i]
        # an element writes its rows without gaps: a row begins where the row with the next lower end ends
        for row in sorted(rows, key=ends.__getitem__):
            end = ends[row] & (1 << end_bits) - 1
            addresses = [element.address_of(index) for index in range(start, end)]
            entries[row] = [(number(memory, at, 4), number(memory, at + 4, VALUE)) for at in addresses]
            start = end
    return entries


def number(memory: Handle, address: int, size: int) -> int:
    """Return the number of ``size`` bytes at an address."""
    return int.from_bytes(memory.read(address, size), "little")


def expected() -> dict[int, list[tuple[int, int]]]:
    """Return the non-empty rows of the event model's product, in the same form."""
    z = BENCH_DATA["product"]
    elements = list(zip(z["columns"], z["values"], strict=True))
    bounds = zip(z["pointers"], z["pointers"][1:], strict=False)  # equal bounds are those of an empty row
    return {row: elements[slice(*pair)] for row, pair in enumerate(bounds) if len(set(pair)) > 1}


async def load(dut: Handle) -> None:
    """Fill the memories within, a word a cycle."""
    dut.load_valid.value = 1
    for table, address, word in BENCH_DATA["load"]:
        dut.load_table.value, dut.load_address.value, dut.load_word.value = table, address, word
        await RisingEdge(dut.clk)
    dut.load_valid.value = 0


@cocotb.test()
async def the_product_is_right_and_the_protocol_is_kept(dut: Handle) -> None:
    """From the first line of A to the last one of Z."""
    Clock(dut.clk, 2, unit="ns").start()
    memory = ram(dut, 0)
    for i in range(1, BENCH_DATA["channels"]):
        ram(dut, i, memory.mem)  # the ports are channels of one memory
    for address, line in BENCH_DATA["memory"]:
        memory.write(address, int(line).to_bytes(LINE, "little"))
    dut.load_valid.value, dut.rst.value = 0, 1
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    for i in range(BENCH_DATA["channels"]):
        for channel, fields in (("ar", ("id", "addr")), ("aw", ("id", "addr")), ("w", ("data", "last"))):
            cocotb.start_soon(watch(dut, f"m{i}_axi_{channel}", fields))
    elements = [Element(dut, i) for i in range(BENCH_DATA["elements"])]
    await load(dut)
    await record_pages(dut, elements)
    assert product(memory, elements) == expected()
