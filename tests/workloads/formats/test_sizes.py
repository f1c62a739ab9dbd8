"""Sizes: MINT's specification to the bit, its crossovers, and expectations against drawn matrices."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from tensors import uniform

from fiberscope.workloads import WorkloadError, from_scipy
from fiberscope.workloads.formats import FORMATS, Bsr, Rlc, format_called, index_bits
from fiberscope.workloads.tensor import SparseTensor

EXAMPLE = np.array([[0, 0, 1, 0], [2, 0, 3, 0], [0, 4, 0, 5], [6, 0, 0, 0]], float)
LARGE = (11_000, 11_000)


def of(dense):
    return SparseTensor.from_matrix(from_scipy(np.asarray(dense)).matrix)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("dense", 512), ("coo", 216), ("csr", 219), ("csc", 219), ("zvc", 208), ("rlc", 216), ("bsr2", 525)],
)
def test_the_example(name, bits):
    assert FORMATS[name].size_bits(of(EXAMPLE), 32) == bits


def test_the_arrays_of_the_example():
    csr, csc, zvc, rlc, bsr = (
        FORMATS[name].encode(of(EXAMPLE)) for name in ("csr", "csc", "zvc", "rlc", "bsr2")
    )
    assert [csr[name].tolist() for name in ("row_ptr", "col_ids")] == [[0, 1, 3, 5, 6], [2, 0, 2, 1, 3, 0]]
    assert [csc[name].tolist() for name in ("col_ptr", "row_ids")] == [[0, 2, 3, 5, 6], [1, 3, 2, 0, 1, 2]]
    assert "".join(map(str, zvc["mask"])) == "0010101001011000"
    assert rlc["runs"].tolist() == [2, 1, 1, 2, 1, 0]
    assert [bsr[name].tolist() for name in ("row_ptr", "col_ids")] == [[0, 2, 4], [0, 1, 0, 1]]
    values = np.frombuffer(bsr["values"].astype("<u4").tobytes(), "<f4").reshape(4, 4)
    assert values.tolist() == [[0, 0, 2, 0], [1, 0, 3, 0], [0, 4, 6, 0], [0, 5, 0, 0]]


def test_the_tensor_of_the_example():
    points = np.array([(0, 0, 1), (0, 2, 0), (0, 2, 3), (1, 1, 2)]).T
    csf = FORMATS["csf"].encode(SparseTensor.from_coordinates((2, 3, 4), list(points), np.ones(4)))
    expected = {
        "crd_1": [0, 1],
        "pos_2": [0, 2, 3],
        "crd_2": [0, 2, 1],
        "pos_3": [0, 1, 3, 4],
        "crd_3": [1, 0, 3, 2],
    }
    assert {name: csf[name].tolist() for name in expected} == expected
    assert csf.size_bits == 2 * 1 + 3 * 2 + 3 * 2 + 4 * 3 + 4 * 2 + 4 * 32


def test_values_lie_little_endian_least_significant_bit_first():
    encoded = FORMATS["csr"].encode(of(EXAMPLE))
    lines = [encoded.packed()[at : at + 64] for at in range(0, encoded.line_bytes, 64)]
    assert int.from_bytes(lines[0], "little") == sum(p << 3 * n for n, p in enumerate([0, 1, 3, 5, 6]))
    assert int.from_bytes(lines[1], "little") == sum(c << 2 * n for n, c in enumerate([2, 0, 2, 1, 3, 0]))
    assert np.frombuffer(lines[2], "<f4")[:7].tolist() == [1, 2, 3, 4, 5, 6, 0]
    rlc = FORMATS["rlc"].encode(of(EXAMPLE))
    word = int.from_bytes(rlc.packed(), "little")
    assert rlc.line_bytes == 64
    assert [word >> 36 * n & 15 for n in range(6)] == [2, 1, 1, 2, 1, 0]
    assert np.array([word >> 36 * n + 4 & 2**32 - 1 for n in range(6)], "<u4").view("<f4").tolist() == [
        *range(1, 7)
    ]


def test_an_entry_without_value_takes_its_run_alone():
    dense = np.zeros((1, 40))
    dense[0, [20, 39]] = 1, 2
    encoded = FORMATS["rlc"].encode(of(dense))
    assert encoded["runs"].tolist() == [15, 5, 15, 3]
    assert encoded.size_bits == 2 * 36 + 2 * 4
    word = int.from_bytes(encoded.packed(), "little")
    assert [word & 15, word >> 4 & 15, word >> 40 & 15, word >> 44 & 15] == [15, 5, 15, 3]
    eyeriss = Rlc(5, True).encode(of(dense))
    assert eyeriss["runs"].tolist() == [20, 18]
    assert eyeriss.size_bits == 2 * 37
    long_run = np.zeros((1, 70))
    long_run[0, 69] = 1
    assert Rlc(5, True).encode(of(long_run))["runs"].tolist() == [31, 31, 5]


def expected(name, density, bits=32, shape=LARGE):
    return FORMATS[name].expected_bits(shape, density, bits)


def crossover(one, other, low, high, bits=32):
    return 100 * brentq(lambda d: expected(one, d, bits) - expected(other, d, bits), low, high, xtol=1e-9)


@pytest.mark.parametrize(
    ("one", "other", "bits", "between", "per_cent"),
    [
        ("csr", "zvc", 32, (0.01, 0.2), 7.127),
        ("csr", "dense", 32, (0.3, 1), 69.56),
        ("csr", "dense", 16, (0.3, 1), 53.33),
        ("csr", "dense", 8, (0.3, 1), 36.35),
        ("zvc", "dense", 32, (0.5, 1), 96.875),
        ("zvc", "dense", 16, (0.5, 1), 93.75),
        ("zvc", "dense", 8, (0.5, 1), 87.5),
        ("rlc", "csr", 32, (0.01, 0.06), 2.20),
        ("rlc", "zvc", 32, (0.1, 0.5), 24.64),
    ],
)
def test_crossovers(one, other, bits, between, per_cent):
    assert crossover(one, other, *between, bits) == pytest.approx(per_cent, abs=0.01)


def test_coo_and_csr_meet_at_11001_nonzeros():
    for nonzeros, ahead in ((11_001, 0), (11_000, 14)):
        coo, csr = (
            sum(span.bits for span in FORMATS[name].layout(LARGE, {"nonzeros": nonzeros}, 32))
            for name in ("coo", "csr")
        )
        assert csr - coo == ahead
        assert nonzeros != 11_001 or coo - 32 * nonzeros == 308_028


@pytest.mark.parametrize(("density", "name"), [(1e-8, "coo"), (0.1, "rlc"), (0.5, "zvc"), (1.0, "dense")])
def test_the_smallest_at_the_stars_of_figure_4(density, name):
    sizes = {each: expected(each, density) for each in ("dense", "rlc", "zvc", "coo", "csr", "csc")}
    assert min(sizes, key=sizes.__getitem__) == name


def check_expectation(form, shape, nonzeros):
    drawn = [form.size_bits(uniform(shape, nonzeros, seed=seed), 32) for seed in range(100)]
    found = form.expected_bits(shape, nonzeros / math.prod(shape), 32)
    assert found == pytest.approx(np.mean(drawn), rel=0.01)


@pytest.mark.parametrize("name", [*FORMATS, "bsr4"])
@pytest.mark.parametrize(
    ("shape", "density"), [((150, 90), 0.3), ((80, 201), 0.05), ((200, 200), 0.01), ((400, 300), 0.001)]
)
def test_expectations_against_drawn_matrices(name, shape, density):
    form = format_called(name)
    nonzeros = round(density * math.prod(shape))
    check_expectation(form, shape, nonzeros)


@pytest.mark.parametrize("density", [0.001, 0.02, 0.2])
def test_expectations_against_drawn_tensors(density):
    shape = (30, 60, 90)
    nonzeros = round(density * math.prod(shape))
    for name in ("coo", "csf", "zvc", "rlc"):
        check_expectation(FORMATS[name], shape, nonzeros)


@pytest.mark.parametrize("block", [1, 2, 3, 5])
def test_blocks_are_those_of_scipy(block):
    for seed in range(20):
        matrix = uniform((13, 17), 40, seed=seed).matrix()
        rows, columns = Bsr(block).grid((13, 17))
        padded = sparse.csr_array(matrix)
        padded.resize((rows * block, columns * block))
        theirs = padded.tobsr((block, block))
        theirs.sort_indices()
        encoded = Bsr(block).encode(SparseTensor.from_matrix(matrix))
        assert encoded["row_ptr"].tolist() == theirs.indptr.tolist()
        assert encoded["col_ids"].tolist() == theirs.indices.tolist()
        assert np.array_equal(encoded["values"].view("<f4"), theirs.data.reshape(-1).astype("<f4"))


@pytest.mark.parametrize(
    ("size", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (2**14, 14), (2**14 + 1, 15), (2**40, 40)]
)
def test_bits_of_an_index(size, bits):
    assert index_bits(size) == bits


CUBE = uniform((2, 3, 4), 5)
WIDE = SparseTensor((2**20, 2**20), (np.array([5]), np.array([5])), np.ones(1))


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("csr holds matrices, not a tensor of order 3", lambda: FORMATS["csr"].size_bits(CUBE, 32)),
        ("cannot hold 8589934592 x 8589934592", lambda: expected("zvc", 0.1, shape=(2**33, 2**33))),
        ("values of 12 bits", lambda: FORMATS["coo"].encode(CUBE, 12)),
        ("a density of 1.5", lambda: expected("csr", 1.5)),
        ("no format is called 'cssr'; did you mean csr", lambda: format_called("cssr")),
        ("bsr.block is 0", lambda: format_called("bsr0")),
        ("rlc.run_bits is 17", lambda: Rlc(17)),
        ("only its size can be computed", lambda: FORMATS["dense"].encode(WIDE)),
    ],
)
def test_refusals(text, call):
    with pytest.raises(WorkloadError, match=text):
        call()
