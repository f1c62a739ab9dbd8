"""Tiles for a kernel on real tensors by D2T2 and by what it is compared with, predicted and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.models.tiles.base import Scheme, Shape, base_shape
from fiberscope.models.tiles.baselines.drt import MICROTILE, PANEL, Dynamic, drt
from fiberscope.models.tiles.baselines.squares import Square, Squares, swiftiles
from fiberscope.models.tiles.fit import Fitter
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.measure import MeasuredTraffic, measure
from fiberscope.models.tiles.optimise import optimise
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.statistics import Statistics, collect_all
from fiberscope.models.tiles.walk import Overflow
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import Metric, metric_called

__all__ = ["METHODS", "Methods", "Plan", "plan"]

METHODS = ("conservative", "prescient", "tailors", "drt", "d2t2")
CHOOSING, MEASURING = "choosing tiles", "measuring tiles"  # stages of progress
STREAMS = 8  # Tailors' buffer streams through one part in so many, where a tile overflows [ours]


@dataclass(frozen=True)
class Methods:
    """Methods that are compared, and their options.

    Args:
        compare: besides D2T2 and Conservative.
        scan: try every side of squares instead of halving.
        swiftiles: let Tailors guess its side from a sample of tiles.
        microtile: side of DRT's.
        panel: columns of microtiles of DRT's panel.
        step: of which sides of squares are multiples.
    """

    compare: Sequence[str] = ()
    scan: bool = False
    swiftiles: bool = False
    microtile: int = MICROTILE
    panel: int = PANEL
    step: int = 1

    def check(self) -> None:
        """Refuse a method that there is not.

        Raises:
            InputError: naming it.
        """
        for name in self.compare:
            if name not in METHODS:
                raise InputError(f"no way to tile is called {name!r}; {nearest(name, METHODS)}")


@dataclass(frozen=True)
class Plan:
    """Tiles for a kernel.

    Args:
        kernel: with the order of its loops.
        tensors: the tensors by name.
        capacity: the capacity of each operand's buffer.
        options: the options of the prediction and the search.
        statistics: by operand, of the base tiling.
        schemes: the schemes by method.
        dynamic: what DRT does, if it was asked for.
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
        """D2T2's."""
        return self.schemes["d2t2"]

    @cached_property
    def measured(self) -> Mapping[str, MeasuredTraffic]:
        """Return the measured traffic of each method's tiles, without DRT."""
        return {
            name: self._measured(scheme.shape, scheme.fullest, scheme.packed)
            for name, scheme in self.schemes.items()
        }

    @cached_property
    def measured_candidates(self) -> Sequence[MeasuredTraffic]:
        """Return the measured traffic of each candidate's tiles."""
        return [self._measured(candidate.shape) for candidate in self.chosen.candidates]

    def measure_all(self, progress: Progress) -> None:
        """Measure the tiles of every method and of every candidate, for the two properties.

        Args:
            progress: called with the number of tilings that are measured.
        """
        schemes, candidates = self.schemes, self.chosen.candidates
        total = len(schemes) + len(candidates)
        measured, of_candidates = {}, []
        for number, (name, scheme) in enumerate(schemes.items()):
            progress(MEASURING, number, total)
            measured[name] = self._measured(scheme.shape, scheme.fullest, scheme.packed)
        for number, candidate in enumerate(candidates, start=len(schemes)):
            progress(MEASURING, number, total)
            of_candidates.append(self._measured(candidate.shape))
        vars(self).update(measured=measured, measured_candidates=of_candidates)

    def fullest(self, shape: Shape) -> int:
        """Return the space of the fullest tile of a shape in a buffer."""
        return Fitter(self.kernel, self.tensors, self.capacity, self.metric).fullest(shape)

    @property
    def metric(self) -> Metric:
        """Return the metric of the sizes of tiles."""
        return metric_called(self.options.metric)

    def _measured(self, shape: Shape, fullest: int = 0, packed: Shape | None = None) -> MeasuredTraffic:
        stays = self.capacity - self.capacity // STREAMS
        overflow = Overflow(self.capacity, stays) if fullest > self.capacity else None
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
    """Tiles that fit the buffers, by D2T2 and by the methods that it is compared with.

    D2T2's are measured before they are returned: where they move more than Conservative's, those are taken,
    and the scheme says so. Operands of which one is empty are not cut.

    Args:
        kernel: a product, with the order of its loops.
        tensors: by name, ranks as the kernel writes them.
        capacity: of each operand's buffer, in the unit of the options' metric.
        options: the options of the prediction and the search.
        methods: to compare with.
        tensor_statistics: statistics of an earlier run, by operand; None collects them.
        progress: called with the number of steps that are done: statistics, each method.

    Raises:
        InputError: extents that do not agree, a method that there is not, a capacity that holds nothing, a
            base tile that does not fit, statistics of other tensors or base tiles, or DRT for another kernel
            than A times B in the order ikj.
    """
    methods.check()
    extents = kernel.extents({name: tensor.shape for name, tensor in tensors.items()})
    base = base_shape(kernel, extents, capacity, metric_called(options.metric), options.base)
    steps = 3 + len(methods.compare)
    progress(CHOOSING, 0, steps)
    if tensor_statistics:
        statistics = _checked(tensor_statistics, kernel, tensors, base)
    else:
        statistics = collect_all(kernel, tensors, base, options)
    progress(CHOOSING, 1, steps)
    dynamic = _dynamic(kernel, tensors, capacity, methods) if "drt" in methods.compare else None
    plan_with = partial(Plan, kernel, tensors, capacity, options, statistics)
    if not all(tensor.nonzeros for tensor in tensors.values()):
        names = [name for name in METHODS if name in {"conservative", "d2t2", *methods.compare} - {"drt"}]
        return plan_with({name: Scheme(name, extents, 0, True) for name in names}, dynamic)
    squares = Squares(kernel, tensors, capacity, metric_called(options.metric), methods.step)
    schemes = _squares(squares, max(base.values()), methods)
    progress(CHOOSING, steps - 1, steps)
    judge = partial(_measured_total, kernel, tensors, options) if kernel.is_product else None
    return plan_with(
        {**schemes, "d2t2": optimise(kernel, tensors, capacity, options, statistics, judge)}, dynamic
    )


