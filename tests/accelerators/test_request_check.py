"""Every request that memory gets is one of its tensor's; what is not is told, as planted faults are.

The requests of the machines' other tests are held to it too, by ``conftest.py``.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from machine_case import cases

from fiberscope import cli
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.extensor import ExTensor
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.accelerators.outerspace import layout, machine
from fiberscope.accelerators.outerspace.layout import OperandLayout
from fiberscope.accelerators.request_check import RequestCheck, checked_requests
from fiberscope.accelerators.testing import run_to_end
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, READ_BURST, TENSOR_SHIFT, WRITE, WRITE_BURST

CASES = cases()
B = 1 << TENSOR_SHIFT
Z = 2 << TENSOR_SHIFT
every_make = pytest.mark.parametrize(
    ("case", "variant"),
    [
        pytest.param(case, variant, id=f"{name}, {variant}")
        for name, case in CASES.items()
        for variant in case.variants
    ],
)


def faults_of(machine):
    with checked_requests(machine) as check:
        run_to_end(machine)
        check.finish()
    return check.faults


@every_make
def test_every_request_is_one_of_its_tensors(case, variant):
    machine = case.build(variant, case.operands())
    if machine.memory() is None:
        with pytest.raises(ConfigurationError, match="the machine has no memory whose requests could be"):
            RequestCheck(machine)
    else:
        assert faults_of(machine) == []


class Worked:
    """A machine of two users in front of a memory of lines of 64 bytes and bursts of 32."""

    NAME = "worked"
    tensors = {"A": (0,), "B": (1,), "Z": (2,)}  # noqa: RUF012
    channels = ("one",)
    users = ((SimpleNamespace(name="reader"), "", ""), (SimpleNamespace(name="writer"), "", ""))
    ports_per_user, request_bytes = 1, 64
    memory_parameters = SimpleNamespace(burst_bytes=32)

    def __init__(self, *layouts):
        self.layouts = lambda: layouts


def told(layouts, *requests, ends=True):
    """What is told of these requests: operation, address and port each, one a cycle."""
    check = RequestCheck(Worked(*layouts))
    for now, (operation, address, port) in enumerate(requests):
        check.note(now, operation, address, port << PORT_SHIFT | 5)
    if ends:
        check.finish()
    return check.faults


OPERAND = Layout.whole(0, 100, Role.OPERAND)  # two lines


@pytest.mark.parametrize(
    ("layouts", "requests", "faults"),
    [
        ([OPERAND], [(READ, 0, 0), (READ, 64, 0), (READ, 0, 1)], []),
        ([OPERAND], [(READ, 64, 0)], ["A: 1 lines are never read, the first at 0x0"]),
        (
            [OPERAND],
            [(READ, 0, 0), (READ, 64, 0), (READ, 128, 0)],
            ["A: reader reads 0x80 in cycle 2 of memory: no array lies there"],
        ),
        (
            [OPERAND],
            [(READ, 0, 0), (WRITE, 64, 1)],
            [
                "A: writer writes 0x40 in cycle 1 of memory: the array is only read",
                "A: 1 lines are never read, the first at 0x40",
            ],
        ),
        (
            [Layout(0, 256, Role.OPERAND, [(0, 10), (130, 140)])],
            [(READ, 0, 0), (READ, 64, 1), (READ, 128, 0)],
            ["A: 1 lines are read that nobody needs, the first at 0x40 by writer in cycle 1 of memory"],
        ),
        (
            [Layout(B, 128, Role.WORK)],
            [(WRITE_BURST, B + 4, 1), (READ, B, 0), (READ_BURST, B + 32, 0), (READ, B + 64, 0)],
            [
                "B: reader reads 0x10000000020 in cycle 2 of memory: it was never written",
                "B: reader reads 0x10000000040 in cycle 3 of memory: it was never written",
            ],
        ),
        (
            [Layout.whole(Z, 64, Role.PRODUCT)],
            [(WRITE, Z, 0), (WRITE, Z, 1), (READ, Z, 0)],
            [
                "Z: writer writes 0x20000000000 in cycle 1 of memory: the array is written once, "
                "and reader did in cycle 0",
                "Z: reader reads 0x20000000000 in cycle 2 of memory: the array is only written",
            ],
        ),
        *(
            (
                [Layout.whole(Z, 128, role)],
                [(WRITE, Z, 1)],
                ["Z: 1 lines are never written, the first at 0x20000000040"],
            )
            for role in (Role.STATE, Role.WORK, Role.PRODUCT)
        ),
        (
            [Layout(Z, 128, Role.WORK, [(0, 64)])],
            [(WRITE, Z, 1), (WRITE, Z + 64, 1)],
            [
                "Z: 1 lines are written that nobody needs, "
                "the first at 0x20000000040 by writer in cycle 1 of memory"
            ],
        ),
        (
            [Layout.stream((READ, 0, 0), 512, 128)],
            [(READ, 0, 0), (READ, 64, 0), (READ, 64, 0)],
            ["A: reader reads 0x40 in cycle 2 of memory: the array is read once, and reader did in cycle 1"],
        ),
        (
            [OPERAND, Layout(64, 64, Role.STATE)],
            [(READ, 0, 0), (READ, 64, 0)],
            [
                "A: an array at 0x40 lies over one of A, 0x0 to 0x80",
                "A: 1 lines are never read, the first at 0x40",
            ],
        ),
        (
            [Layout(0, 100, Role.OPERAND), Layout(104, 20, Role.STATE)],
            [],
            ["A: an array at 0x68 lies over one of A, 0x0 to 0x80"],  # they share a line
        ),
        ([Layout(0, 100, Role.OPERAND, ahead=64)], [(READ, 128, 0)], []),
        (
            [Layout(0, 100, Role.STATE, ahead=64)],
            [(WRITE, 128, 0), (READ, 192, 0)],
            [
                "A: reader writes 0x80 in cycle 0 of memory: it goes beyond the last line of the array",
                "A: reader reads 0xc0 in cycle 1 of memory: no array lies there",
            ],
        ),
        (
            [OPERAND],
            [(READ, 0, 7), (READ, 64, 0), (READ, 7 << TENSOR_SHIFT, 7)],
            ["tensor 7: port 7 reads 0x70000000000 in cycle 2 of memory: no array lies there"],
        ),
    ],
)
def test_worked_requests(layouts, requests, faults):
    assert told(layouts, *requests) == faults


def test_a_machine_that_does_not_say_where_its_tensors_lie_is_refused():
    with pytest.raises(ConfigurationError, match=r"^worked should say in layouts\(\) where its tensors lie"):
        RequestCheck(Worked())


@pytest.mark.astray
def test_planted_a_stream_that_begins_a_line_late_is_found():
    class Late(MemoryStream):
        def __init__(self, name, operation, tensor, start, port, **options):
            super().__init__(name, operation, tensor, start + 64 * name.endswith(".z"), port, **options)

    case = CASES["extensor"]
    machine = case.build("tiny", case.operands(), parts={"stream": Late})
    assert isinstance(machine, ExTensor)
    never, needless = faults_of(machine)
    assert never == "Z: 1 lines are never written, the first at 0x30000000000"
    assert needless.startswith("Z: 1 lines are written that nobody needs, the first at 0x3000")
    assert "by extensor.stream.z in cycle" in needless


@pytest.mark.astray
def test_planted_merging_elements_that_share_a_region_are_found(monkeypatch):
    regions = layout.merger_regions
    for module in (layout, machine):
        monkeypatch.setattr(module, "merger_regions", lambda number, mergers: regions(number // 2, mergers))
    case = CASES["outerspace"]
    faults = faults_of(case.build("tiny", case.operands()))
    assert any("Z: an array at 0x30000000000 lies over one of Z" in fault for fault in faults)


@pytest.mark.astray
def test_planted_operands_that_lie_over_one_another_are_found(monkeypatch):
    """The product is right all the same: tokens carry no data."""
    of = OperandLayout.from_matrix
    monkeypatch.setattr(OperandLayout, "from_matrix", lambda _tensor, _start, *matrix: of(0, 0, *matrix))
    case = CASES["outerspace"]
    a, b = case.operands()
    machine = case.build("tiny", (a, b))
    assert "A: an array at 0x0 lies over one of A, 0x0 to 0x80" in faults_of(machine)
    assert abs(machine.result() - a @ b).max() == 0


LANES = "LANE_BYTES = 1 << 32"


@pytest.mark.astray
def test_a_run_that_is_checked_tells_what_is_wrong(tmp_path, capsys):
    """Lanes that are 64 bytes apart: each reads rows of the next, and writes over them."""
    folder = shutil.copytree(Path(CASES["inner_product"].accelerator).parent, tmp_path / "machine")
    source = (folder / "machine.py").read_text(encoding="utf-8")
    assert source.count(LANES) == 1
    matrix = "uniform:rows=60,cols=60,nonzeros=300"
    command = ["sim", str(folder / "machine.py"), matrix, "--checked", "-q"]
    assert cli.run(command) == 0
    (folder / "machine.py").write_text(source.replace(LANES, "LANE_BYTES = 1 << 6"), encoding="utf-8")
    assert cli.run(command) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("fiberscope: A: inner_product.lane00.stream_a reads 0x40 in cycle ")
    assert "of memory: the array is read once, and inner_product.lane01.stream_a did in cycle" in lines[0]
    assert len(lines) == 21
    assert lines[20].startswith("and ")


def test_a_machine_without_memory_is_refused(refusal):
    error = refusal("sim", "weight_stationary", "uniform:rows=6,cols=6,nonzeros=9", "--checked")
    assert error == "fiberscope: the machine has no memory whose requests could be checked\n"


def test_a_conversion_is_checked():
    matrix = "uniform:rows=30,cols=30,nonzeros=90"
    assert cli.run(["convert", "csr", "csc", matrix, "--checked", "-q"]) == 0
