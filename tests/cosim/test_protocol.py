"""The protocol of ports is checked in every loop and bench: each broken rule by module, port and cycle."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from optional_programs import needs
from relays import FAULTS, FOUR_VALUED, interface, loop, verilog

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.harness import harness
from fiberscope.hw.rtl.tools.hdl import Bench, HdlError, run
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from fiberscope.rtl import user_bench

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("block", ["relay"])
def test_each_broken_rule_is_named_in_a_loop_and_in_a_bench(block, simulator, tmp_path):
    texts = {name: verilog(name) for name in FAULTS}
    texts["side_by_side"] = harness("side_by_side", {name: interface(name) for name in FAULTS})
    for name, text in texts.items():
        (tmp_path / f"{name}.v").write_text(text)
    sources = tuple(tmp_path / f"{name}.v" for name in texts)
    found = tmp_path / "found.json"
    order = {"found": str(found)}
    run(Bench(sources, "side_by_side", (), "relay_bench", order, tmp_path / "bench"), simulator)
    for name, texts in json.loads(found.read_text()).items():
        _old, _new, expected, *cycles = FAULTS[name]
        if expected is None:
            assert texts == [None, None], name
            continue
        if name in FOUR_VALUED and simulator == "verilator":  # its registers begin as ones, not as X
            assert not any(" is X" in (text or "") for text in texts), (name, texts)
            continue
        pattern = re.escape(expected).replace("NUMBER", r"\d+")
        for text, cycle in zip(texts, cycles, strict=True):
            assert re.fullmatch(rf"{name}: in cycle {cycle}, {pattern}", text), (name, text)


@pytest.mark.slow
@needs("verilator")
@pytest.mark.parametrize("name", [name for name in FAULTS if name not in FOUR_VALUED])
def test_each_broken_rule_is_named_in_a_loop_with_a_library_of_verilator(name, tmp_path):
    source = tmp_path / f"{name}.v"
    source.write_text(verilog(name))
    backend = VerilatedBackend(VerilatedModule([source], interface(name), tmp_path))
    _old, _new, expected, _in_bench, cycle = FAULTS[name]
    text = loop(name, backend)
    if expected is None:
        assert text is None
    else:
        pattern = re.escape(expected).replace("NUMBER", r"\d+")
        assert re.fullmatch(rf"{name}: in cycle {cycle}, {pattern}", text)


LOOP = ["rtl", "loop", "merger", "gamma", "uniform:rows=12,cols=12,nonzeros=40", "--set=pe.count=2"]


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_a_register_that_is_late_ends_a_loop_with_one_line(simulator, here, capsys):
    text = (ROOT / "docs" / "two_way_merger.v").read_text()
    old = "assign tasks_ready = ~merging;"
    assert text.count(old) == 1
    late = "assign tasks_ready = &age ? ~merging : 1'bx; reg [1:0] age; "
    late += "always @(posedge clk) age <= rst ? 0 : age + ~&age;"
    Path("mine.v").write_text(text.replace(old, late))
    own = ["--set=pe.radix=2", "--verilog=mine.v", "--module=two_way_merger", f"--sim={simulator}"]
    assert cli.run([*LOOP, *own]) == 3
    at = "PROTOCOL VIOLATION: gamma.pe00.merger: in cycle 0, tasks: tasks_ready is X: not reset, or driven"
    assert f"\n{at} by nothing\n" in capsys.readouterr().out


WAITS = """
    reg waits, once;
    always @(posedge clk) waits <= ~rst & merged_valid & ~merged_ready & ~once;
    always @(posedge clk) once <= ~rst & (once | merged_valid & ~merged_ready);
    wire inner_valid, inner_ready; wire [31:0] inner_coordinate;
    assign merged_valid = inner_valid & ~(waits & WITHDRAWS);
    assign inner_ready = merged_ready & ~(waits & WITHDRAWS);
    assign merged_coordinate = inner_coordinate ^ (waits & CHANGES);
    wire block_merged_valid;
"""
BROKEN = {
    ("1", "0"): "rtl, fibers_leave_in_order: merger: in cycle N, merged: merged_valid falls",
    ("0", "1"): "fibers_leave_in_order: merger: in cycle N, merged: merged_coordinate changes from N to N",
}


@pytest.mark.parametrize("flags", BROKEN)
def test_a_bench_of_a_user_ends_with_the_broken_rule(flags, simulator, tmp_path, monkeypatch, capsys):
    """Also where the tests of the bench pass: it takes no token that is withdrawn."""

    def spoilt(block, **options):
        whole = registered(block, **options)

        def verilog(parameters):
            text = whole.verilog(parameters)
            for name in ("valid", "ready", "coordinate"):
                assert text.count(f".out_{name}(merged_{name})") == 1
                text = text.replace(f".out_{name}(merged_{name})", f".out_{name}(inner_{name})")
            held = WAITS.replace("WITHDRAWS", flags[0]).replace("CHANGES", flags[1])
            return text.replace("    wire block_merged_valid;\n", held)

        return SimpleNamespace(interface=whole.interface, verilog=verilog)

    monkeypatch.setattr(user_bench, "registered", spoilt)
    bench = ["rtl", "bench", str(ROOT / "examples" / "merger_bench.py"), "--block=merger", "--set=radix=4"]
    assert cli.run([*bench, "--dut=rtl", f"--sim={simulator}", "-o", str(tmp_path)]) == 3
    (line,) = re.findall(r"^PROTOCOL VIOLATION: (.*)$", "".join(capsys.readouterr()), re.MULTILINE)
    pattern = BROKEN[flags].replace("N", r"\d+")
    assert re.fullmatch(f"{pattern} before the token is taken", line)


@pytest.mark.parametrize("block", ["channel"])
def test_a_bench_of_a_user_watches_a_module_with_any_runner(block, simulator, tmp_path):
    chosen = BLOCKS[block]
    given = chosen.parameters(capacity=2)
    text = chosen.verilog(given, status=False)
    source = tmp_path / "channel.v"

    def bench():
        return Bench((source,), "channel", (), "watch_bench", {}, tmp_path / "bench")

    source.write_text(text)
    assert run(bench(), simulator) == 1
    old = "assign out_valid = visible;"
    assert text.count(old) == 1
    source.write_text(text.replace(old, "assign out_valid = visible & held != 2;"))
    with pytest.raises(HdlError, match="channel: in cycle 2, out: out_valid falls before the token is taken"):
        run(bench(), simulator)


def test_a_bench_writes_the_events_at_the_ports_of_each_device(simulator, tmp_path, capsys):
    bench = ["rtl", "bench", str(ROOT / "examples" / "merger_bench.py"), "--block=merger", "--set=radix=4"]
    bins = tmp_path / "bins.json"
    assert cli.run([*bench, f"--sim={simulator}", "-o", str(tmp_path), f"--coverage={bins}"]) == 0
    model, rtl = json.loads(bins.read_text()).items()
    assert (model[0], rtl[0]) == ("model, fibers_leave_in_order", "rtl, fibers_leave_in_order")
    assert model[1] == rtl[1]
    assert rtl[1]["ports"]["tasks"]["tokens"] == 5
    assert sum(kinds["tokens"] for kinds in rtl[1]["ports"].values()) == 197
    assert rtl[1]["ports"]["merged"]["waits"] > 10
    assert "\ncoverage of rtl, fibers_leave_in_order: " in capsys.readouterr().out
