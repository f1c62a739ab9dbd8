"""Composition of a mapped machine: kernel, clocks and parts, to which stages and memory are added."""

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
from fiberscope.models.from_spec.lanes import find_clock_ratio
from fiberscope.models.from_spec.settings import MappedParameters, find_value_type
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.specification import Component as Unit
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Component, Kernel
from fiberscope.sim.clock import Clock
from fiberscope.sim.lookahead import LookaheadKernel

AnyComponent = TypeVar("AnyComponent", bound=Component)
Arguments = ParamSpec("Arguments")


class MappedComposition(Composition[MappedParameters]):  # type: ignore[type-var] # its memory may say no channels
    """A mapped machine without its stages and memory: kernel, clocks and parts.

    The package docstring (``fiberscope.models.from_spec``) defines stages, the cut and instances; ``lanes``
    defines lanes.

    Args:
        parameters: the parameters of the machine.
        specification: a complete specification.
        stages: the stages, in the order in which they run; at least one.
        name: first part of the names of the machine's components.
        parts: replacements of entries of ``PARTS``, by name.
        kernel: kernel that runs the machine; by default a new ``LookaheadKernel``.

    Attributes:
        outer_clock: clock of the blocks before the cut, with ``timing.walk`` times the frequency of the core;
            the core's clock if the factor is 1.
        lane_clock: clock of the blocks of stages on lanes, fast enough for the stage with the most lanes; the
            core's clock if no stage has lanes.
        lane_ticks: ticks of this clock per cycle of the core.
        instances: largest number of instances of a stage.
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
        # A lookahead kernel computes chains of blocks ahead of the clock, with the same outcome
        super().__init__(parameters, parts, kernel or LookaheadKernel())
        self.specification, self.value_type = specification, TYPES[find_value_type(parameters)]
        # ``super().__init__`` has created the first clock, that of the core.
        walk, core = parameters.timing.walk, self.kernel.clocks[0]
        self.outer_clock = self.kernel.clock("walk", core.hertz * walk) if walk > 1 else core
        # One clock for all stages with lanes: the stage with the most lanes needs the most ticks a cycle
        self.lane_ticks = ticks = find_clock_ratio(max(stage.lanes for stage in stages))
        self.lane_clock = self.kernel.clock("lanes", core.hertz * ticks) if ticks > 1 else core
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
        """Create a component, as ``add`` does, in a given clock.

        Args:
            clock: the clock of the component.
            part: class of the component, or a factory for it.
            name: name of the component within the machine.
            arguments, options: further arguments of ``part``.
        """
        return self.kernel.add(part(f"{self.NAME}.{name}", *arguments, **options), clock)

    def find_part_name(self, name: str, unit: str) -> str:
        """Return the name of the part that stands for a component of the architecture.

        The result is the component's own name if it has a part of its own, unless the machine's part of its
        kind is replaced.

        Args:
            name: name of the machine's part of this kind.
            unit: name of the component in the architecture.
        """
        return unit if unit in self.parts and self.parts[name] is self.PARTS[name] else name

    def component(self, name: str) -> Unit:
        """Return the component of the architecture with this name, in a configuration of the stages.

        If the configurations of several stages have the component, that of the first stage is returned.

        Raises:
            StopIteration: there is no such component.
        """
        return next(unit for unit in self._components() if unit.name == name)

    def _components(self) -> Iterator[Unit]:
        for stage in self._stages:
            config = stage.einsums[0].bindings.config  # empty if no component is bound
            if config:
                yield from self.specification.configurations[config].components.values()
