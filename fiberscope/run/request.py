"""Requests of runs, from a command line, a point of a sweep or a report.

A request has the same interface for every kind of run, so that callers need not know the model. ``RUNS`` has
the class or function that creates the request of each command. Methods import their model when they are
called, because the import takes time.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.configuration import values
from fiberscope.accelerators.yaml_layer import Entry, read_yaml
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.results.provenance.source_digest import Roots
from fiberscope.results.report.document import Report

if TYPE_CHECKING:
    from fiberscope.accelerators.machine import Accelerator
    from fiberscope.models.analytic.evaluate import Evaluation
    from fiberscope.models.trace.api import Prepared
    from fiberscope.run.configure import ResolvedRun

CONVERSION_KEYS = ("source", "target")  # keys of the settings for the formats of a conversion, in this order


@dataclass(frozen=True)
class RunRequest:
    """Base class of requests for a run.

    A subclass overrides ``find_roots``, ``digests`` and ``run``. A sweep calls ``resolved_parameters`` and
    ``find_roots`` of all its points before the first ``run``, so that invalid settings are found early.

    Args:
        machine: name or file of the machine, in the syntax of its command; or an object, which only this
            process can use. Each subclass lists its forms.
        factors: operands in order; None for an omitted operand.
        tensors: operands by name.
        settings: parameters by dotted key.
        config: a YAML file or report of parameters that ``settings`` override.
        exact: refuse to replace an operand that is not available by a surrogate.
    """

    machine: Any
    factors: Sequence[str | None] = ()
    tensors: Mapping[str, str | None] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    config: str | Path | None = None
    exact: bool = False

    @property
    def drive_options(self) -> tuple[str, ...]:
        """Return the names of the options of ``run`` that take a ``Drive`` in place of ``timeline.run``."""
        return ("drive",)

    @property
    def worker_families(self) -> tuple[str, ...]:
        """Return the family of components that does the work of each stage; empty without timing."""
        return ()

    @property
    def all_settings(self) -> dict[str, object]:
        """Return the settings of the file, overridden by ``settings``."""
        return {**(read_yaml(Path(self.config)) if self.config is not None else {}), **self.settings}

    def resolved_parameters(self) -> dict[str, object]:
        """Return the parameters of the run by dotted key.

        Simulations and graphs also return defaults. Subclasses check the parameters first; this method only
        merges the file and ``settings``.

        Raises:
            ConfigurationError, InputError, WorkloadError: a parameter is invalid.
        """
        return {key: _unwrap_value(value) for key, value in self.all_settings.items()}

    def find_roots(self, parts: Iterable[object] = ()) -> Roots:
        """Return the modules and files from which the sources of a run are found.

        Args:
            parts: the user's components; a simulation includes their modules.
        """
        raise NotImplementedError

    def digests(self, progress: Progress) -> list[str]:
        """Load the operands, and return their digests in the order of the report.

        Args:
            progress: a callback with stage, work done and total work.

        Raises:
            InputError, WorkloadError: an operand cannot be loaded.
        """
        raise NotImplementedError

    def run(self, **options: Any) -> Report:  # noqa: ANN401  (those of the function that runs it)
        """Run and return the report; errors are those of ``fiberscope.simulate``."""
        raise NotImplementedError


@dataclass(frozen=True)
class SimulationRequest(RunRequest):
    """Request for a simulation; ``machine`` is a name, the path of a file, or a descriptor.

    Args:
        chain: consecutive products of named operands, as in ``Y = A X; Z = Y W``; None for one problem.
    """

    chain: str | None = None

    @cached_property
    def accelerator(self) -> Accelerator[Any]:
        """Return the machine's descriptor."""
        from fiberscope.run.find_machine import find  # noqa: PLC0415  (each request loads only its own model)

        machine: Accelerator[Any] = self.machine
        return find(self.machine) if isinstance(self.machine, str) else machine

    @property
    def display_name(self) -> str:
        """Return the name of the machine in error messages."""
        return self.accelerator.name

    @property
    def worker_families(self) -> tuple[str, ...]:
        """See ``RunRequest``."""
        return self.accelerator.worker_families

    def resolved_parameters(self) -> dict[str, object]:
        """See ``RunRequest``; quantities are in base units; omit problem settings of ``config``."""
        from fiberscope.accelerators.problem_settings import SECTION  # noqa: PLC0415
        from fiberscope.run.configure import BETWEEN, PREFIX  # noqa: PLC0415

        if not (self.factors or self.tensors):
            raise InputError(f"{self.display_name} needs a workload to run on, as in wiki-Vote")
        prefixes = (SECTION, PREFIX, BETWEEN)
        problem_settings = {
            key: _unwrap_value(value) for key, value in self.settings.items() if key.startswith(prefixes)
        }
        return values(self._resolved_run.configured) | problem_settings

    def find_roots(self, parts: Iterable[object] = ()) -> Roots:
        """See ``RunRequest``."""
        return self._resolved_run.roots(
            self.machine if isinstance(self.machine, str) else self.accelerator.name, parts
        )

    def digests(self, progress: Progress) -> list[str]:
        """See ``RunRequest``."""
        if self._resolved_run.chain is not None:
            from fiberscope.run.chains.run import load_operands  # noqa: PLC0415

            loaded = load_operands(self._resolved_run.chain, self.tensors, self.exact, progress)
            return [operand.digest for operand in loaded.values()]
        problem = self._resolved_run.maker.load(*self._operands, self.exact, progress, self.tensors)
        return [operand.digest for operand in problem.operands.values()]

    def run(self, **options: Any) -> Report:  # noqa: ANN401
        """See ``RunRequest``; the options are those of ``fiberscope.simulate``."""
        from fiberscope.run.api import simulate  # noqa: PLC0415

        a, b = self._operands
        keywords: dict[str, Any] = {"settings": self.settings, "config": self.config, "exact": self.exact}
        keywords["chain"] = self.chain
        return simulate(self.machine, a, b, tensors=self.tensors, **keywords, **options)

    @cached_property
    def _resolved_run(self) -> ResolvedRun:
        from fiberscope.run.chains.chain import Chain  # noqa: PLC0415
        from fiberscope.run.configure import resolve_run  # noqa: PLC0415

        chain = None if self.chain is None else Chain.parse(self.chain)
        return resolve_run(self.accelerator, self.settings, self.config, chain)

    @property
    def _operands(self) -> tuple[str | None, str | None]:
        a, b = (*self.factors, None, None)[:2]
        return a, b


