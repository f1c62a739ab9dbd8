"""Machines scaled to equal multipliers, bandwidth or area, and messages about those that cannot be."""

import re
from pathlib import Path

import pytest
from one_line import one_line

from fiberscope.accelerators import find, names
from fiberscope.accelerators.configuration import load, values
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.machine_scaling import scale_machines
from fiberscope.explore.sweeps.machines import parse_machine
from fiberscope.explore.sweeps.scaling import Rule, read_scaling
from fiberscope.template.new import new_machine

SMALL = "uniform:rows=20,cols=20,nonzeros=60"
WHY = "a rule of this test, which is long enough"


def scaled(
    *machines: str, same: tuple[str, ...], against: str = "gamma"
) -> tuple[dict[str, object], list[str]]:
    """The settings of the last machine, and the lines about those that changed."""
    several, lines = scale_machines([parse_machine(text) for text in machines], same, against)
    assert [machine.name for machine in several] == [text.partition("=")[0] for text in machines]
    return several[-1].set, lines


@pytest.mark.parametrize("machine", names())
def test_the_rules_of_every_machine_name_its_parameters_and_scale_in_proportion(machine: str) -> None:
    accelerator = find(machine)
    configured = values(load(accelerator.configuration, accelerator.folder / "config.yaml", name=machine))
    scaling = read_scaling(accelerator.folder)
    assert "multipliers" in scaling.same
    for resource, rule in scaling.same.items():
        assert rule.parameters.keys() <= configured.keys()
        own = scaling.compute_amount(resource, configured)
        if resource != "area":
            twice = {key: configured[key] * 2**power for key, power in rule.parameters.items()}  # type: ignore[operator]
            assert scaling.compute_amount(resource, {**configured, **twice}) == pytest.approx(2 * (own or 0))


def test_a_new_machine_can_be_scaled(here: Path) -> None:
    new_machine("mine", Path())
    settings, _ = scaled("gamma", "mine=./mine", same=("multipliers", "bandwidth"))
    assert settings == {"pe.count": 32, "memory.bandwidth": 8 * 8 * 2**30 // 2}
    settings, _ = scaled("large=./mine:pe.count=64", "mine=./mine", same=("area",), against="large")
    assert settings == {"pe.count": 64}


def test_multipliers_are_scaled_by_the_rule_and_said() -> None:
    settings, lines = scaled("gamma", "extensor", same=("multipliers",))
    assert settings == {"pe.count": 32, "llb.intersectors": 32}
    assert lines == ["--same multipliers: extensor has pe.count=32 (was 128), llb.intersectors=32 (was 128)"]
    assert scaled("gamma", "g=gamma:pe.radix=8", same=("multipliers",)) == ({"pe.radix": 8}, [])


def test_machines_are_told_apart_by_name_and_keep_their_own_settings() -> None:
    line = "--same multipliers: g has pe.count={} (was 2)"
    assert scaled("gamma", "g=gamma:pe.count=2", same=("multipliers",)) == (
        {"pe.count": 32},
        [line.format(32)],
    )
    machines = [parse_machine(text) for text in ("gamma", "g=gamma:pe.count=2")]
    several, lines = scale_machines(machines, ("multipliers",), "gamma", {"pe.count": 8})
    assert (several[-1].set, lines) == ({"pe.count": 8}, [line.format(8)])


def test_two_resources_are_scaled_one_after_the_other() -> None:
    settings, lines = scaled("gamma", "mine=extensor:pe.count=64", same=("multipliers", "bandwidth"))
    assert settings == {"pe.count": 32, "llb.intersectors": 64, "memory.bandwidth": 34_359_738_368}
    assert len(lines) == 2


def test_area_is_met_to_five_percent() -> None:
    small = "gamma:pe.count=16,pe.radix=4,fibercache.banks=32,fibercache.size=2MiB"
    settings, lines = scaled(
        f"g={small}", f"h={small.replace('pe.count=16', 'pe.count=32')}", same=("area",), against="g"
    )
    assert settings["pe.count"] == settings["fibercache.banks"]
    off = re.search(r", ([-+][0-9.]+)% of the area$", lines[0])
    assert off is not None
    assert abs(float(off[1])) <= 5


@pytest.mark.parametrize(
    ("machine", "same", "message"),
    [
        (
            "sigma",
            ("multipliers",),
            "sigma cannot have 32 multipliers by its rule; the nearest has 128 multipliers: dpe.count=1",
        ),
        (
            "outerspace",
            ("multipliers",),
            "outerspace cannot have 32 multipliers by its rule; the nearest has 64",
        ),
        (
            "weight_stationary",
            ("bandwidth",),
            "that of weight_stationary is not known; write it in scaling.yaml",
        ),
        ("graphicionado", ("area",), "graphicionado has no rule; write one in graphicionado/scaling.yaml"),
        ("sigma", ("bandwith",), "--same bandwith: there is no such resource; did you mean bandwidth?"),
        ("sigma", ("area", "bandwidth"), "--same area: leave out the other resources"),
    ],
)
def test_what_cannot_be_scaled_costs_a_line(machine: str, same: tuple[str, ...], message: str) -> None:
    with one_line(InputError, message):
        scaled("gamma", machine, same=same)


def test_a_limit_of_a_parameter_is_the_nearest() -> None:
    with pytest.raises(
        InputError, match="gamma cannot have 16,384 multipliers by its rule; the nearest has 256"
    ):
        scaled("sigma", "gamma", same=("multipliers",), against="sigma")


def test_a_rule_scales_only_to_whole_numbers() -> None:
    rule = Rule(source=WHY, parameters={"a": 1, "b": 0.5})
    assert rule.scale_parameters({"a": 3, "b": 4}, 4) == {"a": 12, "b": 8}
    assert rule.scale_parameters({"a": 3, "b": 4}, 2) is None
    assert rule.scale_parameters({"a": 3, "b": 4}, 1e-9) is None
    assert Rule(source=WHY, parameters={"a": 1}).scale_parameters({"a": 3}, 1e-12) is None


@pytest.mark.usefixtures("sweeps_here")
def test_the_command_says_what_it_changed(here: Path, printed) -> None:
    Path("list.txt").write_text(f"{SMALL}\n")
    words = [
        "suite",
        "gamma-2=gamma:pe.count=2",
        "gamma",
        "--workloads",
        "list.txt",
        "--workers",
        "1",
        "--quiet",
    ]
    shown = printed(*words, "--same", "multipliers")
    assert "--same multipliers: gamma has pe.count=2 (was 32)" in shown
    assert "Unequal" not in shown
