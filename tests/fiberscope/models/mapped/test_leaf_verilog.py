"""The Verilog of an instance moves the instance's tokens in its cycles."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyrtl")

from drawn_flattened import computed, flattening
from drawn_specifications import merging, paired, programs, redefined
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from mapped_runs import built

from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import flat
from fiberscope.hw.streams import merged_sums_rtl, way_slots_rtl
from fiberscope.models.from_spec.verilog import export_instance
from fiberscope.models.graphs.transcript import module_transcript
from fiberscope.workloads.fibertree import FiberTree

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "specifications"
FEW = settings(suppress_health_check=list(HealthCheck), max_examples=12)
MANY = settings(FEW, max_examples=300)
BITS, POINTS = 32, 64
NO_TWIN = "there is no RTL of skipahead"  # it skips any distance in a cycle
NO_SUM = "no hardware here computes operators"  # an accumulator that keeps one of equal values has no twin
MANY_ELEMENTS = "uniform:rows=30,cols=30,nonzeros=300"
TWO_LANES = ["--set", "timing.lanes=1", "--set", "dpe.count=2"]
NO_ABSENT = "no hardware here", "there is no RTL of "


def whole(trees):
    """The same tensors with small whole numbers of both signs."""
    return {
        name: replace(tree, values=(np.arange(tree.nonzeros) * 7 % 17 - 8.0) * 2 + 1)
        for name, tree in trees.items()
    }


def backend(made):
    interface = made.composition.interface()
    return PyrtlBackend(build(interface, lambda between: flat(made.composition, between)), 1, watched=True)


def leaf_of(program, **timing):
    """The first instance of a specification's machine as Verilog."""
    specification, trees = program
    machine = built((specification, whole(trees)), **{"memory": "ideal", **timing})
    return export_instance(machine, machine.stages[0].stage.level, "leaf", BITS, POINTS)


def moved(leaf):
    """What the streams of an instance's module carry."""
    assert any(leaf.expected.values())
    return module_transcript(leaf.verilog, backend(leaf.verilog), leaf.cycles + 20, leaf.offers)[0]


def compared(program, **timing):
    """What the streams of an instance should carry, and what those of its module do."""
    leaf = leaf_of(program, **timing)
    return leaf.expected, moved(leaf)


def ways_of(leaf):
    """The parameters of the ways of an instance's merger."""
    parts = leaf.verilog.composition.parts.values()
    return next(part.parameters for part in parts if part.block.name == "fiber_ways")


def held(program, refused=(NO_TWIN,), **timing):
    """Hold an instance to its law, if there is a machine, of blocks that all have a twin."""
    try:
        expected, found = compared(program, **timing)
    except ConfigurationError:
        return
    except InputError as error:
        if any(said in str(error) for said in refused):
            return
        raise
    assert {end: repr(found[end]) for end in expected} == {end: repr(expected[end]) for end in expected}


INSTANCES = {
    "any mapping": (programs(), (NO_TWIN,), {}),
    "a merger": (merging(), (NO_TWIN,), {"depth": 3, "stages": 2}),
    "lookups": (flattening() | computed(), (NO_TWIN, NO_SUM), {}),
    "fibers intersected in pairs": (paired(), (NO_TWIN,), {}),
    **{
        f"{lanes} lanes": (programs() | flattening() | computed(), (NO_TWIN, NO_SUM), {"lanes": lanes})
        for lanes in (1, 3, 8)
    },
    "registered memories": (programs(), (NO_TWIN,), {"memory": "registered"}),
    # Some values are infinite, and some not a number, which is unequal to itself
    "operators of another meaning": (redefined(), (NO_TWIN, *NO_ABSENT), {"value": "float64"}),
}


@pytest.mark.parametrize("kind", INSTANCES)
@FEW
@given(data=st.data())
def test_an_instance_as_verilog_moves_its_tokens_in_its_cycles(kind, data):
    drawn, refused, timing = INSTANCES[kind]
    held(data.draw(drawn), refused, **timing)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["any mapping", "a merger", "lookups", "operators of another meaning"])
@MANY
@given(data=st.data())
def test_three_hundred_instances(kind, data):
    drawn, refused, timing = INSTANCES[kind]
    held(data.draw(drawn), refused, **timing)


