"""Parts of one's own that the section ``timing`` of a specification names."""

import re
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.hw.fibers.merge import HighRadixMerger

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
MATRAPTOR = EXAMPLES.parent / "matraptor" / "spec.yaml"
IDEAL = {"timing.memory": "ideal"}  # its merging takes the time
SMALL = "uniform:rows=30,cols=30,nonzeros=120"
PARTS = """\
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.join import Intersect
from fiberscope.hw.streams.run_sum import RunSum


class Shallow(HighRadixMerger):
    def __init__(self, name, radix, stages):
        super().__init__(name, radix, 1)


class Doubled(Alu):
    def __init__(self, name, operation):
        super().__init__(name, "add")


class Counted(RunSum):
    def counters(self):
        told = super().counters()
        return {**told, "additions": told["additions"] + 1}


class Bank(FiberCacheBank):
    pass


class Finder(Intersect):
    pass
"""
LEADS = "    - {component: Multiplier, bindings: [{op: mul}]}"


def written(folder, example, timing, change=("", "")):
    (folder / "my_parts.py").write_text(PARTS)
    path = folder / f"{example}.yaml"
    file = MATRAPTOR if example == "matraptor" else EXAMPLES / f"{example}.yaml"
    text = file.read_text().replace("machine: .", f"machine: {file.parent}")
    path.write_text(f"timing: {timing}\n{text.replace(*change)}")
    return str(path)


@pytest.mark.parametrize("named", ["Merger", "SortingQueues"])
def test_a_merger_stands_in_by_class_and_by_name(named, tmp_path):
    path = written(tmp_path, "matraptor", f"{{{named}: {{part: 'my_parts.py:Shallow'}}}}")
    own = fiberscope.simulate(path, SMALL, settings=IDEAL)
    assert own.verification.passed
    assert own.parts["SortingQueues"].endswith("Shallow")
    assert any("my_parts" in module for module in own.source.modules)
    plain = fiberscope.simulate(str(MATRAPTOR), SMALL, settings=IDEAL)
    assert own.cycles != plain.cycles  # its tree has one stage
    over = fiberscope.simulate(path, SMALL, settings=IDEAL, parts={"merger": HighRadixMerger})
    assert over.cycles == plain.cycles  # what a run is given lies over the file


def test_an_adder_is_the_block_that_adds_alone(tmp_path):
    path = written(tmp_path, "matraptor", "{Adder: {part: 'my_parts.py:Counted'}}")
    plain = fiberscope.simulate(str(MATRAPTOR), SMALL)
    own = fiberscope.simulate(path, SMALL)
    assert own.operations["add"] == plain.operations["add"] + 8  # each of the instances counts one too many


def test_a_multiplier_is_the_block_that_multiplies(tmp_path, capsys):
    path = written(tmp_path, "inner", "{Multiplier: {part: 'my_parts.py:Doubled'}}")
    assert cli.run(["sim", path, SMALL, "-q"]) == 3
    assert "result is wrong" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("timing", "change", "family"),
    [
        ("{Cache: {part: 'my_parts.py:Bank'}}", ("", ""), "bank"),
        (
            "{Meet: {part: 'my_parts.py:Finder'}}",
            (LEADS, f"{LEADS}\n    - {{component: Meet, bindings: [{{rank: K}}]}}"),
            "intersect",
        ),
    ],
)
def test_a_cache_and_an_intersector_do_so_too(timing, change, family, tmp_path):
    path = written(tmp_path, "inner", timing, change)
    if family == "intersect":
        unit = "            - {name: Meet, class: Intersector, attributes: {type: two-finger}}\n"
        text = Path(path).read_text()
        adder = "            - {name: Adder"
        Path(path).write_text(text.replace(adder, unit + adder))
    report = fiberscope.simulate(path, SMALL)
    assert report.verification.passed
    (named,) = report.parts.values()
    assert named.endswith({"bank": "Bank", "intersect": "Finder"}[family])


def test_one_in_verilog_is_run_by_another_command(tmp_path, capsys):
    pytest.importorskip("pyrtl")
    from fiberscope.rtl.cosim_request import verilog_files

    path = written(tmp_path, "matraptor", "{Merger: {part: merger.v}}")
    few = ["--set=pe.count=2", "--set=queues.count=4"]
    assert cli.run(["rtl", "export", "merger", "--set=radix=4", "--status", "-o", str(tmp_path)]) == 0
    assert cli.run(["sim", path, SMALL, *few]) == 2
    said = f"{path}:1:25: {tmp_path / 'merger.v'} is Verilog, which runs by fiberscope rtl loop merger {path}"
    assert said in capsys.readouterr().err
    assert verilog_files(path, ["merger"]) == (str(tmp_path / "merger.v"),)


@pytest.mark.parametrize(
    ("timing", "said"),
    [
        ("{Mergr: {part: a.v}}", ":1:10: there is no component Mergr; did you mean Merger?"),
        ("{Merger: {part: a.v}}", ":1:25: there is no file "),
        ("{Merger: {part: my_parts.py}}", "my_parts.py is no part; write my_parts.py:MyMerger, or mine.v"),
        ("{Merger: {part: 'a.v:Mine'}}", "a.v:Mine is no part; write my_parts.py:MyMerger, or mine.v"),
        ("{Merger: {part: 'my_parts.py:Shalow'}}", "my_parts.py has no class Shalow; did you mean Shallow?"),
        ("{HBM: {part: a.v}}", ":1:22: a part takes a block's place, and HBM is none; known: Adder, Multi"),
        ("{part: a.v}", ":1:16: a part takes a block's place, and this is none; known: Adder, Multiplier"),
        ("{Merger: {part: [1]}}", "this is no part; write my_parts.py:MyMerger, or mine.v"),
    ],
)
def test_what_is_no_part_is_refused_where_it_is_named(timing, said, tmp_path):
    path = written(tmp_path, "matraptor", timing)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        fiberscope.simulate(path, SMALL)