def _measured_total(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], options: Options, shape: Shape
) -> float:
    return measure(kernel, tensors, shape, output=options.output).total


def _checked(
    statistics: Mapping[str, Statistics], kernel: Kernel, tensors: Mapping[str, SparseTensor], base: Shape
) -> Mapping[str, Statistics]:
    """Statistics of an earlier run, which are to be of these tensors in these tiles."""
    for name, tensor_statistics in statistics.items():
        tile = tuple(base[index] for index in kernel.stored(name))
        if (tensor_statistics.tile, tensor_statistics.nonzeros) != (tile, tensors[name].nonzeros):
            stored, requested = (" x ".join(map(str, size)) for size in (tensor_statistics.tile, tile))
            raise InputError(
                f"the statistics of {name} are of {tensor_statistics.nonzeros:,} nonzeros "
                f"in base tiles of {stored}, "
                f"the tensor has {tensors[name].nonzeros:,}, for tiles of {requested}; collect anew"
            )
    return statistics


def _squares(squares: Squares, least: int, methods: Methods) -> dict[str, Scheme]:
    named_squares = {"conservative": squares.square_of(squares.held(least), least)}
    if "prescient" in methods.compare:
        named_squares["prescient"] = squares.prescient(least, scan=methods.scan)
    if "tailors" in methods.compare:
        guess = partial(swiftiles, squares, least)
        named_squares["tailors"] = guess() if methods.swiftiles else squares.tailors(least, scan=methods.scan)
    return {name: _scheme(name, square) for name, square in named_squares.items()}


def _scheme(name: str, square: Square) -> Scheme:
    return Scheme(name, square.shape, square.fullest, verified=square.overflowing == 0)


def _dynamic(kernel: Kernel, tensors: Mapping[str, SparseTensor], capacity: int, methods: Methods) -> Dynamic:
    """DRT's tasks, of a product of matrices."""
    i, k, j = (*kernel.order, *"???")[:3]
    wanted = [(i, k), (k, j)]
    if [kernel.indices[name] for name in kernel.inputs] != wanted or kernel.contracted != (k,):
        raise InputError(f"{kernel}: drt is for C[i,j] = A[i,k] * B[k,j] in the order ikj; leave drt out")
    a, b = (tensors[name] for name in kernel.inputs)
    return drt(a, b, capacity, methods.microtile, methods.panel)
