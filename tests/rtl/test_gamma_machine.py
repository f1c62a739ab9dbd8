"""All of a Gamma but its memory as one module in the machine's place: the same report, its own product."""

import re
from types import SimpleNamespace

import pytest
from whole_matrices import SMALL, written

from fiberscope.accelerators.gamma import machine_rtl
from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit import machine_module as kit
from fiberscope.results.errors import FailedRunError
from fiberscope.rtl import machine_module
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import PYRTL, cosimulate
from fiberscope.rtl.substitution import MACHINE

SETTINGS = (*SMALL, "memory.channels=2", "fibercache.size=4KiB")
SIMPLE = ("pe.radix=3", "fibercache.banks=1", "memory.channels=1")


def compared(folder, matrix, *settings, simulator=PYRTL, machine="gamma"):
    given = settings if machine != "gamma" else (*SETTINGS, *settings)
    return cosimulate(CosimRequest((MACHINE,), machine, matrix, settings=given), simulator, folder)


@pytest.mark.parametrize(
    ("seed", "settings"),
    [
        (12, (*SIMPLE, "format.element=16")),
        *(pytest.param(seed, (), marks=pytest.mark.slow) for seed in (20, *range(16, 32, 2))),
    ],
)
def test_it_is_the_event_model_and_makes_the_product(seed, settings, tmp_path):
    outcome = compared(tmp_path, written(tmp_path, seed, seed, 0.3), *settings)
    assert outcome.differences() == []
    assert outcome.entries() > 150
    assert outcome.rtl.verification.passed
    assert outcome.rtl.operations["partial_merge"] > 0
    kinds = {name.removeprefix("gamma.").rstrip("01") for name in outcome.rtl.components}
    assert kinds == {"top", "memory.channel"}


def test_planted_lines_of_memory_that_are_wrong_make_the_product_wrong(tmp_path, monkeypatch):
    operands = machine_rtl.operands
    monkeypatch.setattr(
        machine_rtl, "operands", lambda *given: {at: line ^ 1 << 32 for at, line in operands(*given).items()}
    )
    with pytest.raises(FailedRunError, match=r"with RTL at gamma\.top: the machine's product is wrong"):
        compared(tmp_path, written(tmp_path, 10, 10, 0.3), *SIMPLE)


@pytest.mark.slow
def test_planted_a_channel_that_takes_a_cycle_longer_is_seen(tmp_path, monkeypatch):
    joined = kit.joined

    def longer(parts, source, target, capacity, latency):
        return joined(parts, source, target, capacity, latency + (target == "pe00.tasks"))

    monkeypatch.setattr(kit, "joined", longer)
    outcome = compared(tmp_path, written(tmp_path, 10, 10, 0.3), *SIMPLE)
    assert outcome.differences()
    assert outcome.rtl.cycles > outcome.component.cycles
    assert re.fullmatch(
        r"gamma\.top: in cycle \d+, memory_requests\[\d\] is .+ of the component, .+ of the RTL",
        outcome.first_difference,
    )


def test_planted_what_networks_do_not_carry_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_rtl, "ARRAY", "none")
    with pytest.raises(InputError, match=r"gamma: .*a channel changes no width"):
        compared(tmp_path, written(tmp_path, 10, 10, 0.3), *SIMPLE)


def test_a_module_of_ones_own_without_status_outputs_is_refused(tmp_path, monkeypatch):
    given = (*SETTINGS, *SIMPLE)
    request = CosimRequest(
        (MACHINE,), "gamma", written(tmp_path, 10, 10, 0.3), settings=given, sources=("my_gamma.v",)
    )
    ports = machine_module.compose_parts(request)[1].interface().wires()
    others = [wire for wire in ports if wire.name != "pending"]
    assert len(others) == len(ports) - 1
    tool = SimpleNamespace(ports=lambda *_: others)
    monkeypatch.setattr(machine_module, "find_simulator", lambda _name: tool)
    with pytest.raises(InputError, match="the module gamma lacks the status outputs pending, which say"):
        machine_module.run_in_hdl(request, "icarus", tmp_path)


REFUSED = {
    (
        "gamma",
        "scheduler.output=cache",
    ): "machine: nobody reads Z in the FiberCache; set scheduler.output=memory",
    ("gamma", "pe.count=9"): "scheduler: elements must be from 1 to 8, not 9",
    ("sigma", "clock=1GHz"): "sigma does not exist as one module; gamma does",
}


@pytest.mark.parametrize(("machine", "setting"), REFUSED)
def test_what_no_module_does_is_refused(machine, setting, tmp_path):
    with pytest.raises(InputError, match=re.escape(REFUSED[machine, setting])):
        compared(tmp_path, written(tmp_path, 10, 10, 0.3), setting, machine=machine)
