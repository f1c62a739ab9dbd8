"""The command file for the viewer Surfer beside a waveform."""

from networks import Node
from vcd_reader import read_vcd
from watched import funnel, trace

from fiberscope.sim import Kernel, Signal
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens
from fiberscope.sim.trace import write_vcd


class WiredSource(StreamSource):
    """A source with a vector, which Surfer would show as hexadecimal."""

    def signals(self):
        return (Signal("left", 8, "wire"),)

    def sample(self):
        return (200,)


def test_the_commands_for_surfer_name_signals_of_the_file_and_focus_the_rows_of_vectors(tmp_path):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    for number in range(12):
        source = kernel.add(WiredSource(f"toy.pe{number}.source", data_tokens(range(20))))
        sink = kernel.add(StreamSink(f"toy.pe{number}.sink", (*(0,) * (15 - number), 9)))
        kernel.connect(source, "out", sink, "in", capacity=4)
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False):
        kernel.run()
    wave = read_vcd(tmp_path / "run.vcd")
    commands = [line.split(" ") for line in (tmp_path / "run.sucl").read_text().splitlines()[1:]]
    rows = [words[1] for words in commands if words[0] in ("divider_add", "variable_add")]
    assert rows[0] == "states"
    shown = rows.index("toy.pe11")
    assert [row.rpartition(".")[2] for row in rows[1:shown]] == ["state"] * 24
    assert {row.rpartition(".")[0] for row in rows[shown + 1 :]} == {"toy.pe11.source", "toy.pe11.sink"}
    assert {row for row in rows if row not in ("states", "toy.pe11")} <= set(wave.signals)
    digits = str.maketrans("abcdefghijklmnop", "0123456789abcdef")
    focused = {rows[int(label[0].translate(digits), 16)] for name, *label in commands if name == "item_focus"}
    wires = {name for name, signal in wave.signals.items() if signal.type == "wire" and signal.width > 1}
    assert focused == wires & set(rows) == {"toy.pe11.source.left"}
    groups = [words[1] for words in commands if words[0] == "scope_add_as_group_recursive"]
    assert sorted(groups) == sorted({".".join(name.split(".")[:2]) for name in wave.signals} - {"toy.pe11"})
    changes = wave.signals["toy.pe11.source.state"].changes
    first = next(time for time, state in changes if state == "full:out")
    assert commands[-1] == ["cursor_set", str(first)]


def test_without_a_stall_there_is_no_cursor(tmp_path):
    trace(tmp_path / "run.vcd", funnel((Node("source", 0, 0),)))
    assert "cursor_set" not in (tmp_path / "run.sucl").read_text()


class MarkedSource(WiredSource):
    """A source whose mark is set from the beginning."""

    def signals(self):
        return (Signal("seen", 1, "mark"),)

    def sample(self):
        return (1,)


def test_a_mark_in_the_first_cycle_has_a_cursor_in_both_viewers(tmp_path):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    source, sink = kernel.add(MarkedSource("source", data_tokens(range(3)))), kernel.add(StreamSink("sink"))
    kernel.connect(source, "out", sink, "in", capacity=4)
    with write_vcd(kernel, tmp_path / "run.vcd", colours=False):
        kernel.run()
    assert (tmp_path / "run.sucl").read_text().splitlines()[-1] == "cursor_set 0"
    zoom = next(line for line in (tmp_path / "run.gtkw").read_text().splitlines() if line.startswith("*"))
    assert zoom.split()[1] == "0"
