"""Kernels: what a text says, and one line about each that says nothing of the kind."""

import numpy as np
import pytest
from one_line import one_line

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.kernel import RESERVED, Kernel
from fiberscope.models.tiles.operands import load_operands

PRODUCT = "C[i,j] = A[i,k] * B[k,j]"


@pytest.mark.parametrize(
    ("order", "stored", "storage"),
    [("ikj", ("k", "j"), (0, 1)), ("kij", ("k", "j"), (0, 1)), ("ijk", ("j", "k"), (1, 0))],
)
def test_operands_are_stored_in_the_order_of_the_loops(order, stored, storage):
    kernel = Kernel.read(PRODUCT, order)
    assert (kernel.list_stored_indices("B"), kernel.rank_order("B")) == (stored, storage)


def test_a_kernel_knows_its_operands_and_sums():
    kernel = Kernel.read("D[i,j]=A[i,k,l]*B[j,k]*C[j,l]", "i,k,l,j")
    assert kernel.inputs == ("A", "B", "C")
    assert kernel.contracted == ("k", "l")
    assert kernel.is_product
    assert [kernel.depth(name) for name in "ABC"] == [2, 3, 3]
    assert kernel.list_carriers("l") == ("A", "C")
    assert str(kernel) == "D[i,j] = A[i,k,l] * B[j,k] * C[j,l], i k l j"


def test_sums_are_kernels_too():
    kernel = Kernel.read("D[i,j] = (A[i] + B[i]) * C[i,j]", "ij")
    assert not kernel.is_product
    assert str(kernel) == "D[i,j] = (A[i] + B[i]) * C[i,j], i j"


def test_one_tensor_alone_is_a_product():
    assert Kernel.read("y[i] = A[i,k]", "ik").is_product


def test_indices_of_several_letters_are_parted():
    assert Kernel.read("C[row,col] = A[row,mid] * B[mid,col]", "row, mid, col").order == ("row", "mid", "col")
    assert Kernel.read("y[row] = x[row]", "row").order == ("row",)


def test_extents_are_those_of_the_operands():
    assert Kernel.read(PRODUCT, "ikj").determine_extents({"A": (3, 4), "B": (4, 5)}) == {
        "i": 3,
        "k": 4,
        "j": 5,
    }


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"A": (3, 4), "B": (5, 5)}, "k has extent 4 in A and 5 in B; make them equal"),
        ({"A": (3, 4)}, "B is a tensor of 2 ranks; none is given"),
        ({"A": (3, 4, 5), "B": (4, 5)}, "A is a tensor of 2 ranks; the one given has 3"),
    ],
)
def test_operands_that_do_not_match_are_refused(shapes, message):
    with pytest.raises(InputError) as caught:
        Kernel.read(PRODUCT, "ikj").determine_extents(shapes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "order", "message"),
    [
        (PRODUCT, "ikk", "order ikk: it must be a permutation of the kernel's indices i, k, j"),
        (PRODUCT, "ij", "order ij: it must be a permutation of the kernel's indices i, k, j"),
        ("C[i,j]=A[i,k]*A[k,j]", "ikj", "A appears twice; give each operand a name of its own"),
        ("C[i,j]=A[i,i]*B[i,j]", "ij", "A has i twice; each index once"),
        ("C[i,j]=A[i+1,k]*B[k,j]", "ikj", "an index of A is computed; only plain ones, as i"),
        ("C[i,m]=A[i,k]*B[k,j]", "ikj", "m of C is in no operand"),
        ("C[i]=2*A[i]", "i", "only sums, differences and products of tensors"),
        ("C[i]=exp(A[i])", "i", "only sums, differences and products of tensors"),
        ("C[i,j]=A[i,k", "ikj", "column 13: found the end, expected"),
        ("C=A", "i", "that renames a tensor"),
        ("C[]=A[]*B[]", "", "no operand has an index, so that there is nothing to partition"),
    ],
)
def test_what_is_no_kernel_is_refused_in_one_line(text, order, message):
    with one_line(InputError, message):
        Kernel.read(text, order)


def test_weights_of_a_convolution_are_a_matrix_of_a_product_and_a_tensor_of_their_ranks(tmp_path):
    np.savez(tmp_path / "net.npz", conv=np.ones((4, 2, 3, 3)))
    weights = f"{tmp_path}/net.npz:conv"
    with pytest.warns(UserWarning, match="was read as a matrix of 4 x 18"):
        product = load_operands(Kernel.read(PRODUCT, "ikj"), [weights], transpose_b=True)
    assert {name: one.shape for name, one in product.items()} == {"A": (4, 18), "B": (18, 4)}
    convolution = Kernel.read("O[m,p] = F[m,c,r,s] * U[c,r,s,p]", "mcrsp")
    given = load_operands(convolution, [weights, "tensor:shape=2x3x3x5,nonzeros=9"])
    assert {name: one.shape for name, one in given.items()} == {"F": (4, 2, 3, 3), "U": (2, 3, 3, 5)}


@pytest.mark.parametrize("name", RESERVED)
def test_an_input_with_the_name_of_a_count_of_the_report_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is a word of the report; rename the tensor"):
        Kernel.read(f"C[i,j] = {name}[i,k] * B[k,j]", "ikj")
    assert Kernel.read(f"{name}[i,j] = A[i,k] * B[k,j]", "ikj").result == name
