"""The compiled reader against the grammar, which is the reference: the same numbers, the same messages."""

import struct
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope.workloads import WorkloadError, read_matrix
from fiberscope.workloads.number_lines import COMPILED, NumberLines
from fiberscope.workloads.text import Grammar

FIELDS = st.sampled_from(
    [["index", "index"], ["index", "index", "real"], ["index", "index", "integer"], ["real"], ["integer"]]
)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
SPELLED = st.one_of(
    DOUBLES.map(repr),
    DOUBLES.map("{:.17g}".format),
    DOUBLES.map("{:.3f}".format),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(2**52, 2**54).map("{}.5".format),  # halfway between two doubles, or near it
    st.from_regex(r"[-+]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][-+]?[0-9]{1,5})?", fullmatch=True),
)
PLACES = st.one_of(st.integers(0, 9999), st.integers(10**15, 10**20))
LINES = st.one_of(
    st.tuples(PLACES, PLACES, SPELLED).map(lambda words: "{} {}\t{}".format(*words)),
    st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda words: " {} +{} \r".format(*words)),
    SPELLED,
    st.text("0123456789.+-eE \t\r%#x_,\x00\x7f", max_size=12),
    st.sampled_from(
        ["", "% comment", " # 1 2 3", "1 2 nan", "1 2 1e", "1 2 .", "1 -2", "1 2 1d5", "1 2 3 4"]
    ),
)
TEXTS = st.lists(LINES, min_size=1, max_size=6).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)


def by_grammar(fields, text):
    """What the grammar makes of whole lines; None where one is not good."""
    grammar = Grammar(fields, "%#")
    if grammar.count_valid_bytes(text) < len(text):
        return None
    words = [float(word) for line in text.split(b"\n") if grammar.is_entry(line) for word in line.split()]
    return np.array(words).reshape(-1, len(fields))


@given(fields=FIELDS, text=TEXTS)
@example(["index", "index", "real"], b"1 2 .5e-3\n%\n3 4 5.\n")
def test_it_takes_what_the_grammar_takes_and_gives_the_same_bits(fields, text):
    found, wanted = NumberLines(fields, "%#").table(text), by_grammar(fields, text)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found.tobytes() == wanted.tobytes()


def test_the_nearest_double_of_many_numbers():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**63, 20_000, dtype=np.uint64)
    doubles = [value for value in struct.unpack(f"{len(bits)}d", bits.tobytes()) if np.isfinite(value)]
    mantissas, powers = rng.integers(0, 2**63, 20_000).tolist(), rng.integers(-330, 310, 20_000).tolist()
    words = [f"{value:.17g}" for value in doubles]
    words += [f"{mantissa}e{power}" for mantissa, power in zip(mantissas, powers, strict=True)]
    words += [f"0.{'0' * (power % 30)}{mantissa}" for mantissa, power in zip(mantissas, powers, strict=True)]
    found = NumberLines(["real"], "%").table("\n".join([*words, ""]).encode())
    assert found.ravel().tolist() == [float(word) for word in words]


@given(
    head=st.sampled_from(
        ["coordinate real general\n9 9 2", "coordinate integer symmetric\n9 9 2", "array real general\n1 2"]
    ),
    body=TEXTS,
    name=st.sampled_from(["a.mtx", "a.el", "a.tns"]),
)
def test_a_file_is_read_or_refused_as_by_the_grammar(tmp_path_factory, head, body, name):
    path = tmp_path_factory.mktemp("m") / name
    path.write_bytes((b"%%MatrixMarket matrix " + head.encode() + b"\n" if name == "a.mtx" else b"") + body)
    outcomes = []
    for compiled in (True, False):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("fiberscope.workloads.text.COMPILED", compiled)
            try:
                matrix = read_matrix(path)
                outcomes.append(
                    (matrix.shape, matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tobytes())
                )
            except WorkloadError as error:
                outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.skipif(not COMPILED, reason="only the compiled form is fast")
def test_a_million_entries_are_read_in_half_a_second_of_processor(tmp_path):
    rng = np.random.default_rng(1)
    rows, cols = rng.integers(0, 100_000, (2, 1_000_000)).tolist()
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{row}\t{col}\n" for row, col in zip(rows, cols, strict=True)))
    start = time.process_time()
    assert read_matrix(path).shape[0] <= 100_000
    assert time.process_time() - start < 0.5
