"""Tilings of a kernel on real tensors by D2T2 and by baselines, predicted and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.models.tiles.base import Scheme, Shape, choose_base_shape
from fiberscope.models.tiles.baselines.drt import MICROTILE, PANEL, Dynamic, grow_dynamic_tiles
from fiberscope.models.tiles.baselines.squares import Square, Squares, choose_swiftiles
from fiberscope.models.tiles.fit import Fitter
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import MeasuredTraffic, measure
from fiberscope.models.tiles.optimise import optimise
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.statistics import Statistics, collect_all
from fiberscope.models.tiles.walk import Overflow
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric, find_metric

METHODS = ("conservative", "prescient", "tailors", "drt", "d2t2")
CHOOSING, MEASURING = "choosing tiles", "measuring tiles"  # stages of progress
STREAMS = 8  # 1 / share of Tailors' buffer that streams when a tile overflows [ours]


@dataclass(frozen=True)
class Methods:
    """Methods to compare, with their options.

    Args:
        compare: methods in addition to D2T2 and Conservative, which are always included.
        scan: whether to try every side of squares instead of bisection.
        swiftiles: whether Tailors estimates its side from a sample of tiles.
        microtile: side of DRT's microtiles, in coordinates.
        panel: initial columns of microtiles of DRT's panel.
        step: divisor of the sides of squares that a search tries.
    """

    compare: Sequence[str] = ()
    scan: bool = False
    swiftiles: bool = False
    microtile: int = MICROTILE
    panel: int = PANEL
    step: int = 1

    def check(self) -> None:
        """Check the names of the methods.

        Raises:
            InputError: a method does not exist.
        """
        for name in self.compare:
            if name not in METHODS:
                raise InputError(f"no tiling method is called {name!r}; {suggest(name, METHODS)}")


@dataclass(frozen=True)
class Plan:
    """Tilings of a kernel.

    Args:
        kernel: with the order of its loops.
        tensors: the tensors by name.
        capacity: the capacity of each operand's buffer, in the unit of ``metric``.
        options: the options of the prediction and the search.
        statistics: of the base tiling, by operand.
        schemes: the schemes by method, without DRT; always ``conservative`` and ``d2t2``.
        dynamic: DRT's tasks; None without DRT.
    """

    kernel: Kernel
    tensors: Mapping[str, SparseTensor]
    capacity: int
    options: Options
    statistics: Mapping[str, Statistics]
    schemes: Mapping[str, Scheme]
    dynamic: Dynamic | None

    @property
    def chosen(self) -> Scheme:
        """Return D2T2's scheme."""
        return self.schemes["d2t2"]

    @cached_property
    def measured(self) -> Mapping[str, MeasuredTraffic]:
        """Return the measured traffic of each method's tiles, without DRT; measured at the first access.

        Raises:
            InputError: the kernel is not a single product.
        """
        return {
            name: self._measure(scheme.shape, scheme.fullest, scheme.packed)
            for name, scheme in self.schemes.items()
        }

    @cached_property
    def measured_candidates(self) -> Sequence[MeasuredTraffic]:
        """Return the measured traffic of each candidate's shape, partitioned anew and without overflow.

        Raises:
            InputError: the kernel is not a single product.
        """
        return [self._measure(candidate.shape) for candidate in self.chosen.candidates]

    def measure_all(self, progress: Progress) -> None:
        """Measure the tiles of all methods and candidates, and cache them in the two properties above.

        Args:
            progress: called before each measurement with the number of measured tilings.

        Raises:
            InputError: the kernel is not a single product.
        """
        schemes, candidates = self.schemes, self.chosen.candidates
        total = len(schemes) + len(candidates)
        scheme_traffic, candidate_traffic = {}, []
        for number, (name, scheme) in enumerate(schemes.items()):
            progress(MEASURING, number, total)
            scheme_traffic[name] = self._measure(scheme.shape, scheme.fullest, scheme.packed)
        for number, candidate in enumerate(candidates, start=len(schemes)):
            progress(MEASURING, number, total)
            candidate_traffic.append(self._measure(candidate.shape))
        # a cached property has its value in ``__dict__``, which can be changed although the class is frozen
        vars(self).update(measured=scheme_traffic, measured_candidates=candidate_traffic)

    def find_fullest_size(self, shape: Shape) -> int:
        """Return the size of the fullest tile of a shape in a buffer; the operands are partitioned anew."""
        return Fitter(self.kernel, self.tensors, self.capacity, self.metric).find_fullest_size(shape)

    @property
    def metric(self) -> Metric:
        """Return the metric of the sizes of tiles."""
        return find_metric(self.options.metric)

    def _measure(self, shape: Shape, fullest: int = 0, packed: Shape | None = None) -> MeasuredTraffic:
        resident = self.capacity - self.capacity // STREAMS
        # only tiles of Tailors can be larger than the buffer
        overflow = Overflow(self.capacity, resident, self.metric) if fullest > self.capacity else None
        return measure(
            self.kernel, self.tensors, shape, output=self.options.output, overflow=overflow, base=packed
        )


