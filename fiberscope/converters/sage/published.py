"""Table III of the paper, from ``published.yaml``: workloads, and the formats that the paper chooses."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict

from fiberscope.converters.sage.search import Choice
from fiberscope.converters.sage.statistics import Statistics

_Pair = tuple[str, str]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pick(_Data):
    """The formats that the paper chooses for a kernel: MCF and ACF, each of the tensor and of the factor."""

    mcf: _Pair
    acf: _Pair

    @property
    def choice(self) -> Choice:
        """Return the formats as a ``Choice`` of the search."""
        return Choice(*self.mcf, *self.acf)


class Row(_Data):
    """A row of the table: a workload, with the formats for its first and its second kernel.

    The kernels are SpGEMM and SpMM for a matrix, and SpTTM and MTTKRP for a tensor.
    """

    name: str
    shape: tuple[int, ...]
    nonzeros: int
    source: str
    first: Pick
    second: Pick

    @property
    def statistics(self) -> Statistics:
        """Return the statistics of the operand."""
        return Statistics(self.name, self.shape, self.nonzeros)

    @property
    def picks(self) -> dict[str, Pick]:
        """Return the published formats by the name of the kernel."""
        kernels = ("spgemm", "spmm") if len(self.shape) == 2 else ("spttm", "mttkrp")
        return dict(zip(kernels, (self.first, self.second), strict=True))


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows of the table."""
    text = (
        resources.files("fiberscope.converters.sage").joinpath("published.yaml").read_text(encoding="utf-8")
    )
    return tuple(Row.model_validate(row) for row in yaml.safe_load(text))
