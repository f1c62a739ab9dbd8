"""Machines of a suite scaled to equal multipliers, bandwidth or area, each by the rule of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fiberscope.accelerators.configuration import values
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.base.errors import InputError
from fiberscope.base.progress import ignore_progress
from fiberscope.explore.sweeps.machines import NamedMachine
from fiberscope.explore.sweeps.scaling import AREA, RESOURCES, Rule, read_scaling
from fiberscope.results.costs.run_costs import area_items, chip_of
from fiberscope.results.report.costs import area_fields, prices_of
from fiberscope.run.configure import ResolvedRun, resolve_run
from fiberscope.run.execute import RunOptions, build_model
from fiberscope.run.find_machine import find
from fiberscope.sim.names import family_name
from fiberscope.workloads.errors import nearest

__all__ = ["scale_machines"]

PROBE = "uniform:rows=64,cols=64,nonzeros=256"  # for which a machine is built, to sum its area
TOLERANCE = {AREA: 0.05, "bandwidth": 1e-6}  # of other resources none
MOST = 4096  # largest value of a parameter that the search for the nearest machine tries


@dataclass(frozen=True)
class _Design:
    """A machine with parameters, and how much of a resource it has."""

    parameters: Mapping[str, Any]
    amount: float


def scale_machines(
    machines: Sequence[NamedMachine],
    resources: Sequence[str],
    against: str,
    settings: Mapping[str, object] | None = None,
    config: str | None = None,
) -> tuple[list[NamedMachine], list[str]]:
    """Give all machines as much of some resources as one of them has.

    Args:
        machines: the machines.
        resources: ``multipliers``, ``bandwidth`` or ``area``, scaled in this order.
        against: the name of the machine that the others are scaled to; it stays as it is.
        settings, config: parameters of all machines.

    Returns:
        The machines with further settings, and a line for each machine that changed.

    Raises:
        ConfigurationError, InputError: an unknown resource; a machine without a rule, or that cannot have as
            much. The message has the nearest machine.
    """
    for resource in resources:
        if resource not in RESOURCES:
            raise InputError(f"--same {resource}: there is no such resource; {nearest(resource, RESOURCES)}")
    if AREA in resources and len(resources) > 1:
        raise InputError("--same area: leave out the other resources; a scaled machine has other multipliers")
    scaled, lines = list(machines), []
    for resource in resources:
        scalers = [_Scaler(machine, resource, settings or {}, config) for machine in scaled]
        target = next(scaler for scaler in scalers if scaler.machine.name == against).amount()
        for place, scaler in enumerate(scalers):
            if scaler.machine.name != against:
                scaled[place], changes = scaler.scaled_to(target)
                lines += changes
    return scaled, lines


class _Scaler:
    """Scales one machine to an amount of one resource."""

    def __init__(
        self, machine: NamedMachine, resource: str, settings: Mapping[str, object], config: str | None
    ) -> None:
        self.machine, self._resource, self._config = machine, resource, config
        self._settings = {**settings, **machine.set}
        self._accelerator: Accelerator[Any] = find(machine.accelerator)
        self._scaling = read_scaling(self._accelerator.folder)

    def amount(self) -> float:
        """Return how much of the resource the machine has as it is.

        Raises:
            InputError: it is not known.
        """
        return self._design({}).amount

    def scaled_to(self, target: float) -> tuple[NamedMachine, list[str]]:
        """Return the machine with as much of the resource, and a line if it changed.

        Raises:
            InputError: the machine has no rule, or cannot have as much.
        """
        own = self._design({})
        if self._is_met(own.amount, target):
            return self.machine, []
        rule = self._scaling.rule(self._resource)
        if rule is None:
            file = f"{self._accelerator.folder.name}/scaling.yaml"
            raise self._complaint(f"{self.machine.name} has no rule; write one in {file}")
        settings, design = self._settings_for(rule, own, target)
        changed = ", ".join(f"{key}={value} (was {own.parameters[key]})" for key, value in settings.items())
        line = f"--same {self._resource}: {self.machine.name} has {changed}{self._about(design, target)}"
        return self.machine.model_copy(update={"set": {**self.machine.set, **settings}}), [line]

    def _about(self, design: _Design, target: float) -> str:
        """Say how far the resource is from the target, if it cannot be met exactly."""
        off = design.amount / target - 1
        return f", {off:+.1%} of the area" if self._resource == AREA else ""

    def _settings_for(self, rule: Rule, own: _Design, target: float) -> tuple[dict[str, int], _Design]:
        """Return the settings that meet the target, and the machine with them.

        Raises:
            InputError: there are none; with the nearest.
        """
        if self._resource != AREA:
            settings = rule.scaled(own.parameters, target / own.amount)
            design = None if settings is None else self._possible(settings)
            if settings is not None and design is not None and self._is_met(design.amount, target):
                return settings, design
        designs = self._near(rule, own, target)
        best = min(designs, key=lambda pair: abs(pair[1].amount - target), default=None)
        if best is not None and self._resource == AREA and self._is_met(best[1].amount, target):
            return best
        close = (
            "" if best is None else f"; the nearest has {self._text(best[1].amount)}: {_assigned(best[0])}"
        )
        raise self._complaint(f"{self.machine.name} cannot have {self._text(target)} by its rule{close}")

    def _complaint(self, message: str) -> InputError:
        return InputError(f"--same {self._resource}: {message}")

    def _text(self, amount: float) -> str:
        """An amount with its unit."""
        return {
            "multipliers": f"{amount:,.0f} multipliers",
            "bandwidth": f"{amount / 1e9:,.4g} GB/s",
            AREA: f"{amount:,.3g} mm2",
        }[self._resource]

    def _near(self, rule: Rule, own: _Design, target: float) -> Iterator[tuple[dict[str, int], _Design]]:
        """Designs on both sides of the target: the amount grows with the first parameter of the rule."""
        lead = own.parameters[next(iter(rule.parameters))]
        options = [
            settings
            for value in range(1, MOST + 1)
            if (settings := rule.scaled(own.parameters, value / lead)) is not None
        ]
        low, high = -1, len(options)
        while high - low > 1:  # options up to low have less than the target, from high on more or cannot be
            middle = (low + high) // 2
            design = self._possible(options[middle])
            if design is not None:
                yield options[middle], design
            grows = next(iter(options[middle].values())) > lead
            if design.amount < target if design is not None else not grows:
                low = middle
            else:
                high = middle

    def _possible(self, settings: Mapping[str, object]) -> _Design | None:
        try:
            return self._design(settings)
        except ConfigurationError:
            return None

    def _design(self, settings: Mapping[str, object]) -> _Design:
        ready = resolve_run(self._accelerator, {**self._settings, **settings}, self._config)
        parameters = values(ready.configured)
        if self._resource == AREA:
            amount = _area(self._accelerator, ready)
        else:
            amount = self._scaling.amount(self._resource, parameters)
        if not amount:
            file = "costs.yaml" if self._resource == AREA else "scaling.yaml"
            raise self._complaint(
                f"that of {self.machine.name} is not known; write it in {file} in its folder"
            )
        return _Design(parameters, amount)

    def _is_met(self, amount: float, target: float) -> bool:
        return abs(amount - target) <= TOLERANCE.get(self._resource, 0.0) * target


def _area(accelerator: Accelerator[Any], ready: ResolvedRun) -> float | None:
    """The area in mm2 as a report has it, of the machine that is built for a small product."""
    prices = prices_of(accelerator, ready.configured)
    if prices is None:
        return None
    problem = ready.maker.load(PROBE, None, exact=False, progress=ignore_progress)
    options = RunOptions(EVENT, None, False, False, accelerator.taking({}), ignore_progress)
    machine: Any = build_model(accelerator, ready.configured, problem, options)
    numbers = Counter(family_name(component.name) for component in machine.kernel.components)
    um2: float | None = area_fields(area_items(chip_of(prices, numbers)))["area_um2"]
    return None if um2 is None else um2 / 1e6


def _assigned(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())
