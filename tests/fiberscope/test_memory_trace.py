"""The memory's requests out of a run, and back into its channels."""

import gzip
import itertools
import sys

import pytest

import fiberscope
from fiberscope import InputError, UnwrittenFileError, cli
from fiberscope.accelerators import find
from fiberscope.accelerators.problem_settings import configure
from fiberscope.hw.dram.replay import by_channel, replay
from fiberscope.hw.dram.trace_file import read_trace
from fiberscope.hw.memory.protocol import READ, READ_BURST, WRITE
from fiberscope.sim.kernel import Kernel

MATRIX = "uniform:rows=120,cols=120,nonzeros=900,seed=3"
SMALL = {"pe.count": 4, "memory.channels": 4}
ROWS = ("row_hits", "row_misses", "row_conflicts")


def run(path, model="dram", **options):
    return fiberscope.simulate(
        "gamma", MATRIX, settings={**SMALL, "memory.model": model}, memory_trace=path, **options
    )


def channels_of(report):
    return [one for name, one in sorted(report.components.items()) if ".memory.channel" in name]


@pytest.fixture(scope="module")
def specification():
    configured, _maker = configure(find("gamma"), None, {**SMALL, "memory.model": "dram"})
    return configured.memory.dram(64)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "out.trace"
    return path, run(path)


def test_a_trace_has_every_request_of_the_run(traced, specification):
    path, report = traced
    for requests, channel in zip(
        by_channel(read_trace(path), specification), channels_of(report), strict=True
    ):
        reads = sum(operation == READ for _cycle, operation, _address in requests)
        assert (reads, len(requests) - reads) == (channel.counters["reads"], channel.counters["writes"])
        assert all(before[0] <= after[0] for before, after in itertools.pairwise(requests))


def test_a_replayed_trace_makes_the_hits_misses_and_conflicts_of_the_run(traced, specification):
    path, report = traced
    for requests, channel in zip(
        by_channel(read_trace(path), specification), channels_of(report), strict=True
    ):
        again = replay(requests, specification, specification.requests_per_cycle)
        assert [again.counters[name] for name in ROWS] == [channel.counters[name] for name in ROWS]
        # in the machine replies may wait for the network besides
        assert again.counters["read_latency"] <= channel.counters["read_latency"]
        assert again.bytes_per_second <= specification.bytes_per_second


def test_a_trace_costs_no_cycle_and_the_simple_memory_makes_one_too(traced, tmp_path):
    _path, report = traced
    assert run(None).cycles == report.cycles
    simple = run(tmp_path / "simple.trace.gz", "simple")
    requests = read_trace(tmp_path / "simple.trace.gz")
    assert len(requests) == sum(one.counters["reads"] + one.counters["writes"] for one in channels_of(simple))


def test_the_command_prints_a_row_for_each_channel_and_one_for_all(traced, specification, printed):
    path, _report = traced
    arguments = ["memory", "replay", "gamma", str(path)]
    for key, value in SMALL.items():
        arguments += ["--set", f"{key}={value}"]
    rows = [line.split() for line in printed(*arguments).splitlines()[3:] if line]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "all"]
    for column in (1, 2, 5, 6, 7):
        numbers = [int(row[column].replace(",", "")) for row in rows]
        assert numbers[-1] == sum(numbers[:-1])
    assert float(rows[-1][8]) <= 4 * float(specification.bytes_per_second) / 2**30


def test_ramulator_traces_and_compressed_ones_are_read(tmp_path):
    path = tmp_path / "ramulator.trace.gz"
    path.write_bytes(gzip.compress(b"LD 0x40\nST 128\n"))
    assert read_trace(path) == [(0, 0, 64), (0, 1, 128)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"1 R 40\n2 X 80\n", "bad.trace:2: expected 'cycle R|W hexadecimal-address'"),
        (b"1 R 40 2\n", "bad.trace:1: expected"),
        (b"-1 R 40\n", "bad.trace:1: expected"),
        (b"1 R 10000000000000000\n", "and an address of 64 bits"),
        (b"1_0 R 40\n", "bad.trace:1: expected"),
        (b"LD 0b11\n", "bad.trace:1: expected"),
        (b"LD 1_0\n", "bad.trace:1: expected"),
        (b"1 R 4_0\n", "bad.trace:1: expected"),
        (b"\xd9\xa1 R 40\n", "bad.trace:1: expected"),  # a digit of another script
        (b"LD 0x40\n0x40 R\n", "bad.trace:2: expected 'LD|ST address' (Ramulator 2), with a cycle"),
        (b"3 20734016\n", "(Ramulator 1) or 'hexadecimal-address READ|WRITE cycle' (DRAMsim3)"),
        (b"\n1000000000000 R 40\n", "bad.trace:2: expected"),
        (b"\xff\xfe\n", "bad.trace:1: expected"),
        (b"", "has no requests"),
    ],
)
def test_what_is_no_trace_is_refused_in_a_line(text, said, tmp_path, refusal):
    path = tmp_path / "bad.trace"
    path.write_bytes(text)
    assert said in refusal("memory", "replay", "gamma", str(path))


