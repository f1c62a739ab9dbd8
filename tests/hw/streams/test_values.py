"""ALUs and the scalar reducer: against their plain models, arithmetic, and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_lists import flatten
from stream_pairs import Pair, check_bounded, check_pair, some_quirks
from stream_trees import change, generator_of, grow, numbers
from streams.plain import drive
from streams.plain_values import Alu as PlainAlu
from streams.plain_values import ScalarReduce as PlainReduce
from streams.plain_values import UnaryAlu as PlainUnaryAlu

from fiberscope.hw.streams import operations
from fiberscope.hw.streams.alu import Alu, UnaryAlu, operate
from fiberscope.hw.streams.quirks import NO_QUIRKS, PUBLIC
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.testing import GIGAHERTZ, TimedSource, protocol_of, run_streams, tokens_of
from fiberscope.hw.value_type import DOUBLE
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink

seeds = st.integers(0, 2**32)

ALU = Pair(
    lambda quirks, operation="mul", neg1=False, neg2=False: Alu("block", operation, (neg1, neg2), quirks),
    PlainAlu,
    {"in1": "in_val[0]", "in2": "in_val[1]"},
    {"val": "out_val"},
)
UNARY = Pair(
    lambda quirks, operation, constant=None: UnaryAlu("block", operation, constant, quirks),
    PlainUnaryAlu,
    {"val": "in_val"},
    {"val": "out_val"},
)
REDUCE = Pair(
    lambda quirks, operation="sum", drop=False: ScalarReduce("block", operation, drop, quirks),
    PlainReduce,
    {"val": "in_val"},
    {"val": "out_val"},
    has_end=False,
)


def operands(generator, spoiled):
    """Two streams of the same shape; spoiled, some have an integer where the other has a stop."""
    depth = generator.randint(0, 2)
    tree = grow(generator, depth, lambda: numbers(generator))
    streams = []
    for _ in range(2):
        tokens = flatten(change(tree, depth, lambda fiber: [v + 1 for v in fiber]), depth)
        for place in range(len(tokens) - 2, -1, -1):
            if generator.random() < spoiled:
                tokens.insert(place, generator.choice([0, 7, 1.5]))
        streams.append(tokens)
    return dict(zip(("in1", "in2"), streams, strict=True))


@given(seeds, st.sampled_from(["mul", "add", "sub", "max", "min", "div"]))
def test_an_alu_does_as_its_plain_model_in_every_cycle(seed, operation):
    generator = generator_of(seed)
    parameters = {"operation": operation, "neg1": generator.random() < 0.2, "neg2": generator.random() < 0.2}
    streams = operands(generator, generator.choice([0.0, 0.0, 0.05]) if operation in ("mul", "add") else 0.0)
    check_pair(ALU, streams, generator, some_quirks(generator, (13,)), parameters)
    check_bounded(ALU, operands(generator, 0.0), generator, (), parameters)


@given(seeds, st.sampled_from(["relu", "exp", "neg", "abs", "square", "sqrt", "sin", "cos"]))
def test_a_unary_alu_does_as_its_plain_model_in_every_cycle(seed, operation):
    generator = generator_of(seed)
    tree = grow(generator, 1, lambda: numbers(generator))
    tokens = flatten(change(tree, 1, lambda fiber: [abs(v) for v in fiber]), 1)
    check_pair(UNARY, {"val": tokens}, generator, (), {"operation": operation})
    parameters = {"operation": generator.choice(["mul", "add", "max"]), "constant": -1.5}
    check_bounded(UNARY, {"val": tokens}, generator, (), parameters)


@given(seeds, st.sampled_from(["sum", "max", "min"]), st.booleans())
def test_a_reducer_does_as_its_plain_model_in_every_cycle(seed, operation, drop):
    generator = generator_of(seed)
    parameters = {"operation": operation, "drop": drop}
    tokens = []
    for _ in range(generator.choice([1, 1, 2])):
        depth = generator.randint(0, 3)
        tokens += flatten(grow(generator, depth, lambda: numbers(generator)), depth)
    quirks = some_quirks(generator, (14, 15))
    streams = {"val": tokens if 14 in quirks else tokens[: tokens.index("D") + 1]}
    check_pair(REDUCE, streams, generator, quirks, parameters)
    check_bounded(REDUCE, {"val": tokens[: tokens.index("D") + 1]}, generator, (), parameters)


@given(seeds, st.booleans())
def test_the_plain_reducer_sums_fibers(seed, drop):
    generator = generator_of(seed)
    fibers = [numbers(generator) for _ in range(generator.randint(1, 6))]
    found = drive(PlainReduce((), drop=drop), {"val": list(enumerate(flatten(fibers, 1)))})
    sums = [sum(fiber) for fiber in fibers if fiber or not drop]
    assert tokens_of(found["val"]) == [*sums, "S0", "D"]


def test_a_reducer_marks_integers_where_the_public_simulator_has_them():
    given_streams = {"in_val": list(enumerate(["S0", 1.0, "S0", 2, "S1", "D"]))}
    for quirks, marks in ((PUBLIC, [1, 0, 1]), (NO_QUIRKS, [0, 0, 0])):
        assert integer_marks(ScalarReduce("block", quirks=quirks), given_streams) == marks


def integer_marks(block, given_streams):
    """The coordinate words of the values that leave a block."""
    kernel = Kernel()
    kernel.clock("core", GIGAHERTZ)
    kernel.add(block)
    for label, stream in given_streams.items():
        source = kernel.add(TimedSource(f"source.{label}", protocol_of(block, label), stream))
        kernel.connect(source, "out", block, label, capacity=None)
    sink = kernel.add(StreamSink("sink"))
    kernel.connect(block, "out_val[0]", sink, "in", capacity=None)
    kernel.run()
    return [coordinate for _cycle, (kind, coordinate, _, _) in sink.received if kind == 0]


def given_operands(first, second):
    return {"in_val[0]": list(enumerate(first)), "in_val[1]": list(enumerate(second))}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1.0, "S0", "D"], ["S0", "D"], r"cycle 1, block: .*1.0 on in_val\[0\] meets S0 on in_val\[1\]"),
        ([1.0, "S0", "D"], [1.0, "S1", "D"], r"cycle 2, block: .*S0 on in_val\[0\] meets S1 on in_val\[1\]"),
        (["S0", "D"], ["S0", 2, "D"], r"cycle 2, block: .*D on in_val\[0\] meets 2.0 on in_val\[1\]"),
    ],
)
def test_operands_of_different_shapes_are_refused(first, second, message):
    for quirks in (NO_QUIRKS, PUBLIC):
        with pytest.raises(SimulationError, match=message):
            run_streams(
                Alu("block", quirks=quirks), given_operands(first, second), ["out_val"], checked=False
            )


def test_an_integer_that_meets_a_stop_is_refused_without_the_quirk():
    given_streams = given_operands([2, "S0", "D"], [5, 6, "S0", "D"])
    found = run_streams(Alu("block", "add", quirks=PUBLIC), given_streams, ["out_val"], checked=False)
    assert tokens_of(found["out_val"]) == [7, 6, "S0", "D"]
    with pytest.raises(SimulationError, match=r"S0 on in_val\[0\] meets 6.0 on in_val\[1\]"):
        run_streams(Alu("block", "add"), given_streams, ["out_val"], checked=False)


def test_empty_counts_as_zero():
    given_streams = given_operands([1.5, "N", "S0", "D"], ["N", 2.0, "S0", "D"])
    found = run_streams(Alu("block", "add"), given_streams, ["out_val"])
    assert tokens_of(found["out_val"]) == [1.5, 2.0, "S0", "D"]
    found = run_streams(
        ScalarReduce("block"), {"in_val": list(enumerate([1.5, "N", "S0", "D"]))}, ["out_val"]
    )
    assert tokens_of(found["out_val"]) == [1.5, "D"]


def unary(operation, operand):
    given_streams = {"in_val": [(0, operand), (1, "S0"), (2, "D")]}
    return run_streams(UnaryAlu("block", operation), given_streams, ["out_val"])["out_val"][0][1]


def test_a_quotient_by_0_is_0_whether_the_0_is_stored_or_not():
    quotients = run_streams(
        Alu("block", "div"),
        given_operands([1.0, -1.0, 0.0, 1.0, "S0", "D"], [0.0, -0.0, 0.0, "N", "S0", "D"]),
        ["out_val"],
    )
    assert tokens_of(quotients["out_val"])[:4] == [0.0, 0.0, 0.0, 0.0]


def test_what_has_no_real_result_is_infinite_or_no_number():
    for operation, operand in (("sqrt", -1.0), ("sin", math.inf)):
        found = run_streams(
            UnaryAlu("block", operation), {"in_val": [(0, operand), (1, "S0"), (2, "D")]}, ["out_val"]
        )
        assert math.isnan(found["out_val"][0][1])
    found = run_streams(UnaryAlu("block", "exp"), {"in_val": [(0, 1e9), (1, "S0"), (2, "D")]}, ["out_val"])
    assert found["out_val"][0] == (0, math.inf)


AS_NUMPY = {
    "exp": np.exp,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "neg": np.negative,
    "abs": np.abs,
    "square": np.square,
    "relu": lambda value: np.maximum(value, 0.0),
    "mul": np.multiply,
    "add": np.add,
    "sub": np.subtract,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
EXTREMES = (math.nan, math.inf, -math.inf, 0.0, 1.5, -1.5, 709.75, 709.782, 709.79, -745.2, 1e308, -1e308)


@pytest.mark.parametrize("operation", AS_NUMPY)
def test_an_operation_of_extreme_numbers_is_that_of_numpy(operation):
    is_unary = operation in operations.UNARY
    code = (operations.UNARY if is_unary else operations.BINARY)[operation]
    pairs = [(value, operand) for value in EXTREMES for operand in ((0.0,) if is_unary else EXTREMES)]
    with np.errstate(all="ignore"):
        numpy = [AS_NUMPY[operation](*pair[: 2 - is_unary]) for pair in pairs]
    np.testing.assert_allclose([operate(code, *pair, DOUBLE) for pair in pairs], numpy, rtol=1e-15)


def test_unknown_operations_are_refused():
    with pytest.raises(ValueError, match=r"block has no operation mull; did you mean mul\?"):
        Alu("block", "mull")
    with pytest.raises(ValueError, match="block has no operation reluu"):
        UnaryAlu("block", "reluu")
    with pytest.raises(ValueError, match="block has no operation summ"):
        ScalarReduce("block", "summ")
    with pytest.raises(SimulationError, match="block has 2 operands, but 1 in_val"):
        run_streams(Alu("block"), {"in_val[0]": [(0, "D")]}, [])


def test_values_are_counted():
    block = ScalarReduce("block")
    run_streams(block, {"in_val": list(enumerate([1.0, -1.0, "S0", 2.0, "S0", "S1", "D"]))}, [])
    found = block.counters()
    assert [found[name] for name in ("reductions", "zeros", "nonzeros")] == [3, 2, 1]
    block = Alu("block")
    run_streams(block, given_operands([1.0, 2.0, "S0", "D"], [1.0, 2.0, "S0", "D"]), [])
    assert block.counters()["operations"] == 2