def rows_of_many_lists(radix, *, reduces=False, count=0):
    """A product both of whose rows have this many lists; by default more than a merger merges in two rounds.

    The second row finds areas of the store that the first has filled.
    """
    specification, _trees = merging_of(radix, reduces=reduces)
    count = count or radix**2 + 1
    places, rows = np.arange(count), np.repeat([0, 1], count)
    a = FiberTree.from_coo({"K": count, "M": 2}, [np.tile(places, 2), rows], np.ones(2 * count))
    b = FiberTree.from_coo({"K": count, "N": 9}, [places, places * 5 % 9], np.ones(count))
    return specification, {"A": a, "B": b}


def merging_of(radix, *, reduces):
    """A drawn specification whose one instance has a merger of this radix."""
    drawn = merging(st.just(reduces), st.just(0))
    specification, trees = find(drawn, lambda _program: True, settings=settings(database=None))
    configuration = specification.configurations["Chip"]
    merger = replace(
        configuration.components["Merger"], inputs=radix, radix=radix, instances=1, all_instances=1
    )
    chip = {"Chip": replace(configuration, components={"Merger": merger})}
    return replace(specification, configurations=chip), trees


@pytest.mark.parametrize("reduces", [False, True])
@pytest.mark.parametrize("radix", [2, 3])
def test_partial_fibers_go_through_both_areas_of_the_store(radix, reduces):
    expected, found = compared(rows_of_many_lists(radix, reduces=reduces))
    assert found == expected
    areas = {payload for _cycle, _kind, payload, _value in expected["swap_B1_N_points.groups"]}
    assert areas == {0, 1, 2}


def test_the_lists_of_a_task_and_its_partial_fibers_fill_all_their_places():
    leaf = leaf_of(rows_of_many_lists(2, count=4), tasks=1)
    assert (ways_of(leaf).lists, ways_of(leaf).partials) == (4, 4)  # each list has an element
    assert moved(leaf) == leaf.expected


def test_references_of_a_small_instance_hold_the_numbers_of_all_lists():
    leaf = leaf_of(rows_of_many_lists(2, count=4), tasks=8)
    assert ways_of(leaf).lists == 32
    assert moved(leaf) == leaf.expected


def test_planted_a_way_that_goes_on_in_the_wrong_slot_is_found(monkeypatch):
    as_it_is = way_slots_rtl._Way.move

    def move(way, takes, hands, ends, begin, end, number):
        as_it_is(way, takes, hands, ends, begin, end, number ^ number)

    monkeypatch.setattr(way_slots_rtl._Way, "move", move)
    expected, found = compared(rows_of_many_lists(2))
    assert found != expected


def test_planted_sums_that_are_kept_instead_of_passed_on_are_found(monkeypatch):
    monkeypatch.setattr(merged_sums_rtl, "POINTS", 3)
    expected, found = compared(rows_of_many_lists(2, reduces=True))
    assert found != expected


@pytest.mark.parametrize(
    "example", ["row_wise", "inner", "outer", "spmv", "sddmm", "../matraptor/spec", "mttkrp", "convolution"]
)
def test_the_command_writes_and_runs_an_instance(example, tmp_path, printed):
    words = ["rtl", "export", str(EXAMPLES / f"{example}.yaml"), "--level", "PE", "-o", str(tmp_path)]
    said = printed(*words, "--set", "pe.count=2" if "matraptor" in example else "PES=2")
    name = f"leaf_{Path(example).name}_pe"
    assert f"module {name}(" in (tmp_path / f"{name}.v").read_text()
    assert (tmp_path / f"{name}.f").read_text() == f"{name}.v\n"
    assert (tmp_path / f"{name}_streams.csv").read_text().startswith("port,cycle,control,payload,value\n")
    assert "in pyrtl as in the machine" in said


def test_the_command_writes_an_instance_with_registered_memories(tmp_path, capsys):
    words = ["rtl", "export", str(EXAMPLES / "spmv.yaml"), "--level", "PE", "-o", str(tmp_path)]
    assert cli.run([*words, "--set", "PES=2", "--set", "timing.memory=registered"]) == 0
    assert "words_data <=" in (tmp_path / "leaf_spmv_pe.v").read_text()
    assert "in pyrtl as in the machine" in capsys.readouterr().out


