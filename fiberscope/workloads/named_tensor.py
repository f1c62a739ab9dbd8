"""Named tensors of any order: tensor files, arrays, and the windows of an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fiberscope.workloads import cache, registry, spec
from fiberscope.workloads.array_file import parse_named_array, read_array, read_stored_array
from fiberscope.workloads.canonical import CsrArray, check_shape
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.files import file_of
from fiberscope.workloads.market_header import read_banner
from fiberscope.workloads.matrixmarket import read_market_tensor
from fiberscope.workloads.suffixes import suffix_of
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.text import open_text
from fiberscope.workloads.tns import read_tns
from fiberscope.workloads.windows import WINDOWS, parse_windows, unroll_windows

Source = Literal["real", "surrogate", "generated", "memory"]


@dataclass(frozen=True)
class NamedTensor:
    """A tensor and its origin.

    Args:
        name: name of the tensor.
        source: ``real``, ``surrogate``, ``generated`` or ``memory``.
        tensor: the entries.
        origin: name of the file, URL, or full text of the generator.
        digest: sha256 of the shape and the entries; for a matrix or vector, equal to that of the
            ``Workload``. A tensor with another number of ranks keeps the digest of the original.
        notice: one line that the user must see.
        has_shape: whether the source gives the shape, and not only the largest coordinates.
        rows: number of ranks that become rows in a matrix; 0 if the tensor cannot become a matrix.
        ranks: names of the ranks if the user gave them, as in ``A[m, k]=a.mtx``.
    """

    name: str
    source: Source
    tensor: SparseTensor
    origin: str
    digest: str
    notice: str | None = None
    has_shape: bool = True
    rows: int = 0
    ranks: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the ranks."""
        return self.tensor.shape

    @property
    def nonzeros(self) -> int:
        """Return the number of stored entries."""
        return self.tensor.nonzeros

    @property
    def matrix(self) -> CsrArray:
        """Return the canonical CSR matrix of a tensor with two ranks."""
        return self.tensor.matrix()

    def of_order(self, order: int, label: str) -> NamedTensor:
        """Return the tensor with another number of ranks.

        A vector becomes a matrix of one column. A tensor with ``rows`` becomes a matrix whose rows are its
        first ``rows`` ranks, and whose columns are the others. In all other cases, as many ranks of size 1 as
        necessary are dropped, from the last; no ranks are added.

        Name, origin, digest and ``ranks`` stay as they are.

        Args:
            order: the number of ranks.
            label: name in errors.

        Raises:
            WorkloadError: the tensor cannot have this number of ranks.
        """
        if self.tensor.order == order:
            return self
        if order == 2 and (self.rows or self.tensor.order == 1):
            return self._unfolded(label)
        shape = self.shape
        nontrivial = [rank for rank, size in enumerate(shape) if size > 1]
        # coordinates in a rank of size 1 are all 0, so that entries stay distinct without the rank
        extra = [rank for rank, size in enumerate(shape) if size == 1][: max(0, order - len(nontrivial))]
        ranks = sorted([*nontrivial, *extra])
        if len(ranks) != order:
            sizes = " x ".join(map(str, shape)) or "a single number"
            request = {0: "a single number is", 1: "1 rank is"}.get(order, f"{order} ranks are")
            raise WorkloadError(f"{request} asked for, and {self.name} is {sizes}", location=label)
        columns = tuple(self.tensor.coordinates[rank] for rank in ranks)
        return replace(
            self, tensor=SparseTensor(tuple(shape[rank] for rank in ranks), columns, self.tensor.values)
        )

    def _unfolded(self, label: str) -> NamedTensor:
        """Return the tensor as a matrix, with a notice if its shape changes."""
        tensor = self.tensor.unfolded(self.rows or 1)
        check_shape(tensor.shape[0], tensor.shape[1], tensor.nonzeros, label)
        if self.tensor.order == 1:
            return replace(self, tensor=tensor)
        shape, read = (" x ".join(map(str, operand.shape)) for operand in (self.tensor, tensor))
        notice = f"NOTE: {self.name} is {shape}, and was read as a matrix of {read}"
        return replace(self, tensor=tensor, notice=notice)


