"""The worked token sequences of the reference: every block, token by token and cycle by cycle.

They were recorded from the public simulator (weiya711/sam at 6e477d1); see tests/oracles/sam/README.md.
"""

import json
from pathlib import Path

import pytest

from hw.level import Level
from hw.streams.arrays import ArrayLoad
from hw.streams.bit_vector import BitVectorScanner
from hw.streams.compressed import CompressedScanner
from hw.streams.dense import DenseScanner
from hw.streams.quirks import PUBLIC
from hw.streams.repeater import Repeater, RepeatSignalGenerator
from hw.streams.skipping import SkippingScanner
from hw.streams.testing import SEEN, run_streams
from hw.streams.writers import CompressedWriter, ValuesWriter

EXAMPLES = Path(__file__).parents[2] / "oracles" / "sam" / "examples.json"
CASES = json.loads(EXAMPLES.read_text())["cases"]

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
}
FINAL = {"vals": "values", "crd": "coordinates", "seg": "segments"}  # attributes of writers
KNOWN = [case for case in CASES if case.get("primitive") in BLOCKS]


def as_pairs(stream):
    return [tuple(entry) for entry in stream]


@pytest.mark.parametrize("case", KNOWN, ids=[f"{case['primitive']}: {case['note']}" for case in KNOWN])
def test_example(case):
    make, inputs, outputs = BLOCKS[case["primitive"]]
    block = make(case["params"])
    given = {inputs[name]: as_pairs(stream) for name, stream in case["inputs"].items()}
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
