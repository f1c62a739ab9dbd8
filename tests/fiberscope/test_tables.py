"""The tables in a machine's folder: a mistake in one is named in a line."""

import dataclasses
from pathlib import Path

import pytest

from fiberscope import accelerators
from fiberscope.accelerators import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.ablate import read_ablations
from fiberscope.explore.compare import read_published
from fiberscope.explore.speedups import read_designs

READERS = {"published.yaml": read_published, "designs.yaml": read_designs, "ablations.yaml": read_ablations}


@pytest.mark.parametrize("file", READERS)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ": is empty; docs/how_to_add_a_machine.md says what it should hold"),
        (b"# nothing yet\n", ": is empty; .*"),
        (b"- x: [1\n", ":2: not YAML: .*"),
        (b"\xff", ": not UTF-8 text, at byte 0"),
        (b"3\n", ": Input should be .*"),
    ],
)
def test_a_table_that_is_none_is_named(
    toy: str, file: str, content: bytes, says: str, tmp_path: Path
) -> None:
    kind = dataclasses.replace(accelerators.find(toy), folder=tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises((InputError, ConfigurationError), match=rf"^toy/{file}{says}$"):
        READERS[file](kind)
