"""The expressions of SAM's Table 1, with formats whose default loop order is that of the table.

Source: O. Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """An expression of the table.

    Args:
        name: name in the table, as ``SpMV``.
        text: the expression, as ``compile_expression`` takes it.
        formats: formats of its tensors, comma-separated.
    """

    name: str
    text: str
    formats: str

    @property
    def file(self) -> str:
        """Return the stem of the expression's file names."""
        return self.name.lower()


KERNELS = (
    Kernel("SpMV", "x(i) = B(i,j) * c(j)", "x:s,B:ss,c:s"),
    Kernel("SpMSpM", "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss"),
    Kernel("SDDMM", "X(i,j) = B(i,j) * C(i,k) * D(j,k)", "X:ss,B:ss,C:ss,D:ss"),
    Kernel("InnerProd", "x = B(i,j,k) * C(i,j,k)", "B:sss,C:sss"),
    Kernel("TTV", "X(i,j) = B(i,j,k) * c(k)", "X:ss,B:sss,c:s"),
    Kernel("TTM", "X(i,j,k) = B(i,j,l) * C(k,l)", "X:sss,B:sss,C:ss"),
    Kernel("MTTKRP", "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "X:ss,B:sss,C:ss,D:ss"),
    Kernel("Residual", "x(i) = b(i) - C(i,j) * d(j)", "x:s,b:s,C:ss,d:s"),
    Kernel("MatTransMul", "x(i) = a * B(j,i) * c(j) + b * d(i)", "x:s,B:ss:10,c:s,d:s"),
    Kernel("MMAdd", "X(i,j) = B(i,j) + C(i,j)", "X:ss,B:ss,C:ss"),
    Kernel("Plus3", "X(i,j) = B(i,j) + C(i,j) + D(i,j)", "X:ss,B:ss,C:ss,D:ss"),
    Kernel("Plus2", "X(i,j,k) = B(i,j,k) + C(i,j,k)", "X:sss,B:sss,C:sss"),
)
