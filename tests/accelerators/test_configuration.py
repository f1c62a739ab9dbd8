"""Parameters: three layers, one line for each mistake, and a source for every number we ship."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import Field, model_validator

from fiberscope import accelerators
from fiberscope.accelerators.configuration import (
    Bytes,
    Configuration,
    ConfigurationError,
    Hertz,
    Picoseconds,
    digest,
    header,
    leaf_keys,
    load,
    parameters,
    parse_settings,
)

SHIPPED = """# A made-up machine.
# [1] is a source.

clock: 1 GHz        # [1]
pe:
  # Said above.
  count: 32         # processing elements [1]
  ways: [1, 2]      # of each
                    # element [1]
buffer:
  size: 3 MiB       # [1]
  latency: 40 ns    # [1]
  policy: off       # or on
"""


class Elements(Configuration):
    count: int = Field(ge=1, le=64)
    ways: tuple[int, ...]


class Buffer(Configuration):
    size: Bytes
    latency: Picoseconds
    policy: Literal["off", "on"]


class Machine(Configuration):
    clock: Hertz
    pe: Elements
    buffer: Buffer

    @model_validator(mode="after")
    def _divides(self) -> "Machine":
        if self.buffer.size % self.pe.count:
            raise ValueError(f"buffer.size is {self.buffer.size}; pe.count {self.pe.count} should divide it")
        return self


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(SHIPPED)
    return path


def made(shipped: Path, *sets: str, file: Path | None = None) -> Machine:
    return load(Machine, shipped, name="made", file=file, settings=parse_settings(sets))


def test_the_shipped_file_alone(shipped: Path) -> None:
    machine = made(shipped)
    assert machine.model_dump() == {
        "clock": 10**9,
        "pe": {"count": 32, "ways": (1, 2)},
        "buffer": {"size": 3 * 2**20, "latency": 40_000, "policy": "off"},
    }


def test_a_file_goes_over_it_and_settings_over_both(shipped: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("pe: {count: 16}\nbuffer:\n  size: 1 MiB\n")
    machine = made(shipped, "pe.count=8", "buffer.policy=on", file=mine)
    assert (machine.pe.count, machine.buffer.size, machine.buffer.policy) == (8, 2**20, "on")


def test_settings_may_be_lists_and_quantities(shipped: Path) -> None:
    machine = made(shipped, "pe.ways=[4, 5]", "buffer.size=64KiB", "clock=1.5 GHz")
    assert (machine.pe.ways, machine.buffer.size, machine.clock) == ((4, 5), 65536, 1_500_000_000)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("pe.cuont=3", "--set: made has no parameter pe.cuont; did you mean pe.count?"),
        ("count=3", "--set: made has no parameter count; did you mean pe.count?"),
        ("pe=3", "--set: pe is a section; set pe.count, pe.ways"),
        ("pe.count=0", "--set: pe.count is 0; it should be greater than or equal to 1"),
        ("pe.count=true", "--set: pe.count is true; it should be a number"),
        ("pe.count=", "--set: pe.count is empty; it should be an integer"),
        ("pe.count=many", "--set: pe.count is many; it should be an integer"),
        ("pe.ways=[1, x]", "--set: pe.ways.1 is x; it should be an integer"),
        (
            "buffer.size=3 XB",
            "--set: buffer.size is 3 XB; "
            "it should be a size, such as 3 MiB, 64 KiB, 1 MB or a number of bytes",
        ),
        ("buffer.policy=offf", "--set: buffer.policy is offf; it should be 'off' or 'on'"),
        ("pe.count=7", "made: buffer.size is 3145728; pe.count 7 should divide it"),
        ("pe.count", "--set pe.count: write it as key=value, for example pe.count=64"),
        ("=7", "--set =7: write it as key=value, for example pe.count=64"),
    ],
)
def test_a_bad_setting_costs_one_line(shipped: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        made(shipped, setting)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pe:\n  cuont: 3\n", "mine.yaml:2: made has no parameter pe.cuont; did you mean pe.count?"),
        ("\npe:\n  count: 100\n", "mine.yaml:3: pe.count is 100; it should be less than or equal to 64"),
        ("pe: 3\n", "mine.yaml:1: pe is a section; set pe.count, pe.ways"),
        ("pe:\n  count: 1\n  count: 2\n", "mine.yaml:3: pe.count is given twice"),
        ("just text\n", "mine.yaml:1: expected parameters as 'key: value', found 'just text'"),
        ("[1, 2]\n", "mine.yaml:1: expected parameters as 'key: value', found a list"),
        ("pe: {count: 1\n", "mine.yaml:2: not YAML: expected ',' or '}', but got '<stream end>'"),
        ("pe:\n  {% if x %}\n  count: 1\n", "mine.yaml:2: a template of Jinja, not YAML; fill it in first"),
        ("a: &x 1\npe: {count: *x}\n", "mine.yaml:2: not YAML: an alias; write out the value"),
    ],
)
def test_a_bad_file_costs_one_line_with_its_place(shipped: Path, here: Path, text: str, message: str) -> None:
    Path("mine.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        made(shipped, file=Path("mine.yaml"))
    assert str(raised.value) == message


def test_a_file_that_cannot_be_read(shipped: Path, here: Path) -> None:
    Path("binary.yaml").write_bytes(b"pe: \xff\xfe")
    for name, message in {
        "none.yaml": "none.yaml: cannot read the configuration: No such file or directory",
        ".": ".: cannot read the configuration: Is a directory",
        "binary.yaml": "binary.yaml: not UTF-8 text, at byte 4",
    }.items():
        with pytest.raises(ConfigurationError) as raised:
            made(shipped, file=Path(name))
        assert str(raised.value) == message


def test_a_parameter_missing_from_the_shipped_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("clock: 1 GHz\npe: {count: 1, ways: []}\nbuffer: {size: 1, policy: on}\n")
    with pytest.raises(ConfigurationError, match=r"made: buffer\.latency is missing"):
        made(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(text="0\n\n0")  # a scalar over several lines
@given(text=st.text(max_size=60) | st.text("pe:count buffersz\n-[]{}#&*!|>'\"%@`0123456789.", max_size=60))
def test_any_text_is_a_configuration_or_one_line(shipped: Path, tmp_path: Path, text: str) -> None:
    mine = tmp_path / "fuzzed.yaml"
    mine.write_text(text, encoding="utf-8", errors="replace")
    said = ""
    try:
        made(shipped, file=mine)
    except ConfigurationError as error:
        said = str(error)
    assert "\n" not in said


def test_the_digest_is_of_the_meaning_not_the_writing(shipped: Path) -> None:
    other, same, mine = (made(shipped, *one) for one in (["buffer.size=1 MiB"], ["buffer.size=3072 KiB"], []))
    assert digest(same.model_dump(mode="json")) == digest(mine.model_dump(mode="json"))
    assert digest(other.model_dump(mode="json")) != digest(mine.model_dump(mode="json"))


def test_a_report_of_the_parameters_reads_back(shipped: Path, tmp_path: Path) -> None:
    machine = made(shipped, "clock=1.5 GHz", "buffer.latency=3.9 us")
    mine = tmp_path / "mine.json"
    mine.write_text(machine.model_dump_json())
    assert made(shipped, file=mine) == machine


def test_comments_beside_above_and_below_belong_to_the_parameter(shipped: Path) -> None:
    said = {parameter.key: parameter.comment for parameter in parameters(shipped)}
    assert said["pe.count"] == "Said above. processing elements [1]"
    assert said["pe.ways"] == "of each element [1]"
    assert header(shipped) == ["A made-up machine.", "[1] is a source."]


@pytest.mark.parametrize("name", accelerators.names())
def test_every_shipped_parameter_is_there_valid_and_explained(name: str) -> None:
    machine = accelerators.find(name)
    load(machine.configuration, machine.shipped, name=name)
    shipped = parameters(machine.shipped)
    assert sorted(parameter.key for parameter in shipped) == sorted(leaf_keys(machine.configuration))
    assert [parameter.key for parameter in shipped if not parameter.comment] == []
