"""The page of blocks: pictures and tables of ports are those of the classes, and no page draws in letters."""

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from drawn_block import drawn_block

from fiberscope.hw.fibers.allocator import BumpAllocator, NodeWriter
from fiberscope.hw.fibers.arithmetic import Accumulator, Multiplier, PairMultiplier
from fiberscope.hw.fibers.intersect import SkipAheadIntersector, TwoFingerIntersector
from fiberscope.hw.fibers.intersection import MaskIntersector
from fiberscope.hw.fibers.list_writer import ListWriter
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.fibers.scanner import LevelScanner
from fiberscope.hw.fibers.sorted_head import SortedHeadUnit
from fiberscope.hw.lanes.adder_network import AdderNetwork
from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.comparator_bank import ComparatorBank
from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.divider import Divider
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.lanes.position_multiplier import PositionMultiplier
from fiberscope.hw.lanes.prefix_sum import PrefixPopcount, PrefixSum
from fiberscope.hw.lanes.sorting_network import SortingNetwork
from fiberscope.hw.memory.atomic_update import AtomicUpdate
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.prefetch import StreamPrefetcher
from fiberscope.hw.memory.touched import TouchedBitmap
from fiberscope.hw.networks.benes import BenesNetwork
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.sim.component import Input

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
# Not the horizontal rule, which a table printed by a command has below its heads.
# Arrows in code are no drawings. Code may be indented, as a step of a list.
CODE = re.compile(r"^ *```(?:python|dot)\n.*?^ *```$", re.MULTILINE | re.DOTALL)
LETTERS = re.compile(r"[\u2502-\u257f]|^(?! *<!--).*\s(?:<--|-+>)\s", re.MULTILINE)
BLOCKS = (
    *(Multiplier, PairMultiplier, Accumulator, HighRadixMerger, LevelScanner, TwoFingerIntersector),
    *(SkipAheadIntersector, MaskIntersector, PrefixSum, Divider),
    *(SortingNetwork, ClusterCounter, ComparatorBank, PositionMultiplier, Packer, CounterBanks),
    AdderNetwork,
    *(BenesNetwork, Regor, PrefixPopcount, SortedHeadUnit, BumpAllocator, NodeWriter, AtomicUpdate),
    *(TouchedBitmap, StreamPrefetcher, ListWriter, Crossbar, Concentrator, FiberCacheBank),
)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_the_committed_picture_is_that_of_the_block(block):
    """Set FIBERSCOPE_UPDATE_DOCS=1 to draw it again."""
    file = DOCS / "images" / "blocks" / f"{block.__name__}.svg"
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        file.write_text(drawn_block(block), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn_block(block)


def port_table(block):
    """Return the picture of a block and the table of its ports, as on the page of blocks."""
    rows = ["| port | direction | protocol | a token carries |", "| --- | --- | --- | --- |"]
    for port in block.PORTS:
        name = f"`{port.name}[i]`" if port.array else f"`{port.name}`"
        direction = "input" if isinstance(port, Input) else "output"
        kind = f"{direction}, optional" if port.optional else direction
        named = port.carries.fields.items()
        fields = ", ".join(word if word == field else f"{word}: {field}" for word, field in named)
        rows.append(f"| {name} | {kind} | {port.carries.name} | {fields or 'nothing'} |")
    picture = f"![{block.__name__} and its ports](images/blocks/{block.__name__}.svg)"
    return "\n".join([picture, "", *rows, ""])


def test_the_tables_of_ports_are_those_of_the_blocks():
    """Set FIBERSCOPE_UPDATE_DOCS=1 to write them again."""
    page = (DOCS / "blocks.md").read_text(encoding="utf-8")
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        for block in BLOCKS:
            picture = re.escape(port_table(block).splitlines()[0])
            page = re.sub(rf"{picture}\n(\n\|.*(\n\|.*)*\n)?", lambda _, block=block: port_table(block), page)
        (DOCS / "blocks.md").write_text(page, encoding="utf-8")
    assert [block.__name__ for block in BLOCKS if port_table(block) not in page] == []


def test_the_page_shows_each_of_them():
    shown = re.findall(r"\(images/blocks/(\w+)\.svg\)", (DOCS / "blocks.md").read_text(encoding="utf-8"))
    assert shown == [block.__name__ for block in BLOCKS]
    assert {file.stem for file in (DOCS / "images" / "blocks").iterdir()} == set(shown)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_inputs_are_at_the_left_and_outputs_at_the_right(block):
    texts = ET.fromstring(drawn_block(block)).iter(f"{SVG}text")
    places = {text.text: float(text.get("x")) for text in texts if text.get("class") is None}
    assert places.pop(block.__name__) == 0
    names = {f"{port.name}[i]" if port.array else port.name: isinstance(port, Input) for port in block.PORTS}
    assert {name: x < 0 for name, x in places.items()} == names


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_no_page_draws_in_letters(page):
    assert not LETTERS.search(CODE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("drawing", ["a  -->  [ Block ]", "replies   <--  [ Bank ]", "┌──┐"])
def test_a_drawing_in_letters_is_seen(drawing):
    assert LETTERS.search(f"# Page\n```\n{drawing}\n```\n")