class ConversionRequest(SimulationRequest):
    """Request for a conversion; error messages name ``convert`` instead of the machine."""

    display_name = "convert"


class TraceRequest(RunRequest):
    """Request for a run of the trace model; ``machine`` is an accelerator, or the path of a specification."""

    def resolved_parameters(self) -> dict[str, object]:
        """See ``RunRequest``."""
        from fiberscope.models.trace.api import load_outline  # noqa: PLC0415

        load_outline(self.machine, self.all_settings)
        return super().resolved_parameters()

    def find_roots(self, parts: Iterable[object] = ()) -> Roots:
        """See ``RunRequest``."""
        from fiberscope.models.trace.api import list_roots  # noqa: PLC0415
        from fiberscope.models.trace.source import find  # noqa: PLC0415

        energies = _unwrap_value(self.all_settings.get("energies"))
        return list_roots(find(self.machine), str(energies) if energies else None)

    def digests(self, progress: Progress) -> list[str]:
        """See ``RunRequest``."""
        prepared = self.prepare(progress=progress)
        return [prepared.operands[name].workload.digest for name in prepared.specification.inputs]

    def run(self, **options: Any) -> Report:  # noqa: ANN401
        """See ``RunRequest``; the options are those of ``fiberscope.model``."""
        from fiberscope.models.trace.api import model  # noqa: PLC0415

        return model(self.machine, *self.factors, **self._common_arguments, **options)

    def prepare(self, **options: Any) -> Prepared:  # noqa: ANN401
        """Return the resolved run, without running it; the options are those of ``prepare``."""
        from fiberscope.models.trace.api import prepare  # noqa: PLC0415

        return prepare(self.machine, *self.factors, **self._common_arguments, **options)

    @property
    def _common_arguments(self) -> dict[str, Any]:
        return {"tensors": self.tensors, "settings": self.all_settings, "exact": self.exact}


