"""``fiberscope ablate``: every ideal is a setting that the machine takes; gains are against the base."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from fiberscope import accelerators
from fiberscope.accelerators import configuration
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.ablate import ablate, read_ablations

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
WITH_TABLE = [
    name for name in accelerators.names() if (accelerators.find(name).folder / "ablations.yaml").is_file()
]


def test_gains_are_against_the_run_as_configured(toy: str) -> None:
    base, *ideal, together = ablate(toy, SMALL, settings={"lane.pause": 5})
    assert (base.name, base.saved, base.share) == ("as configured", 0, 0.0)
    assert [one.name for one in ideal] == ["many lanes", "no pause"]
    for one in (*ideal, together):
        assert one.saved == base.cycles - one.cycles > 0
        assert one.share == pytest.approx(one.saved / base.cycles)
    assert together.cycles < min(one.cycles for one in ideal)


def test_the_command_prints_a_table_and_writes_json(toy: str, tmp_path: Path, printed) -> None:
    path = tmp_path / "out.json"
    out = printed("ablate", toy, SMALL, "--markdown", "--json", str(path))
    document = json.loads(path.read_text())
    assert [one["name"] for one in document] == ["as configured", "many lanes", "no pause", "all together"]
    for one in document:
        assert f"| {one['name']} | {one['cycles']:,} |" in out


@pytest.mark.parametrize("name", WITH_TABLE)
def test_every_ideal_is_a_setting_of_the_machine(name: str) -> None:
    kind = accelerators.find(name)
    rows = read_ablations(kind)
    assert len({row.name for row in rows}) == len(rows) > 2
    for row in rows:
        configuration.load(kind.configuration, kind.shipped, name=name, settings=row.settings)


def test_a_machine_without_a_table_is_refused(toy: str, tmp_path: Path) -> None:
    kind = dataclasses.replace(accelerators.find(toy), folder=tmp_path)
    with pytest.raises(InputError, match=r"its folder has no ablations\.yaml"):
        read_ablations(kind)


def test_a_mistake_in_a_table_is_named(toy: str, tmp_path: Path) -> None:
    kind = dataclasses.replace(accelerators.find(toy), folder=tmp_path)
    (tmp_path / "ablations.yaml").write_text("- {name: x, settings: {}, tells: y}\n")
    with pytest.raises(InputError, match=r"toy/ablations\.yaml: 0\.settings"):
        read_ablations(kind)


def test_what_is_taken_away_is_not_among_all_that_is_ideal(toy: str, tmp_path: Path) -> None:
    kind = dataclasses.replace(accelerators.find(toy), folder=tmp_path)
    (tmp_path / "ablations.yaml").write_text(
        "- {name: x, settings: {lane.count: 8}, tells: y}\n"
        "- {name: z, settings: {lane.pause: 9}, tells: y, takes_away: true}\n"
    )
    assert read_ablations(kind)[-1].settings == {"lane.count": 8}
    (tmp_path / "ablations.yaml").write_text(
        "- {name: z, settings: {lane.pause: 9}, tells: y, takes_away: true}\n"
    )
    assert [row.name for row in read_ablations(kind)] == ["z"]


def test_a_setting_of_a_table_that_cannot_be_is_refused_before_any_run(toy: str, tmp_path: Path) -> None:
    kind = dataclasses.replace(accelerators.find(toy), folder=tmp_path)
    shutil.copy(accelerators.find(toy).shipped, tmp_path)
    (tmp_path / "ablations.yaml").write_text("- {name: many, settings: {nothing: 3}, tells: y}\n")
    began: list[str] = []
    with pytest.raises(InputError, match=r"toy/ablations\.yaml: many: .*nothing"):
        ablate(kind, SMALL, tell=began.append)
    assert began == []


def test_a_setting_of_the_user_that_cannot_be_is_refused_before_any_run(toy: str) -> None:
    began: list[str] = []
    with pytest.raises(ConfigurationError, match=r"^settings: toy has no parameter nothing"):
        ablate(toy, SMALL, settings={"nothing": 3}, tell=began.append)
    assert began == []


def test_what_was_changed_comes_before_what_it_tells_and_nothing_is_padded(toy: str, printed) -> None:
    lines = [line for line in printed("ablate", toy, SMALL).splitlines() if line.strip()]
    assert lines[1].split("  ")[0] == "Changed"
    assert lines[1].endswith("What it tells")
    assert max(map(len, lines[3:])) < 110