FORMS = {
    "Fiberscope": "1 R 40\n2 W 0x80\n3 RB c0\n",
    "Ramulator 2": "LD 0x40\nST 128\nLD 0xC0\n",
    "Ramulator 1": "0x40 R\n128 W\n0xC0 R\n",
    "DRAMsim3": "0x40 READ 1\n80 WRITE 2\n0xC0 READ 3\n",
    "DRAMSys": "1: read 0x40\n2:\twrite 128 0xdeadbeef\n3:     read     0xC0\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_with_comments_and_in_small_letters(form, tmp_path):
    path = tmp_path / "some.trace"
    expected = [(READ, 0x40), (WRITE, 0x80), (READ_BURST if form == "Fiberscope" else READ, 0xC0)]
    cycles = [0, 0, 0] if form.startswith("Ramulator") else [1, 2, 3]
    text = FORMS[form]
    commented = "# a comment\n\n" + text.replace("\n", " // of a line\n", 1)
    for written in (text, text.lower(), commented, "\ufeff" + text, text.replace("\n", "\r\n")):
        path.write_text(written, encoding="utf-8", newline="")
        requests = read_trace(path)
        assert [(operation, address) for _cycle, operation, address in requests] == expected
        assert [cycle for cycle, _operation, _address in requests] == cycles


def test_addresses_of_64_bits_are_taken_modulo_those_of_a_channel(tmp_path):
    path = tmp_path / "some.trace"
    path.write_text("0x7fff00000040 R\n0xffffffffffffffc0 W\n")
    assert read_trace(path) == [(0, READ, 0x7FFF00000040 % (1 << 43)), (0, WRITE, (1 << 43) - 0x40)]


def test_empty_lines_of_a_trace_are_read_over(tmp_path):
    path = tmp_path / "some.trace"
    path.write_bytes(b"\n1 R 40\r\n \n2 W 80\n\n")
    assert read_trace(path) == [(1, 0, 0x40), (2, 1, 0x80)]


def test_an_interrupted_replay_has_no_table(traced, monkeypatch, capsys):
    path, _report = traced

    class Interrupted(Kernel):
        def run(self, **options):
            self.interrupt()
            return super().run(**options)

    monkeypatch.setattr(sys.modules["fiberscope.hw.dram.replay"], "Kernel", Interrupted)
    assert cli.run(["memory", "replay", "gamma", str(path)]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["none.trace", ".", "short.trace.gz"])
def test_a_trace_that_cannot_be_read_is_refused_in_a_line(name, tmp_path, refusal):
    (tmp_path / "short.trace.gz").write_bytes(gzip.compress(b"1 R 40\n" * 99)[:20])
    assert "cannot be read" in refusal("memory", "replay", "gamma", str(tmp_path / name))


def test_requests_of_a_size_that_channels_cannot_serve_are_refused(traced, refusal):
    path, _report = traced
    assert "48-byte line" in refusal("memory", "replay", "gamma", str(path), "--request-bytes", "48")


def test_a_trace_over_an_input_or_over_no_file_is_refused(tmp_path):
    matrix = tmp_path / "a.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n")
    with pytest.raises(InputError, match="which it would overwrite"):
        fiberscope.simulate("gamma", matrix, memory_trace=matrix)
    with pytest.raises(InputError, match="it is no file"):
        run("/dev/null")
    assert not list(tmp_path.glob("*.partial"))


def test_a_disk_that_is_full_costs_the_trace_and_not_the_run(monkeypatch, tmp_path):
    class Full:
        def write(self, _text):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr("fiberscope.results.recording.memory_trace.gzip.open", lambda *_arguments: Full())
    with pytest.raises(UnwrittenFileError, match="No space left") as raised:
        run(tmp_path / "out.trace.gz")
    assert raised.value.report.complete
    assert list(tmp_path.iterdir()) == []
