"""RTL of the page allocator, ``fiberscope.hw.fibers.pages.PageAllocator``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.pages import PageAllocator
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.trees import ones_up_to
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit
from fiberscope.sim.component import Component

FIRST_PAGES = 0, 1 << 20  # range of the number of the first page
PAGE_BITS = 8, 32  # range of the width of a page number


@dataclass(frozen=True)
class PageAllocatorParameters(Parameters):
    """Parameters of a page allocator.

    Args:
        askers: number of writers that request pages, 1 to 128.
        first: number of the first page, up to 2**20, and at most the largest page number.
        page_bits: width of a page number in bits, 8 to 32.
    """

    askers: int = number(8, 1, 128)
    first: int = number(0, *FIRST_PAGES, lambda own: (0, (1 << own.page_bits) - 1))
    page_bits: int = number(32, *PAGE_BITS)


def port_contents(parameters: PageAllocatorParameters) -> PortContents:
    """Return the fields of each port. A request carries no data, but a stream needs a field: ``control``."""
    page = {"reference": Field("reference", parameters.page_bits, "unsigned")}
    return {"page_requests": Each({"control": 1}, parameters.askers), "pages": Each(page, parameters.askers)}


def design(parameters: PageAllocatorParameters, streams: Streams) -> None:
    """Build the allocator: a register with the number of assigned pages, and a prefix sum of the requests.

    A writer gets the next page plus the number of writers before it that get a page in the same cycle. Page
    numbers wrap around after the largest number of ``page_bits`` bits; those of the event class do not.
    """
    askers, pages = list(streams.inputs.values()), list(streams.outputs.values())
    gets = [asker.valid & page.ready for asker, page in zip(askers, pages, strict=True)]
    counts = ones_up_to(gets)  # the last count is the number of pages assigned in this cycle
    width = parameters.page_bits
    given: Signal = pyrtl.Register(width, "given")
    given.next <<= (given + counts[-1])[:width]
    following = alias("following", (given + parameters.first)[:width])
    # Exclusive prefix sum: the pages that writers before this one get in the same cycle.
    before = [pyrtl.Const(0, len(counts[0])), *counts[:-1]]
    for asker, page, count in zip(askers, pages, before, strict=True):
        # Request and page move in the same cycle, so that no request is held
        asker.accept(page.ready)
        page.send(asker.valid, {"reference": (following + count)[:width]})


def connected(component: Component) -> dict[str, int]:
    """Return the parameters that follow from the connections of a component."""
    return {"askers": len(component.channels("pages"))}


BLOCK = unit(
    "page_allocator",
    PageAllocator,
    PageAllocatorParameters,
    port_contents,
    design,
    arguments=("first",),
    connected=connected,
    counters={"pages": lambda adapter: sum(end.tokens for end in adapter.ends if end.is_input)},
    awaits=False,
    any_of=("pages",),
    arbiters=("pages",),
)
