"""Composition of a mapped machine: the kernel, its clocks and parts, to which stages and memory are added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

from fiberscope.accelerators.composition import Composition, PartFactory
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.join import Intersect
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.value_type import TYPES
from fiberscope.models.from_spec.lanes import clock_ratio
from fiberscope.models.from_spec.settings import MappedParameters, value_name
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.specification import Component as Unit
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Component, Kernel
from fiberscope.sim.clock import Clock
from fiberscope.sim.lookahead import LookaheadKernel

__all__ = ["MappedComposition"]

AnyComponent = TypeVar("AnyComponent", bound=Component)
Arguments = ParamSpec("Arguments")


class MappedComposition(Composition[MappedParameters]):  # type: ignore[type-var] # its memory may say no channels
    """A mapped machine before any stage is in it.

    Args:
        parameters: the parameters of the machine.
        specification: complete.
        stages: in the order in which they run.
        name: with which the names of its components begin.
        parts: blocks in the place of its own.
        kernel: what runs it.
    """

    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "alu": Alu,
        "bank": FiberCacheBank,
        "intersect": Intersect,
        "merger": HighRadixMerger,
        "runsum": RunSum,
    }

    def __init__(
        self,
        parameters: MappedParameters,
        specification: Specification,
        stages: Sequence[Stage],
        name: str,
        parts: Mapping[str, PartFactory] | None,
        kernel: Kernel | None,
    ) -> None:
        self.NAME = name  # type: ignore[misc] # it is a machine of its own
        super().__init__(parameters, parts, kernel or LookaheadKernel())
        self.specification, self.value_type = specification, TYPES[value_name(parameters)]
        walk, core = parameters.timing.walk, self.kernel.clocks[0]
        self.walking = self.kernel.clock("walk", core.hertz * walk) if walk > 1 else core
        ratio = clock_ratio(max(stage.lanes for stage in stages))
        self.lane_clock = self.kernel.clock("lanes", core.hertz * ratio) if ratio > 1 else core
        self._stages = stages
        self.instances = max(stage.instances for stage in stages)

    def add_at(
        self,
        clock: Clock,
        part: Callable[Concatenate[str, Arguments], AnyComponent],
        name: str,
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> AnyComponent:
        """See ``add``, the class of a part, in a clock."""
        return self.kernel.add(part(f"{self.NAME}.{name}", *arguments, **options), clock)

    def part(self, name: str, unit: str) -> str:
        """The part that a component is: one for it alone, if none stands in for all of its kind."""
        return unit if unit in self.parts and self.parts[name] is self.PARTS[name] else name

    def component(self, name: str) -> Unit:
        """One of the architecture's by its name."""
        return next(unit for unit in self._components() if unit.name == name)

    def _components(self) -> Iterator[Unit]:
        for stage in self._stages:
            config = stage.einsums[0].bindings.config
            if config:
                yield from self.specification.configurations[config].components.values()
