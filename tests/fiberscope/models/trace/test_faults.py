"""What is said of a specification that cannot be: file, line, column, and what would be right."""

from dataclasses import replace
from pathlib import Path

import pytest
from whole_specification import WHOLE

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.load import load
from fiberscope.models.trace.specification import Specification

# What is replaced by what, and what is then said.
FAULTS = [
    ("symbols:\n", "symbol:\n", "1:1: there is no symbol; did you mean symbols?"),
    ("  K1: 64", "  K1: many", "2:7: K1 is many; it should be a number"),
    ("  K1: 64", "  K1: ${pe.count}", "2:7: ${pe.count}: there is no pe.count; known: "),
    ("A: [K, M]", "A: [k, M]", "5:8: rank k of A: write it as K"),
    ("A: [K, M]", "A: [K, K]", "5:8: A has a rank twice; a square one is [I, J], say"),
    ("A: [K, M]", "A: K", "5:8: einsum.declaration.A is K; it should be a valid list"),
    ("- Z[m, n] =", "- Z[m, n]", "9:15: Z[m, n] A[k, m] * B[k, n]: found 'A', expected ="),
    ("A[k, m]", "a[k, m]", "9:7: Z[m, n] = a[k, m] * B[k, n]: a is not declared; did you mean A?"),
    ("A[k, m]", "A[k]", "9:7: Z[m, n] = A[k] * B[k, n]: A has 2 ranks, 1 given; A[k, m]?"),
    ("Z[m, n] =", "Z[m+1, n] =", "9:7: Z[m+1, n] = A[k, m] * B[k, n]: an index of the output should be"),
    ("* B[k, n]", "+ B[k, n]", "9:7: Z[m, n] = A[k, m] + B[k, n]: a term lacks N; each needs every rank"),
    ("* B[k, n]", "* B[k, n] * x", "9:7: Z[m, n] = A[k, m] * B[k, n] * x: there is no symbol x; known: "),
    ("* B[k, n]", "* relu(B[k, n])", "9:7: there is no function relu; "),
    ("* B[k, n]", "* min(B[k, n])", "9:7: min takes 2 arguments, 1 given"),
    ("(K1)", "(K3)", "13:11: there is no symbol K3; did you mean K1?"),
    ("uniform_shape(K1)", "uniform_shap(K1)", "13:11: there is no directive uniform_shap; did you mean"),
    ("uniform_shape(K1)", "DRT", "13:11: DRT: tiles that grow while the loops run (DRT) are"),
    ("uniform_shape(K1)", "DRT(K1)", "13:11: DRT(K1): tiles that grow while the loops run (DRT) are not"),
    ("uniform_shape(K1)", "uniform_shape()", "13:11: uniform_shape(): write it as uniform_shape(128)"),
    ("(A.16)", "(C.16)", "13:30: C leads, but is not read by this Einsum; known: A, B"),
    ("(A.16)", "(A.0)", "13:30: a size of 0; it should be a whole number from 1 on"),
    ("      K: [", "      L: [", "13:7: Z has no rank L to partition; known: K, M, N"),
    (
        "[uniform_shape(K1), uniform_occupancy(A.16)]",
        "[uniform_occupancy(A.16), uniform_shape(K1)]",
        "13:10: K: a partition by shape cannot lie within a partition by occupancy",
    ),
    (
        "uniform_occupancy(A.16)]",
        "uniform_shape(128)]",
        "13:30: a part of 128 does not fit the one of 64 around it",
    ),
    ("Z: [K2, M, N, K1, K0]", "Z: [K2, M, N, K1]", "15:8: loop K0 of Z is missing"),
    ("Z: [K2, M, N, K1, K0]", "Z: [K2, M, N, K1, K]", "15:23: Z has no loop K; did you mean "),
    ("Z: [K2, M, N, K1, K0]", "Z: [K2, M, M, K1, K0]", "15:16: loop M appears twice"),
    ("space: [M]", "space: [M, N]", "18:7: loop N of Z is there more than once"),
    ("space: [M]", "space: [M.place]", "18:15: M.place: a rank is placed by pos or by coord, as in M.coord"),
    ("      M: {format: C,", "      N: {format: C,", "24:7: N is not in the rank order; known: "),
    (
        "format: C, cbits",
        "format: D, cbits",
        "24:19: format.A.default.M.format is D; it should be 'C', 'U', 'B' or 'L'",
    ),
    ("cbits: 32, pbits: 64", "pbits: 64", "25:11: K0 is interleaved, and needs both cbits and pbits"),
    ("clock_frequency: 1 GHz", "clock_frequency: 1 Gs", "30:26: architecture.Machine.0.attributes.clock_fr"),
    ("class: DRAM", "class: RAM", "33:18: there is no class RAM; did you mean DRAM?"),
    ("{bandwidth: 8 GB/s}", "{width: 8}", "34:24: a DRAM has no width; did you mean bandwidth?"),
    ("{width: 128}", "{depth: 128}", "38:15: Buffer, a Buffet, needs the attribute width"),
    ("PE[0..3]", "PE[3..0]", "36:17: level PE[3..0]: it should have one instance or more"),
    ("PE[0..3]", "PE(4)", "36:17: level PE(4): write it as PE, PE[32] or PE[0..31]"),
    ("- name: ALU", "- name: Memory", "41:21: there are two components Memory"),
    ("type: [mul, add]", "type: [mul, plus]", "43:34: there is no Compute of type plus; did you mean "),
    ("config: Machine", "config: machine", "49:15: no configuration machine; did you mean Machine?"),
    ("component: Memory", "component: Memry", "50:18: there is no component Memry; did you mean Memory?"),
    ("{tensor: A, rank: K0, type: elem, format: default}", "{tensor: T}", "52:11: a binding of a DRAM needs"),
    ("evict-on: M", "evict-on: L", "55:72: Z has no loop L; known: "),
    (", evict-on: M", "", "55:11: a binding of a Buffet needs evict-on"),
    ("{width: 128}", "{width: 64}", "55:11: a line of Buffer has 64 bits, and elem of K0 needs 96"),
    ("- op: mul", "- op: sub", "58:15: ALU does no sub; "),
    (", leader: A", "", "62:11: Meet is leader-follower, and needs leader:, a tensor"),
    ("leader: A", "leader: C", "62:30: Z does not read C; known: A, B"),
    ("bindings:\n  Z:", "bindings:\n  Y:", "48:3: there is no Einsum Y; known: Z"),
    ("  K1: 64", "  K1: 64\n  K1: 32", "3:3: K1 is given twice"),
    (
        "- name: ALU",
        "- {name: One, class: Merger, attributes: {inputs: 8, comparator_radix: 1}}\n            - name: ALU",
        "41:84: architecture.Machine.0.subtree.0.local.1.attributes.comparator_radix is 1; it should be ",
    ),
]