def plan(
    kernel: Kernel,
    tensors: Mapping[str, SparseTensor],
    capacity: int,
    options: Options = DEFAULTS,
    methods: Methods = Methods(),
    tensor_statistics: Mapping[str, Statistics] | None = None,
    progress: Progress = ignore_progress,
) -> Plan:
    """Return tilings by Conservative, by D2T2 and by the methods to compare.

    All tiles fit the buffers, except for Tailors, of whose tiles a share overflows. If D2T2's tiling of a
    product moves more than the base tiling when measured, the base tiling replaces it, and ``fallback`` of
    the scheme gives the reason. If an operand is empty, each scheme has one tile per tensor.

    Args:
        kernel: the expression and the order of its loops. A sum cannot be measured: predictions alone choose.
        tensors: by name, with their ranks as the kernel writes them.
        capacity: of each operand's buffer, in the unit of the options' metric.
        options: the options of the prediction and the search.
        methods: the methods to compare.
        tensor_statistics: statistics of an earlier run, for every operand; None or empty: they are collected.
        progress: called before and after the statistics, and before D2T2's search.

    Raises:
        InputError: extents disagree, a method does not exist, the capacity is too small, statistics are of
            other tensors or tiles, or options or DRT (A times B, in the order ikj) do not support the kernel.
    """
    methods.check()
    extents = kernel.determine_extents({name: tensor.shape for name, tensor in tensors.items()})
    base = choose_base_shape(kernel, extents, capacity, find_metric(options.metric), options.base)
    steps = 3 + len(methods.compare)  # statistics, Conservative and D2T2, and the methods to compare
    progress(CHOOSING, 0, steps)
    if tensor_statistics:
        statistics = _check_statistics(tensor_statistics, kernel, tensors, base)
    else:
        statistics = collect_all(kernel, tensors, base, options)
    progress(CHOOSING, 1, steps)
    dynamic = _plan_dynamic(kernel, tensors, capacity, methods) if "drt" in methods.compare else None
    plan_with = partial(Plan, kernel, tensors, capacity, options, statistics)
    if not all(tensor.nonzeros for tensor in tensors.values()):
        names = [name for name in METHODS if name in {"conservative", "d2t2", *methods.compare} - {"drt"}]
        return plan_with({name: Scheme(name, extents, 0, True) for name in names}, dynamic)
    squares = Squares(kernel, tensors, capacity, find_metric(options.metric), methods.step)
    schemes = _choose_square_schemes(squares, max(base.values()), methods)
    progress(CHOOSING, steps - 1, steps)
    judge = partial(_measure_total, kernel, tensors, options) if kernel.is_product else None
    return plan_with(
        {**schemes, "d2t2": optimise(kernel, tensors, capacity, options, statistics, judge)}, dynamic
    )


def _measure_total(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], options: Options, shape: Shape, packed: Shape | None
) -> float:
    return measure(kernel, tensors, shape, output=options.output, base=packed).total


def _check_statistics(
    statistics: Mapping[str, Statistics], kernel: Kernel, tensors: Mapping[str, SparseTensor], base: Shape
) -> Mapping[str, Statistics]:
    """Return statistics of an earlier run, if their base tiles and numbers of nonzeros are the present ones.

    Their metric and sample are not compared with the options.

    Raises:
        InputError: the statistics of an operand differ in base tile or number of nonzeros.
    """
    for name, tensor_statistics in statistics.items():
        tile = tuple(base[index] for index in kernel.list_stored_indices(name))
        if (tensor_statistics.tile, tensor_statistics.nonzeros) != (tile, tensors[name].nonzeros):
            collected, requested = (" x ".join(map(str, size)) for size in (tensor_statistics.tile, tile))
            raise InputError(
                f"the statistics of {name} are of {tensor_statistics.nonzeros:,} nonzeros "
                f"in base tiles of {collected}, "
                f"the tensor has {tensors[name].nonzeros:,}, for tiles of {requested}; collect anew"
            )
    return statistics


def _choose_square_schemes(squares: Squares, base_side: int, methods: Methods) -> dict[str, Scheme]:
    """Return the schemes with square tiles: Conservative's base tiles, and the compared methods."""
    named_squares = {"conservative": squares.measure_square(squares.tile_sizes(base_side), base_side)}
    if "prescient" in methods.compare:
        named_squares["prescient"] = squares.prescient(base_side, scan=methods.scan)
    if "tailors" in methods.compare and methods.swiftiles:
        named_squares["tailors"] = choose_swiftiles(squares, base_side)
    elif "tailors" in methods.compare:
        named_squares["tailors"] = squares.tailors(base_side, scan=methods.scan)
    return {name: _build_scheme(name, square) for name, square in named_squares.items()}


def _build_scheme(name: str, square: Square) -> Scheme:
    return Scheme(name, square.shape, square.fullest, verified=square.overflowing == 0)


def _plan_dynamic(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], capacity: int, methods: Methods
) -> Dynamic:
    """Return DRT's tasks for a product of matrices."""
    # padded, so that a kernel with fewer indices reaches the error below
    i, k, j = (*kernel.order, *"???")[:3]
    expected_indices = [(i, k), (k, j)]
    if [kernel.indices[name] for name in kernel.inputs] != expected_indices or kernel.contracted != (k,):
        raise InputError(f"{kernel}: drt is for C[i,j] = A[i,k] * B[k,j] in the order ikj; leave drt out")
    a, b = (tensors[name] for name in kernel.inputs)
    return grow_dynamic_tiles(a, b, capacity, methods.microtile, methods.panel)
