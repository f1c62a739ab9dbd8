"""Keys of a YAML file without a value: as if absent, whatever the schema of the file."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_document import read_document
from fiberscope.accelerators.yaml_schema import validate_document


class _Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    orders: dict[str, list[str]] = {}
    size: int = 3


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    inner: _Inner = _Inner()
    several: list[_Inner] = []


@pytest.mark.parametrize("nothing", ["", " ~", " null"])
def test_a_key_without_a_value_is_as_if_absent(nothing: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    for text in (
        f"inner:{nothing}\nname: x\n",
        f"name: x\nseveral:{nothing}\n",
        f"name: x\ninner:\n  orders:{nothing}\n  size:{nothing}\n",
        f"name: x\ninner:\n  orders:\n    Z:{nothing}\n",
        f"inner: {{orders:{nothing} }}\nname: x\n",
    ):
        path.write_text(text)
        assert validate_document(_File, read_document(path)) == _File(name="x"), text


def test_a_needed_key_without_a_value_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("name:\n")
    with pytest.raises(ConfigurationError, match=r"name is missing"):
        validate_document(_File, read_document(path))