def loaded(text: str, folder: Path) -> Specification:
    (folder / "my.yaml").write_text(text)
    return load(str(folder / "my.yaml"))


def test_the_whole_is_right(tmp_path: Path) -> None:
    assert loaded(WHOLE, tmp_path)


@pytest.mark.parametrize(("before", "after", "says"), FAULTS, ids=[after.strip() for _, after, _ in FAULTS])
def test_a_fault_is_named_where_it_is(before: str, after: str, says: str, tmp_path: Path) -> None:
    assert before in WHOLE
    with pytest.raises(ConfigurationError) as failure:
        loaded(WHOLE.replace(before, after, 1), tmp_path)
    assert str(failure.value).removeprefix(f"{tmp_path}/my.yaml:").startswith(says)


NOTES = [
    ("symbols:\n", "author: x\nsymbols:\n", "1:1: there is no author, and it is left out; known: "),
    ("einsum:\n", "einsum:\n  mapping: {Z: [K]}\n", "4:3: there is no einsum.mapping, and it is left out; "),
    ("{width: 128}", "{width: 128, technology: 45nm}", "40:40: there is no architecture.Machine.0."),
    ("- op: mul", "- {op: mul, energy: 2}", "58:21: there is no bindings.Z."),
]


@pytest.mark.parametrize(("before", "after", "says"), NOTES, ids=[after.strip() for _, after, _ in NOTES])
def test_an_unknown_key_is_left_out_with_a_note(before: str, after: str, says: str, tmp_path: Path) -> None:
    assert before in WHOLE
    with pytest.warns(UserWarning, match="and it is left out") as notes:
        specification = loaded(WHOLE.replace(before, after, 1), tmp_path)
    (note,) = notes
    assert str(note.message).removeprefix(f"{tmp_path}/my.yaml:").startswith(says)
    assert specification == loaded(WHOLE, tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("expressions:", "expression:"),
        ("] * B", "] \u2217 B"),
        ("partitioning:", "partitions:"),
        ("uniform_shape(", "uniformShape("),
        ("uniform_occupancy(", "uniformOccupancy("),
        ("Z: [K2, M, N, K1, K0]", "- Z: K2, M, N, K1, K0"),
    ],
)
def test_other_spellings_of_public_files_are_read(before: str, after: str, tmp_path: Path) -> None:
    assert before in WHOLE
    (einsum,), (expected,) = (
        loaded(text, tmp_path).einsums for text in (WHOLE.replace(before, after, 1), WHOLE)
    )
    assert replace(einsum, equation=expected.equation) == expected
    assert replace(einsum.equation, text="") == replace(expected.equation, text="")
