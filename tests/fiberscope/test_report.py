"""The report as a document: its keys, and writing it at once or not at all."""

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.results.report.files import check_writable

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"

# What others rely on; a key that goes away or is renamed needs a new schema.
KEYS = {
    "": "schema fidelity version accelerator parts complete ending workload problem config config_digest "
    "chosen cycles seconds operations traffic traffic_minimum_bytes memory product verification bottleneck "
    "components timeline iterations occupancies teaal energy area_um2 area edp conversions chain levels "
    "analytical source environment host",
    "workload": "name source origin digest shape nonzeros notice b more",
    "problem": "kind parameters title",
    "product": "shape nonzeros",
    "traffic.A": "read_bytes write_bytes useful_read_bytes useful_write_bytes",
    "memory": "row_hits row_misses row_conflicts bytes_per_second peak_bytes_per_second utilization counters",
    "verification": "reference passed max_relative_error tolerance missing extra overflows",
    "source": "digest modules path commit changed asked",
    "source.asked": "command machine factors tensors settings exact parts cycle_limit histograms "
    "checked graph chain",
    "environment": "python numpy scipy compiled build",
    "host": "seconds simulation_seconds ticks_per_second cycles_per_second multiplies_per_second "
    "computes_per_host_cycle hertz peak_memory_bytes compiled",
}
COMPONENT = "cycles busy input_stall output_stall idle input_stall_by_port output_stall_by_port counters"


@pytest.fixture
def report(toy: str) -> Report:
    return fiberscope.simulate(toy, SMALL)


def test_the_keys_others_rely_on(report: Report) -> None:
    document = json.loads(report.to_json())
    assert document["schema"] == "fiberscope-report-1"
    assert document["fidelity"] == "event"
    for path, names in KEYS.items():
        part = document
        for step in filter(None, path.split(".")):
            part = part[step]
        assert set(part) == set(names.split()), path
    assert set(document["components"]["toy.lane00.feeder"]) == set(COMPONENT.split())


def test_numbers_agree_with_one_another(report: Report) -> None:
    moved = sum(part.read_bytes + part.write_bytes for part in report.traffic.values())
    assert report.memory.bytes_per_second == pytest.approx(moved / report.seconds)
    assert report.memory.utilization == pytest.approx(
        report.memory.bytes_per_second / report.memory.peak_bytes_per_second
    )
    assert report.host.peak_memory_bytes > 10**6


def test_writing_replaces_the_file_at_once(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    report.write(path)
    assert json.loads(path.read_text())["accelerator"] == "toy"
    assert os.listdir(tmp_path) == ["out.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_failed_write_leaves_the_old_file_and_no_other(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "out.json"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(InputError, match=r"out\.json: cannot write it: No space left on device"):
        report.write(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_places_that_cannot_be_written_are_found_before_the_run(tmp_path: Path) -> None:
    check_writable(tmp_path / "out.json")
    with pytest.raises(InputError, match=r"is a folder; give the name of a file"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match=r"there is no folder .*none; make it first"):
        check_writable(tmp_path / "none" / "out.json")


def test_what_is_no_report_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text('{"schema": "another"}')
    with pytest.raises(InputError, match="not a report of the schema fiberscope-report-1"):
        Report.read(path)
    with pytest.raises(InputError, match="cannot read the report: No such file"):
        Report.read(tmp_path / "none.json")


def test_a_pipe_is_written_to_and_not_replaced(toy: str, tmp_path: Path) -> None:
    report = fiberscope.simulate(toy, SMALL)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    report.write(pipe)
    assert os.read(reader, 1 << 20).decode() == report.to_json()
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_a_link(toy: str, tmp_path: Path) -> None:
    report = fiberscope.simulate(toy, SMALL)
    (tmp_path / "link.json").symlink_to("real.json")
    report.write(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert Report.read(tmp_path / "real.json") == report