class AnalyticRequest(RunRequest):
    """Request for an analytical estimate; ``machine`` is quoted files, or a specification's name."""

    def resolved_parameters(self) -> dict[str, object]:
        """See ``RunRequest``."""
        from fiberscope.models.analytic.api import check  # noqa: PLC0415

        check(self._paths, self.all_settings)
        return super().resolved_parameters()

    def find_roots(self, parts: Iterable[object] = ()) -> Roots:
        """See ``RunRequest``."""
        from fiberscope.models.analytic.api import list_roots  # noqa: PLC0415

        return list_roots(self._paths)

    def digests(self, progress: Progress) -> list[str]:
        """See ``RunRequest``."""
        return [operand.digest for operand in self.analysis[0].workload.operands]

    def run(self, **_options: Any) -> Report:  # noqa: ANN401
        """See ``RunRequest``; ignore all options, and return the same report at each call."""
        return self.analysis[0]

    @cached_property
    def analysis(self) -> tuple[Report, Evaluation]:
        """The report and its evaluation; cached to avoid reading the operands twice."""
        from fiberscope.models.analytic.api import analyze_paths  # noqa: PLC0415

        return analyze_paths(self._paths, super().resolved_parameters(), exact=self.exact)

    @property
    def _paths(self) -> list[str]:
        return [*shlex.split(self.machine), *filter(None, self.factors)]


class GraphRequest(RunRequest):
    """Request for a run of a graph; ``machine`` is the path of its file, or a ``Graph``."""

    def resolved_parameters(self) -> dict[str, object]:
        """See ``RunRequest``; quantities are in base units, and ``machine`` must be a path."""
        from fiberscope.models.graphs.execution import graph_settings  # noqa: PLC0415

        settings = values(graph_settings(self.settings, self.config))
        if not Path(self.machine).is_file():
            raise InputError(f"{self.machine}: there is no such file; name that of a graph, as in spmv.gv")
        return settings

    def find_roots(self, parts: Iterable[object] = ()) -> Roots:
        """See ``RunRequest``."""
        from fiberscope.models.graphs.execution import find_roots  # noqa: PLC0415

        return find_roots(str(self.machine) if isinstance(self.machine, str | Path) else None)

    def digests(self, progress: Progress) -> list[str]:
        """See ``RunRequest``."""
        from fiberscope.models.graphs.execution import prepare  # noqa: PLC0415

        prepared = prepare(self.machine, self.tensors, exact=self.exact, progress=progress)
        return [operand.digest for operand in prepared.operands.values()]

    @property
    def drive_options(self) -> tuple[str, ...]:
        """Return the option for the last phase of a graph, and the option for each earlier phase."""
        return "drive", "drive_phase"

    def run(self, **options: Any) -> Report:  # noqa: ANN401
        """See ``RunRequest``; the options are those of ``fiberscope.models.graphs.run``."""
        from fiberscope.models.graphs.execution import run  # noqa: PLC0415

        return run(self.machine, self.tensors, self.settings, self.config, exact=self.exact, **options)


def request_conversion(
    machine: str,
    factors: Sequence[Any],  # names, or operands as for ``simulate``
    tensors: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
    *positional: Any,  # noqa: ANN401  (further fields of ``RunRequest``)
    **options: Any,  # noqa: ANN401
) -> ConversionRequest:
    """Return the request of a conversion of one operand.

    Args:
        machine: the source and the target format, as in ``csr csc``.
        factors: the operand, by name or as for ``simulate``.
        tensors: the operand by name, in place of ``factors``.
        settings: parameters of the converter by dotted key.
        positional, options: further fields of ``SimulationRequest``.

    Raises:
        InputError, WorkloadError: there are not two formats, or there is no recipe for them.
    """
    from fiberscope.accelerators.problem_settings import SECTION  # noqa: PLC0415
    from fiberscope.converters.mint import MINT  # noqa: PLC0415
    from fiberscope.converters.recipes import find_recipe  # noqa: PLC0415

    names = machine.lower().split()
    if len(names) != 2:
        raise InputError(f"{machine}: a conversion has two formats, as in 'csr csc'")
    find_recipe(names[0], names[1])
    pairs = zip(CONVERSION_KEYS, names, strict=True)
    formats = {f"{SECTION}{key}": Entry(name, "settings") for key, name in pairs}
    problem_settings = {key: value for key, value in (settings or {}).items() if key.startswith(SECTION)}
    machine_settings = {key: value for key, value in (settings or {}).items() if key not in problem_settings}
    # A dict keeps the position of a key's first entry and the value of its last. ``formats`` therefore
    # precedes the other settings of the problem, and these do not override it.
    merged = machine_settings | formats | problem_settings | formats
    return ConversionRequest(MINT, factors, tensors or {}, merged, *positional, **options)


def _unwrap_value(value: object) -> object:
    """Return the value of an ``Entry``; return any other value unchanged."""
    return value.value if isinstance(value, Entry) else value


RUNS: Mapping[str, Callable[..., RunRequest]] = {
    "sim": SimulationRequest,
    "model": TraceRequest,
    "analyze": AnalyticRequest,
    "convert": request_conversion,
    "graph": GraphRequest,
}  # by command
