"""The worked token sequences of the reference: every block, token by token and cycle by cycle.

They were recorded from the public simulator (weiya711/sam at 6e477d1); see tests/oracles/sam/README.md.
"""

import json
from pathlib import Path

import pytest

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.bit_words import BitVector, Chunker
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.points import PointToFiber
from fiberscope.hw.streams.quirks import PUBLIC
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.repeater import Repeater, RepeatSignalGenerator
from fiberscope.hw.streams.skipping_scanner import SkippingScanner
from fiberscope.hw.streams.split import Flatten, Split
from fiberscope.hw.streams.testing import SEEN, run_streams
from fiberscope.hw.streams.word_dropper import WordDropper
from fiberscope.hw.streams.word_intersect import WordIntersect
from fiberscope.hw.streams.writers import CompressedWriter, ValuesWriter
from fiberscope.sim import SimulationError

EXAMPLES = Path(__file__).parents[2] / "oracles" / "sam" / "examples.json"
CASES = json.loads(EXAMPLES.read_text())["cases"]

PAIRS = {"in1": ("in_ref[0]", "in_crd[0]"), "in2": ("in_ref[1]", "in_crd[1]")}
JOINED = {"crd": "out_crd", "ref1": "out_ref0", "ref2": "out_ref1"}
OPERANDS = {"in1": "in_val[0]", "in2": "in_val[1]"}
POINTS = {"outer": "in_crd_outer", "inner": "in_crd_inner", "val": "in_val"}
FIBERS = {"crd_outer": "out_crd_outer", "crd_inner": "out_crd_inner", "val": "out_val"}
OUTER_INNER = ({"outer": "in_outer", "inner": "in_inner"}, {"outer": "out_outer", "inner": "out_inner"})
THROUGH = ({"in": "in_stream"}, {"out": "out_stream"})

