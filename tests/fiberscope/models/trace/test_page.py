"""The page of the trace model has all of the language; FIBERSCOPE_UPDATE_DOCS=1 writes its functions."""

import os
import re
from pathlib import Path

from fiberscope.models.trace import hardware, mapping
from fiberscope.models.trace.program import BUILT_IN
from fiberscope.models.trace.schema import EinsumSchema, MappingSchema, RankFormatSchema, SpecificationSchema
from fiberscope.models.trace.source import list_names

PAGE = Path(__file__).parents[4] / "docs" / "teaal.md"
START = "<!-- functions: written by tests/fiberscope/models/trace/test_page.py -->\n"
END = "<!-- end of functions -->\n"


def functions() -> str:
    """The table of functions, as Markdown."""
    rows = [f"| `{name}` | {one.arguments} | {one.meaning} |" for name, one in BUILT_IN.items()]
    return "\n".join(["", "| function | arguments | gives |", "| --- | --- | --- |", *rows, "", ""])


def test_the_table_of_functions_is_that_of_the_language() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _old, after = rest.split(END)
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        rest = functions() + END + after
        PAGE.write_text(before + START + rest, encoding="utf-8")
    assert rest.startswith(functions() + END)


def test_every_section_key_directive_class_and_specification_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    schemas = (SpecificationSchema, EinsumSchema, MappingSchema, RankFormatSchema)
    keys = {str(field.alias) for schema in schemas for field in schema.model_fields.values()}
    words = {*keys, *mapping._DIRECTIVES, *hardware._CLASSES, *list_names()}
    assert {word for word in words if not re.search(rf"`{word}\b", text)} == set()
