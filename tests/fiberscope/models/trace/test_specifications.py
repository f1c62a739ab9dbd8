"""The specifications that come with the machines say what is published of them."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.accelerators import gamma
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.load import load
from fiberscope.models.trace.source import list_names

TILES = {"K1": 8192, "M1": 4096, "N1": 16384}
WEIGHT = {"weight": 32}


def given(name: str) -> dict[str, int]:
    return TILES if name.startswith("extensor") else WEIGHT if name.endswith("csr_like") else {}


@pytest.mark.parametrize("name", list_names())
def test_every_specification_is_whole(name: str) -> None:
    specification = load(name, given(name))
    graphs = name.startswith("graphicionado")
    assert specification.inputs == (("G", "A0", "P0") if graphs else ("A", "B"))
    for einsum in specification.einsums:
        # Figure 7c binds none; what a graph's edges reach, and which properties differ, stays on chip
        assert einsum.bindings.storage or graphs or (name, einsum.name) == ("sigma-figure", "T")
        assert einsum.spacetime is not None


def test_the_numbers_of_gamma_are_those_of_the_machine() -> None:
    components = load("gamma").configurations["Gamma"].components
    assert components["MainMemory"].bandwidth == 128 * 2**30 * 8
    assert components["FiberCache"].depth == 393_216
    assert components["FPMul"].instances == 32
    changed = (
        load("gamma", {"pe.count": 64, "fibercache.size": "1536 KiB"}).configurations["Gamma"].components
    )
    assert (changed["FPMul"].instances, changed["FiberCache"].depth) == (64, 196_608)


ORDERS = "init-ranks: [M, K, N], final-ranks: [M, N, K]"


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        ("init-ranks: [M, K, N], final-ranks: [N, M, K]", "reduces: it exchanges the last two ranks, and no"),
        ("init-ranks: [M, N, K], final-ranks: [M, K, N]", "reduces, and Z is not summed over N"),
    ],
)
def test_a_merger_reduces_what_the_output_is_summed_over(orders: str, said: str, tmp_path: Path) -> None:
    text = (Path(gamma.__file__).with_name("spec.yaml")).read_text().partition("variants:")[0]
    assert text.count(ORDERS) == text.count("reduce: false") == 1
    path = tmp_path / "own.yaml"
    path.write_text(text.replace("reduce: false", "reduce: true"))
    assert load(str(path)).configurations["Gamma"].components["HighRadixMerger"].reduces
    path.write_text(path.read_text().replace(ORDERS, orders))
    with pytest.raises(ConfigurationError, match=rf"own.yaml:138:\d+: HighRadixMerger {said}"):
        load(str(path))


def test_outerspace_keeps_the_one_instance_too_many() -> None:
    configurations = load("outerspace").configurations
    assert configurations["Multiply"].components["FPMul"].instances == 257
    assert configurations["Multiply"].components["FPMul"].all_instances == 16 * 257
    assert configurations["Merge"].components["SortHW"].instances == 129
    assert configurations["Merge"].components["SortHW"].inputs is None


def test_a_symbol_is_set_like_a_parameter() -> None:
    (einsum,) = load("extensor", {**TILES, "K0": 64, "pe.buffer": "32 KiB"}).einsums
    assert einsum.partitioning[0].directives[1].size == 64
    assert einsum.loop_order == ("N2", "K2", "M2", "M1", "N1", "K1", "M0", "N0", "K0")


def test_a_symbol_without_a_value_is_asked_for() -> None:
    with pytest.raises(ConfigurationError, match=r"extensor/spec\.yaml:8:6: symbol K1 has no value; give it"):
        load("extensor")


def test_an_eager_binding_stands_for_all_below_its_root() -> None:
    (einsum,) = load("extensor-energy", TILES).einsums
    held = [(one.rank, one.kind) for one in einsum.bindings.storage if one.component == "PEB"]
    below = [(rank, kind) for rank in ("0", "K0") for kind in ("coord", "payload")]
    assert held[:4] == [(rank.replace("0", "M0") if rank == "0" else rank, kind) for rank, kind in below]
    assert held[-2:] == [("N0", "coord"), ("N0", "payload")]


def test_a_variant_lays_itself_over_the_file() -> None:
    base, energy = load("extensor", TILES), load("extensor-energy", TILES)
    assert energy.tensors == base.tensors
    added = set(energy.configurations["ExTensor"].components) - set(
        base.configurations["ExTensor"].components
    )
    assert added == {"TopSequencer", "MiddleSequencer", "BottomSequencer", "PEB", "K0Intersection"}
    assert energy.einsums[0].bindings.intersectors[-1].component == "K0Intersection"


def test_an_unknown_specification_is_named() -> None:
    with pytest.raises(ConfigurationError, match="is called gama; did you mean gamma"):
        load("gama")
    with pytest.raises(ConfigurationError, match=r"there is no variant power; known: energy"):
        load("extensor-power")


PUBLIC = """\
einsum:
  declaration: {A: [K, M], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[k, m] * B[k, n]"]
mapping:
  partitioning: {Z: {K: [uniform_shape(K1), uniform_shape(4)], N: [uniform_occupancy(B.N1)]}}
"""


def test_sizes_of_a_file_without_symbols_are_given_by_who_runs_it(tmp_path: Path, refusal) -> None:
    """As the public tool's files have them: the same counts as of a file that says the numbers."""
    open_one, whole = tmp_path / "open.yaml", tmp_path / "whole.yaml"
    open_one.write_text(PUBLIC)
    whole.write_text(PUBLIC.replace("(K1)", "(16)").replace("N1", "3"))
    matrix = "uniform:rows=40,cols=40,nonzeros=200"
    settings, tensors = {"K1": 16, "N1": 3}, {"A": matrix, "B": matrix}
    given = fiberscope.model(str(open_one), tensors=tensors, settings=settings)
    said_whole = fiberscope.model(str(whole), tensors=tensors)
    assert given.teaal is not None
    assert said_whole.teaal is not None
    assert given.teaal.bodies == said_whole.teaal.bodies
    run = fiberscope.simulate(str(open_one), tensors=tensors, settings=settings)
    assert run.operations["multiply"] == given.operations["multiply"]
    arguments = ["sim", str(open_one), f"A={matrix}", f"B={matrix}", "K1=16", "N1=3", "-q"]
    assert cli.run([*arguments, "--json", str(tmp_path / "run.json")]) == 0
    assert json.loads((tmp_path / "run.json").read_text())["cycles"] == run.cycles
    for words, said in (
        (["--set", "K1=16"], "open.yaml:5:68: symbol N1 has no value; give it one by --set N1=2"),
        (["--set", "K2=16"], "has no symbol K2; did you mean K1?"),
    ):
        assert said in refusal("model", str(open_one), f"A={matrix}", f"B={matrix}", *words)


SCALED = """\
einsum:
  declaration: {A: [K], Z: [K]}
  expressions: ["Z[k] = a * A[k]"]
"""


@pytest.mark.parametrize("words", [["--set", "a=2"], ["a=2"]])
@pytest.mark.parametrize("declared", ["", "symbols: {a: }\n", "symbols: {a: 5}\n"])
def test_a_scalar_of_an_expression_is_a_symbol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], declared: str, words: list[str]
) -> None:
    file, product = tmp_path / "scaled.yaml", tmp_path / "z.tns"
    file.write_text(declared + SCALED)
    (tmp_path / "a.tns").write_text("1 3\n4 0.5\n")
    arguments = ["model", str(file), f"A={tmp_path / 'a.tns'}", *words, "--product", str(product), "-q"]
    assert cli.run(arguments) == 0, capsys.readouterr().err
    lines = [line for line in product.read_text().splitlines() if line[0].isdigit()]
    assert [[float(word) for word in line.split()] for line in lines] == [[1, 1, 6], [4, 1, 1]]


@pytest.mark.parametrize(
    ("replacement", "words", "message"),
    [
        ("a *", [], "scaled.yaml:3:17: symbol a has no value; give it one by --set a=2"),
        ("a *", ["a=2", "--set", "a=3"], "a is given twice, with --set and without; leave one out"),
        ("a *", ["a=two"], "a is two; it should be a number"),
        ("a *", ["a=2", "b=2"], "reads no tensor b; "),
        ("A *", [], "A is a tensor; write A[k]"),
    ],
)
def test_a_scalar_without_a_number_is_named(
    tmp_path: Path, refusal, replacement: str, words: list[str], message: str
) -> None:
    file = tmp_path / "scaled.yaml"
    file.write_text(SCALED.replace("a *", replacement))
    assert message in refusal("model", str(file), "A=ones:shape=4", *words)
