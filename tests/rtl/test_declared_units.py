"""A unit of one's own: the text of its docstring in files, and counters that its adapter cannot count."""

import pytest
import yaml

from fiberscope.hw.fibers import arithmetic_rtl
from fiberscope.hw.fibers.arithmetic import Accumulator
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.core_file import write_files
from fiberscope.hw.rtl.kit.unit import StatusCounter, Summed, elements, unit

SUMMARIES = {
    "a plain one": "Adds up what is in one place.",
    "quotes": """Adds up what is called a "run".""",
    "a backslash and a colon": "Adds up: see docs\\sums # twice.",
    "two lines": "Adds up what\n    is in one place.",
    "other letters": "Addiert Läufe - schnell, größer.",
}


class Watching(Adapter):
    """An adapter that observes products only."""

    OBSERVED = ("products",)

    def observe(self, moved):
        super().observe(moved)


def declared(doc="Adds.", base=Adapter, **counters):
    """The unit of an accumulator with this docstring."""
    kind = type("Adder", (Accumulator,), {"__doc__": doc})
    ports = arithmetic_rtl.AccumulatorParameters, arithmetic_rtl.port_contents, arithmetic_rtl.design
    return unit("adder", kind, *ports, base=base, counters=counters)


@pytest.mark.parametrize("doc", SUMMARIES.values(), ids=SUMMARIES)
def test_any_docstring_is_one_line_of_each_file(doc, tmp_path):
    block = declared(doc)
    said = " ".join(doc.split()).rstrip(".")
    assert block.summary == said[:1].lower() + said[1:]
    *_sources, core = write_files(block, block.parameters(), tmp_path, "1.0.0")
    assert yaml.safe_load(core.read_text(encoding="utf-8"))["description"] == block.summary
    lines = (tmp_path / "adder.v").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"// adder: {block.summary}"
    assert lines[1].startswith("// ")


def values(token):
    return token[0]


def test_a_counter_of_what_the_adapter_does_not_observe_is_refused():
    declared(base=Watching, taken=Summed("products", values), emitted=elements("sums"))
    for counters in ({"sent": Summed("sums", values)}, {"held": StatusCounter("holding")}):
        with pytest.raises(ValueError, match=f"Watching does not observe .*: {next(iter(counters))}"):
            declared(base=Watching, **counters)


def test_two_counters_of_one_status_are_both_omitted_without_it():
    block = declared(first=StatusCounter("holding"), second=StatusCounter("holding"))
    assert block.adapter.COUNTED_BY["holding"] == ("first", "second")