def generate_tensor(full_text: str, tensor: SparseTensor) -> NamedTensor:
    """Return a tensor that a generator has drawn, with its origin.

    Args:
        full_text: the text of the generator with all defaults, which becomes the name and the origin.
        tensor: the generated tensor.
    """
    return _named_tensor(full_text, "generated", tensor, full_text)


def _named_tensor(name: str, source: Source, tensor: SparseTensor, origin: str, **more: Any) -> NamedTensor:  # noqa: ANN401
    return NamedTensor(name, source, tensor, origin, tensor.digest, **more)


def tensor_in(text: str) -> NamedTensor | None:
    """Return the tensor that a text names; None if only ``workload.load`` can resolve the text.

    ``load`` resolves matrix files, registered matrices, views of graphs, and unknown texts.

    Raises:
        WorkloadError: the tensor cannot be read or drawn, or its file is missing.
    """
    if (view := spec.view_keyword(text)) is not None:
        return _unroll_image(text) if view == WINDOWS else None
    if (named := parse_named_array(text)) is not None:
        tensor_name = f"{Path(named[0]).stem}:{named[1]}"
        return _named_tensor(tensor_name, "real", read_array(*named), Path(text).name, rows=1)
    if spec.is_spec(text) and not Path(text).exists():  # a file with this name precedes the generator
        generated, full_text = spec.generate(text)
        tensor = generated if isinstance(generated, SparseTensor) else SparseTensor.from_matrix(generated)
        return generate_tensor(full_text, tensor)
    file = _tensor_file(text)
    # a .tns file is always a tensor, so that a missing file is an error of ``read_tns``
    if file is not None and suffix_of(file) == ".tns":
        return _named_tensor(file.name.partition(".")[0], "real", read_tns(file), file.name, has_shape=False)
    if file is not None and file.is_file() and (market := _read_market_file(file)) is not None:
        return _named_tensor(file.name.partition(".")[0], "real", market, file.name)
    if file is not None and file.is_file() and (array := read_stored_array(str(file))) is not None:
        return _named_tensor(file.stem, "real", array, file.name)
    return None


def _read_market_file(file: Path) -> SparseTensor | None:
    """Return the tensor or vector of a MatrixMarket file; None for any other file."""
    if suffix_of(file) not in (".mtx", ".ttx"):
        return None
    with open_text(file, str(file)) as stream:
        if read_banner(stream, str(file))[0] == "matrix":  # ``load`` reads matrices, with a cache
            return None
        stream.seek(0)
        return read_market_tensor(stream, str(file))


def _unroll_image(text: str) -> NamedTensor:
    """Return the windows of an image as a tensor; the ranks of the image become the rows of its matrix form.

    Raises:
        WorkloadError: the text is no view of windows, or its image is no array.
    """
    view, image_text = parse_windows(text)
    image = tensor_in(image_text)
    if image is None:
        if suffix_of(Path(image_text)) and not Path(image_text).exists():
            raise WorkloadError("no such file", location=image_text)
        fix = "an image is one, as image.npy or net.npz:NAME"
        raise WorkloadError("no array", location=image_text, fix=fix)
    tensor = unroll_windows(image.tensor, view, text)
    return _named_tensor(text, image.source, tensor, view.format_view(image.origin), rows=image.tensor.order)


def _tensor_file(text: str) -> Path | None:
    """Return the file that a text names, of a tensor or a matrix, which may not exist; None for no file.

    A file with the name of a registered entry precedes the entry.

    Raises:
        WorkloadError: a registered tensor has no file on the data path. Tensors are not downloaded.
    """
    if not registry.is_registered(text) or Path(text).is_file():
        return file_of(text)
    entry = registry.lookup(text)
    file = cache.on_data_path(entry)
    if file is None and not entry.is_matrix:
        fix = f"put {entry.name}.tns into a folder on FIBERSCOPE_DATA"
        raise WorkloadError(
            "its file is not there, and tensors have no surrogates", location=entry.name, fix=fix
        )
    return file