# How each primitive is made from the case's parameters, and its ports by the names of the case.
BLOCKS = {
    "scanner.compressed": (
        lambda given: CompressedScanner("block", Level(given["seg"], given["crd"]), PUBLIC),
        {"ref": "in_ref"},
        {"crd": "out_crd", "ref": "out_ref"},
    ),
    "scanner.compressed+skip": (
        lambda given: SkippingScanner("block", Level(given["seg"], given["crd"]), PUBLIC),
        {"ref": "in_ref", "skip": "in_skip"},
        {"crd": "out_crd", "ref": "out_ref"},
    ),
    "scanner.dense": (
        lambda given: DenseScanner("block", given["dim"], PUBLIC),
        {"ref": "in_ref"},
        {"crd": "out_crd", "ref": "out_ref"},
    ),
    "scanner.bitvector": (
        lambda given: BitVectorScanner("block", given["bv"], PUBLIC),
        {"ref": "in_ref"},
        {"bv": "out_bv", "ref": "out_ref"},
    ),
    "repsiggen": (
        lambda given: RepeatSignalGenerator("block", PUBLIC),
        {"crd": "in_crd"},
        {"repsig": "out_repsig"},
    ),
    "repeat": (
        lambda given: Repeater("block", PUBLIC),
        {"ref": "in_ref", "repsig": "in_repsig"},
        {"ref": "out_ref"},
    ),
    "array.load": (
        lambda given: ArrayLoad("block", given["arr"], PUBLIC),
        {"ref": "in_ref"},
        {"val": "out_val"},
    ),
    "writer.compressed": (lambda given: CompressedWriter("block", quirks=PUBLIC), {"crd": "in_crd"}, {}),
    "writer.vals": (lambda given: ValuesWriter("block", quirks=PUBLIC), {"val": "in_val"}, {}),
    "intersect": (
        lambda given: Intersect("block", quirks=PUBLIC),
        PAIRS,
        {**JOINED, "skip1": "out_skip0", "skip2": "out_skip1"},
    ),
    "union": (lambda given: Union("block", quirks=PUBLIC), PAIRS, JOINED),
    "mul": (lambda given: Alu("block", quirks=PUBLIC), OPERANDS, {"val": "out_val"}),
    "add": (
        lambda given: Alu("block", "add", (False, given.get("neg2", False)), PUBLIC),
        OPERANDS,
        {"val": "out_val"},
    ),
    "reduce.scalar": (
        lambda given: ScalarReduce("block", quirks=PUBLIC),
        {"val": "in_val"},
        {"val": "out_val"},
    ),
    "spacc1": (lambda given: VectorReduce("block", given.get("val_stkn", False), PUBLIC), POINTS, FIBERS),
    "spacc2": (lambda given: MatrixReduce("block", quirks=PUBLIC), POINTS, FIBERS),
    "crdpt_converter": (lambda given: PointToFiber("block", PUBLIC), *OUTER_INNER),
    "crddrop": (lambda given: CoordinateDropper("block", quirks=PUBLIC), *OUTER_INNER),
    "stkndrop": (lambda given: StopDropper("block", quirks=PUBLIC), *THROUGH),
    "emptyfiber_stkndrop": (lambda given: EmptyFiberDropper("block", quirks=PUBLIC), *THROUGH),
    "crdhold": (lambda given: CoordinateHold("block", PUBLIC), *OUTER_INNER),
    "split": (
        lambda given: Split("block", given["split_factor"], given["orig_crd"], PUBLIC),
        {"crd": "in_crd"},
        OUTER_INNER[1],
    ),
    "flatten": (
        lambda given: Flatten("block", given["split_factor"], PUBLIC),
        OUTER_INNER[0],
        {"crd": "out_crd"},
    ),
    "bv_convert": (lambda given: BitVector("block", PUBLIC), {"crd": "in_crd"}, {"bv": "out_bv"}),
    "bv_chunk": (
        lambda given: Chunker("block", given["width"], given["size"], PUBLIC),
        {"bv": "in_bv"},
        {"bv": "out_bv", "ref": "out_ref"},
    ),
    "bv_intersect": (
        lambda given: WordIntersect("block", given["emit_zeros"], PUBLIC),
        {"in1": ("in_ref[0]", "in_bv[0]"), "in2": ("in_ref[1]", "in_bv[1]")},
        {"bv": "out_bv", "ref1": "out_ref0", "ref2": "out_ref1"},
    ),
    "bv_drop": (lambda given: WordDropper("block", PUBLIC), *OUTER_INNER),
}
FINAL = {"vals": "values", "crd": "coordinates", "seg": "segments"}  # attributes of writers
KNOWN = [case for case in CASES if case.get("primitive") in BLOCKS]


def as_pairs(stream):
    return [tuple(entry) for entry in stream]


def given_streams(inputs, case):
    """The streams of a case by port; a joiner's input is two of them, references and coordinates."""
    given = {}
    for name, stream in case["inputs"].items():
        if isinstance(inputs[name], str):
            given[inputs[name]] = as_pairs(stream)
        else:
            for place, port in enumerate(inputs[name]):
                given[port] = [(cycle, pair[place]) for cycle, pair in stream]
    return given


@pytest.mark.parametrize("case", KNOWN, ids=[f"{case['primitive']}: {case['note']}" for case in KNOWN])
def test_example(case):
    make, inputs, outputs = BLOCKS[case["primitive"]]
    block = make(case["params"])
    given = given_streams(inputs, case)
    if "error" in case:
        with pytest.raises(SimulationError):
            run_streams(block, given, list(outputs.values()), checked=False)
        return
    found = run_streams(block, given, list(outputs.values()), checked=False)
    expected = {outputs[name]: as_pairs(stream) for name, stream in case.get("outputs", {}).items()}
    assert found == expected
    assert block.done_cycle - SEEN == case["first_done_cycle"]
    for name, values in case.get("final_state", {}).items():
        assert list(getattr(block, FINAL[name])) == values


def test_a_planted_fault_is_found():
    case = next(case for case in KNOWN if case["primitive"] == "scanner.compressed")
    wrong = {**case, "outputs": {**case["outputs"], "crd": case["outputs"]["crd"][:-1]}}
    with pytest.raises(AssertionError):
        test_example(wrong)