@pytest.mark.parametrize("stage", ["SO", "R", "P1", "M@2", "A1"])
def test_each_stage_of_graphicionado_runs_as_in_the_machine(stage, tmp_path, printed):
    words = [
        "rtl",
        "export",
        "spec:graphicionado",
        "--level",
        "Stream",
        "--stage",
        stage,
        "-o",
        str(tmp_path),
    ]
    assert "in pyrtl as in the machine" in printed(*words, "--set", "value=float32", "--set", "streams=2")
    name = f"leaf_graphicionado_{stage.replace('@', '_').lower()}_stream"
    assert f"module {name}(" in (tmp_path / f"{name}.v").read_text()


def test_a_multiplier_of_sigma_without_lanes_runs_as_in_the_machine(tmp_path, printed):
    lanes = "width: ${dpe.multipliers * 32}"
    assert lanes in SIGMA
    own = tmp_path / "sigma.yaml"
    own.write_text(SIGMA.replace(lanes, "width: 32"))
    words = ["rtl", "export", str(own), "--level", "FlexDPE", "--set", "dpe.count=2", "-o", str(tmp_path)]
    operands = [f"{name}={ROOT / 'examples/worked_three.mtx'}" for name in "AB"]
    assert "in pyrtl as in the machine" in printed(*words, *operands)


def test_a_processing_element_of_extensor_runs_as_in_the_machine(tmp_path, printed):
    draws, operands = np.random.default_rng(1), []
    for name in "AB":
        np.save(tmp_path / f"{name}.npy", draws.integers(-8, 9, (12, 12)) * (draws.random((12, 12)) < 0.4))
        operands.append(f"{name}={tmp_path / name}.npy")
    words = ["rtl", "export", "spec:extensor", "--level", "PE", *operands, "-o", str(tmp_path)]
    sizes = ["pe.count=2", "pe.tile=4", "K1=8", "M1=8", "N1=8"]
    out = printed(*words, *(word for size in sizes for word in ("--set", size)))
    assert "in pyrtl as in the machine" in out
    assert "_fiber_pairs fiberpairs" in (tmp_path / "leaf_extensor_pe.v").read_text()


SIGMA = (ROOT / "fiberscope/accelerators/sigma/spec.yaml").read_text()


@pytest.mark.parametrize(
    ("seed", "slice_k", "fold", "lanes"), [(0, 128, 16384, 2), (1, 4, 6, 1), (2, 3, 9, 2), (3, 2, 1, 3)]
)
def test_a_flex_dpe_of_sigma_runs_as_in_the_machine(seed, slice_k, fold, lanes, tmp_path, printed):
    """One fold, or several in each slice of k, of matrices with empty rows and columns."""
    text = SIGMA.replace("uniform_shape(128)", f"uniform_shape({slice_k})").replace("A.16384", f"A.{fold}")
    (tmp_path / "sigma.yaml").write_text(text)
    draws, operands = np.random.default_rng(seed), []
    for name, shape in (("A", (7, 9)), ("B", (9, 6))):
        dense = draws.integers(-8, 9, shape) * (draws.random(shape) < 0.3)
        dense[seed % 4], dense[:, 2] = 0, 0
        np.save(tmp_path / f"{name}.npy", dense)
        operands.append(f"{name}={tmp_path / name}.npy")
    words = ["rtl", "export", str(tmp_path / "sigma.yaml"), "--level", "FlexDPE", *operands]
    sizes = ["--set", f"timing.lanes={lanes}", "--set", "dpe.count=2", "-o", str(tmp_path)]
    assert "ticks of the lanes, in pyrtl as in the machine" in printed(*words, *sizes)
    text = (tmp_path / "leaf_sigma_flexdpe.v").read_text()
    assert "_lane_seek laneseek_MK00" in text
    assert "_lanes lanes" in text


OWN_STEPS = """\
einsum:
  declaration: {A: [M, K], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  rank-order: {A: [M, K], B: [N, K], Z: [M, N]}
  loop-order: {Z: [M, N, K]}
  spacetime: {Z: {space: [M, K], time: [N]}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      subtree: [{name: "PE[2]", local: [{name: Multiplier, class: Compute, attributes: {type: mul}}]}]
bindings: {Z: [{config: Chip}, {component: Multiplier, bindings: [{op: mul}]}]}
"""


