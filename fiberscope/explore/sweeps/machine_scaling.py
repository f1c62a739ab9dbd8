"""Scaling of the machines of a suite to equal multipliers, bandwidth or area, each by its own rule."""

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
from fiberscope.results.costs.run_costs import iterate_area_items, list_chip_parts
from fiberscope.results.report.costs import build_area_fields, load_prices
from fiberscope.run.configure import ResolvedRun, resolve_run
from fiberscope.run.execute import RunOptions, build_model
from fiberscope.run.find_machine import find
from fiberscope.sim.names import family_name
from fiberscope.workloads.errors import suggest

PROBE = "uniform:rows=64,cols=64,nonzeros=256"  # operand of the machine that is built to sum its area
TOLERANCE = {AREA: 0.05, "bandwidth": 1e-6}  # relative; 0 for other resources
MAX_PARAMETER = 4096  # largest parameter value of the search


@dataclass(frozen=True)
class _Design:
    """Parameters of a machine, and its amount of a resource."""

    parameters: Mapping[str, Any]
    amount: float


def scale_machines(
    machines: Sequence[NamedMachine],
    resources: Sequence[str],
    against: str,
    settings: Mapping[str, object] | None = None,
    config: str | None = None,
) -> tuple[list[NamedMachine], list[str]]:
    """Scale machines to the resources of one of them.

    Args:
        resources: ``multipliers``, ``bandwidth`` or ``area``, scaled in this order.
        against: the name of the reference machine, which is not scaled.
        settings, config: parameters of all machines.

    Returns:
        The machines with further settings, and a line for each changed machine.

    Raises:
        ConfigurationError, InputError: a resource is unknown, or a machine has no rule or cannot have this
            amount. The message has the nearest possible amount, if there is one.
    """
    for resource in resources:
        if resource not in RESOURCES:
            raise InputError(f"--same {resource}: there is no such resource; {suggest(resource, RESOURCES)}")
    if AREA in resources and len(resources) > 1:
        raise InputError("--same area: leave out the other resources; a scaled machine has other multipliers")
    scaled, lines = list(machines), []
    for resource in resources:
        scalers = [_Scaler(machine, resource, settings or {}, config) for machine in scaled]
        target = next(scaler for scaler in scalers if scaler.machine.name == against).compute_amount()
        for index, scaler in enumerate(scalers):
            if scaler.machine.name != against:
                scaled[index], changes = scaler.scale_to(target)
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

    def compute_amount(self) -> float:
        """Return the unscaled machine's amount of the resource.

        Raises:
            InputError: the amount is unknown.
        """
        return self._build_design({}).amount

    def scale_to(self, target: float) -> tuple[NamedMachine, list[str]]:
        """Return the machine with an amount of the resource, and a line if the machine changed.

        Raises:
            InputError: the machine has no rule, or cannot have this amount.
        """
        original = self._build_design({})
        if self._is_met(original.amount, target):
            return self.machine, []
        rule = self._scaling.rule(self._resource)
        if rule is None:
            file = f"{self._accelerator.folder.name}/scaling.yaml"
            raise self._build_error(f"{self.machine.name} has no rule; write one in {file}")
        settings, design = self._find_settings(rule, original, target)
        changed = ", ".join(
            f"{key}={value} (was {original.parameters[key]})" for key, value in settings.items()
        )
        deviation = self._describe_deviation(design, target)
        line = f"--same {self._resource}: {self.machine.name} has {changed}{deviation}"
        return self.machine.model_copy(update={"set": {**self.machine.set, **settings}}), [line]

    def _describe_deviation(self, design: _Design, target: float) -> str:
        """Describe the deviation of an area from the target; empty for other resources."""
        deviation = design.amount / target - 1
        return f", {deviation:+.1%} of the area" if self._resource == AREA else ""

    def _find_settings(self, rule: Rule, original: _Design, target: float) -> tuple[dict[str, int], _Design]:
        """Return the settings that meet the target, and the machine with them.

        Raises:
            InputError: no settings meet the target; the message has the nearest.
        """
        if self._resource != AREA:
            settings = rule.scale_parameters(original.parameters, target / original.amount)
            design = None if settings is None else self._try_design(settings)
            if settings is not None and design is not None and self._is_met(design.amount, target):
                return settings, design
        designs = self._iterate_candidates(rule, original, target)
        best = min(designs, key=lambda pair: abs(pair[1].amount - target), default=None)
        if best is not None and self._resource == AREA and self._is_met(best[1].amount, target):
            return best
        close = (
            ""
            if best is None
            else f"; the nearest has {self._format_amount(best[1].amount)}: {_format_settings(best[0])}"
        )
        raise self._build_error(
            f"{self.machine.name} cannot have {self._format_amount(target)} by its rule{close}"
        )

    def _build_error(self, message: str) -> InputError:
        return InputError(f"--same {self._resource}: {message}")

    def _format_amount(self, amount: float) -> str:
        """Format an amount with its unit."""
        return {
            "multipliers": f"{amount:,.0f} multipliers",
            "bandwidth": f"{amount / 1e9:,.4g} GB/s",
            AREA: f"{amount:,.3g} mm2",
        }[self._resource]

    def _iterate_candidates(
        self, rule: Rule, original: _Design, target: float
    ) -> Iterator[tuple[dict[str, int], _Design]]:
        """Yield designs around the target by bisection; the amount grows with the rule's first parameter."""
        lead = original.parameters[next(iter(rule.parameters))]
        options = [
            settings
            for value in range(1, MAX_PARAMETER + 1)
            if (settings := rule.scale_parameters(original.parameters, value / lead)) is not None
        ]
        low, high = -1, len(options)
        while high - low > 1:  # options up to low are below the target; from high on above or impossible
            middle = (low + high) // 2
            design = self._try_design(options[middle])
            if design is not None:
                yield options[middle], design
            grows = next(iter(options[middle].values())) > lead
            if design.amount < target if design is not None else not grows:
                low = middle
            else:
                high = middle

    def _try_design(self, settings: Mapping[str, object]) -> _Design | None:
        """Return the machine with these settings; None if the machine does not support them."""
        try:
            return self._build_design(settings)
        except ConfigurationError:
            return None

    def _build_design(self, settings: Mapping[str, object]) -> _Design:
        """Return the machine with these settings, and its amount of the resource.

        Raises:
            ConfigurationError: the machine does not support the settings.
            InputError: the amount is unknown.
        """
        ready = resolve_run(self._accelerator, {**self._settings, **settings}, self._config)
        parameters = values(ready.configured)
        if self._resource == AREA:
            amount = _compute_area(self._accelerator, ready)
        else:
            amount = self._scaling.compute_amount(self._resource, parameters)
        if not amount:
            file = "costs.yaml" if self._resource == AREA else "scaling.yaml"
            raise self._build_error(
                f"that of {self.machine.name} is not known; write it in {file} in its folder"
            )
        return _Design(parameters, amount)

    def _is_met(self, amount: float, target: float) -> bool:
        return abs(amount - target) <= TOLERANCE.get(self._resource, 0.0) * target


def _compute_area(accelerator: Accelerator[Any], ready: ResolvedRun) -> float | None:
    """Return the area in mm2 of a machine that is built for a small product."""
    prices = load_prices(accelerator, ready.configured)
    if prices is None:
        return None
    problem = ready.maker.load(PROBE, None, exact=False, progress=ignore_progress)
    options = RunOptions(EVENT, None, False, False, accelerator.merge_parts({}), ignore_progress)
    machine: Any = build_model(accelerator, ready.configured, problem, options)
    numbers = Counter(family_name(component.name) for component in machine.kernel.components)
    um2: float | None = build_area_fields(iterate_area_items(list_chip_parts(prices, numbers)))["area_um2"]
    return None if um2 is None else um2 / 1e6


def _format_settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())