@pytest.mark.parametrize("lanes", [1, 3])
def test_tasks_of_the_core_arrive_at_an_instance_in_its_ticks(lanes, tmp_path, printed):
    """Each instance has its own steps, so that the cut runs in another clock than the instance."""
    (tmp_path / "own.yaml").write_text(OWN_STEPS)
    words = ["rtl", "export", str(tmp_path / "own.yaml"), "--level", "PE", "-o", str(tmp_path)]
    assert "as in the machine" in printed(*words, "--set", f"timing.lanes={lanes}")
    arrivals = (tmp_path / "leaf_own_pe_streams.csv").read_text().splitlines()[1:]
    assert len(arrivals) > 20
    assert {int(line.split(",")[1]) % 32 for line in arrivals} == {0}  # ticks of a cycle


SMALL_GAMMA = ["--set", "pe.radix=8", "--set", "pe.count=2"]


@pytest.mark.parametrize(
    ("machine", "value", "bits"),
    [
        pytest.param("gamma", "float32", 32, marks=pytest.mark.slow),
        pytest.param("gamma-reduce", "float64", 64, marks=pytest.mark.slow),
        ("gamma", "bfloat16", 16),
    ],
)
def test_a_float_of_an_instance_is_rounded_as_in_the_machine(machine, value, bits, tmp_path, printed):
    words = ["rtl", "export", f"spec:{machine}", "--level", "PE", *SMALL_GAMMA, "-o", str(tmp_path)]
    assert "in pyrtl as in the machine" in printed(*words, "--set", f"value={value}")
    lines = (tmp_path / f"leaf_{machine.replace('-', '_')}_pe_words.csv").read_text().splitlines()
    most = max(int(line.rpartition(",")[2]) for line in lines[1:])
    assert 1 << bits - 2 < most < 1 << bits  # a value by its bits


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["spec:gamma"], "spec:gamma is a specification; name the level, as in --level pe"),
        (["merger", "--level", "pe"], "--level, --stage and tensors are for a specification"),
        (["merger", "--stage", "R"], "--level, --stage and tensors are for a specification"),
        (["spec:gamma", "--level", "pe", "--stage", "Y"], "there is no stage Y; known: Z"),
        (["spec:sigma", "--level", "FlexDPE"], "FlexDPE: it has 16,384 lanes, and Verilog has at most 1,024"),
        (
            ["spec:sigma", "--level", "FlexDPE", "--set", "dpe.count=2", "--set", "timing.lanes=50"],
            "accumulate.in_crd[0]: a channel of 1,600 tokens; Verilog has at most 1,024",
        ),
        (
            ["spec:sigma", "--level", "FlexDPE", *TWO_LANES, f"A={MANY_ELEMENTS}", f"B={MANY_ELEMENTS}"],
            "laneseek_MK00: lane_seek: banks must be from 1 to 256, not 300",
        ),
        (
            ["spec:graphicionado", "--level", "Stream"],
            "arrayvals_A0: inf, which stands for absent values, is no",
        ),
        (["spec:gamma", "--level", "cache"], "no tasks are dispatched to cache; known: pe"),
        (["spec:gamma", "--level", "pe", "A=uniform:rows=8,cols=8,nonzeros=8"], "is no whole number of 32"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_a_line(words, said, tmp_path, run_command):
    tensors = ["B=uniform:rows=8,cols=8,nonzeros=8"] if words[-1].startswith("A=") else []
    code, _out, err = run_command("rtl", "export", *words, *tensors, "-o", str(tmp_path))
    assert (code, said in err) == (2, True)


def test_an_instance_with_a_block_that_has_no_twin_is_refused_by_name(tmp_path, refusal):
    text, adder = (
        (EXAMPLES / "inner.yaml").read_text(),
        "{name: Adder, class: Compute, attributes: {type: add}}",
    )
    skip = "{name: Skip, class: Intersector, attributes: {type: skip-ahead}}"
    assert adder in text
    path = tmp_path / "own.yaml"
    bound = "    - {component: Skip, bindings: [{rank: K}]}\n"
    path.write_text(text.replace(adder, f"{adder}\n            - {skip}") + bound)
    assert NO_TWIN in refusal("rtl", "export", str(path), "--level", "PE", "-o", str(tmp_path))
