"""The problem of a run: its kind, its parameters, and its operands.

Settings whose keys begin with ``problem.`` are parameters of the problem, not of the machine. The setting
``problem.kind`` selects one of the kinds of problems that the machine solves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import create_model

from fiberscope.accelerators import find, names
from fiberscope.accelerators.configuration import (
    Configuration,
    ConfigurationError,
    layers,
    leaf_keys,
    validate,
)
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.sharing import shared
from fiberscope.workloads import (
    Operand,
    Problem,
    ProblemParameters,
    Workload,
    WorkloadError,
    draw,
    file_of,
    from_scipy,
    is_gemm,
    open_tensor,
)
from fiberscope.workloads import load as load_workload
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.ranked_names import without_ranks
from fiberscope.workloads.spec import is_spec

SECTION = "problem."  # prefix of the settings of the problem
KIND = f"{SECTION}kind"
# Advice for problems that no machine solves by itself.
MORE_FACTORS = "products one after another are a --chain"
ANY_EXPRESSION = (
    "any expression is a graph (fiberscope graph run) or a specification (examples/specifications)"
)


def configure(
    accelerator: Accelerator[Any], file: str | Path | None, settings: Mapping[str, object]
) -> tuple[Configuration, ProblemMaker]:
    """Load the parameters of a machine and of its problem.

    Args:
        accelerator: descriptor of the machine.
        file: path of a user's YAML file, or None.
        settings: values by dotted key, which take precedence over the file.

    Returns:
        The parameters of the machine, and the maker of the problem.

    Raises:
        ConfigurationError: if a key does not exist, or a value is invalid.
        ConflictError: if several values are valid alone, but not together.
    """
    entries: dict[str, Entry] = {}
    keys = set(leaf_keys(accelerator.configuration))
    for defaults in accelerator.defaults:
        # These defaults may have settings that the machine lacks; a later layer replaces the same settings
        further = layers(defaults, name=accelerator.name)
        entries |= {key: entry for key, entry in further.items() if key in keys}
    entries |= layers(
        accelerator.shipped, name=accelerator.name, preset=accelerator.preset, file=file, settings=settings
    )
    problem_entries = {key: entries.pop(key) for key in list(entries) if key.startswith(SECTION)}
    configured: Configuration = validate(accelerator.configuration, entries, accelerator.name)
    return configured, ProblemMaker(accelerator, problem_entries)


class ProblemMaker:
    """A maker of the problem of a run, which checks the parameters before it loads any operand.

    Args:
        accelerator: descriptor of the machine that will solve the problem.
        entries: settings whose keys begin with ``problem.``, by dotted key.

    Raises:
        ConfigurationError: if the machine does not solve problems of this kind, or a parameter is unknown,
            missing or invalid.

    Attributes:
        kind: class of the problem.
    """

    def __init__(self, accelerator: Accelerator[Any], entries: Mapping[str, Entry]) -> None:
        self.kind = _kind(accelerator, entries.get(KIND))
        self._parameters = _parameters(
            self.kind, {key: entry for key, entry in entries.items() if key != KIND}
        )

    def load(
        self,
        a: object,
        b: object,
        exact: bool,
        progress: Callable[[str, int, int], None],
        tensors: Mapping[str, object] | None = None,
    ) -> Problem:
        """Load the operands and return the problem.

        Args:
            a, b: operands, as for ``fiberscope.simulate``; None for an operand that is not given.
            exact: whether a surrogate, a generated matrix in place of a real matrix, is an error.
            progress: function that is called with the stage, the work done and the total work.
            tensors: operands by name; if not empty, ``a`` and ``b`` are ignored.

        Raises:
            WorkloadError: if an operand is missing, unknown or cannot be read, or the operands do not match.
        """

        def report_loading(done: int, total: int) -> None:
            progress("loading", done, total)

        parameters = self._parameters.model_dump()
        if not tensors:
            return self.kind(_operands(a, b, exact, report_loading), parameters)
        tensors, ranks = without_ranks(tensors, self.kind.ranks)
        operands = self._order_operands(tensors)
        loaded: Sequence[Operand]
        if self.kind.of_any_order:
            opened = {
                name: open_tensor(operand, name, exact=exact, progress=report_loading)
                for name, operand in operands.items()
            }
            loaded = [replace(tensor, ranks=ranks.get(name, ())) for name, tensor in opened.items()]
        else:
            loaded = [
                load_operand(operand, name, exact, report_loading) for name, operand in operands.items()
            ]
        return self.kind(loaded, parameters, in_order=False)

    def _order_operands(self, tensors: Mapping[str, object]) -> dict[str, object]:
        """Return the operands in the order in which the problem declares them.

        Raises:
            WorkloadError: if the problem has no operand of a name, or an operand before another is missing.
        """
        operand_names = self.kind.tensors
        for name in tensors:
            if name not in operand_names:
                fix = f"{suggest(name, operand_names)}; {MORE_FACTORS}; {ANY_EXPRESSION}"
                raise WorkloadError(f"{self.kind.kind} has no operand {name}", fix=fix)
        operands = {name: tensors[name] for name in operand_names if name in tensors}
        # Operands may be left out from the last one back, but not in between
        missing = next((name for name in operand_names[: len(operands)] if name not in operands), None)
        if missing is not None:
            raise WorkloadError(f"{self.kind.kind} takes {missing}", fix=f"give {missing}=MATRIX")
        return operands


def _kind(accelerator: Accelerator[Any], entry: Entry | None) -> type[Problem]:
    kinds = {kind.kind: kind for kind in accelerator.solves}
    if entry is None:
        return accelerator.solves[0]
    kind = str(entry.value)
    if kind not in kinds:
        message = f"{entry.origin}: {accelerator.name} solves no {KIND} {kind}"
        raise ConfigurationError(f"{message}; {suggest(kind, kinds)}; {_suggest_machines(kind)}")
    return kinds[kind]


def _suggest_machines(kind: str) -> str:
    """Return advice: the machines that solve a kind of problem, or what else evaluates any expression."""
    machines = [name for name in names() if any(problem.kind == kind for problem in find(name).solves)]
    return f"{' or '.join(machines)} does" if machines else ANY_EXPRESSION


def _parameters(kind: type[Problem], entries: Mapping[str, Entry]) -> ProblemParameters:
    """Check the parameters of a kind of problem; error messages name the keys that the user wrote.

    Raises:
        ConfigurationError: if a parameter is unknown, missing or invalid.
    """
    if not kind.Parameters.model_fields:
        for key, entry in entries.items():
            raise ConfigurationError(f"{entry.origin}: {kind.kind} takes no parameters, and so no {key}")
    for name, field in kind.Parameters.model_fields.items():
        if field.is_required() and SECTION + name not in entries:
            raise ConfigurationError(f"{kind.kind} needs {SECTION}{name}; give it by --set {SECTION}{name}=")
    # The model has the field ``problem``, so that errors name the full keys: ``problem.root``.
    section: Any = create_model("Section", problem=(kind.Parameters, kind.Parameters.model_construct()))
    parameters: ProblemParameters = validate(section, entries, kind.kind).problem
    return parameters


def _operands(a: object, b: object, exact: bool, progress: Callable[[int, int], None]) -> Sequence[Operand]:
    if isinstance(a, str) and is_gemm(a):
        if b is not None:
            raise WorkloadError("gemm draws both operands", location=a, fix="give no second one")
        return draw(a)
    operands = {"A": a} if b is None else {"A": a, "B": b}
    return [load_operand(operand, letter, exact, progress) for letter, operand in operands.items()]


def _shared_workload(operand: str | Path, exact: bool, progress: Callable[[int, int], None]) -> Workload:
    """Load a workload, or return a shared one.

    Within ``fiberscope.base.sharing``, runs share a workload with the same text and an unchanged file.
    """
    text, file = os.fspath(operand), file_of(operand)

    def load() -> Workload:
        return load_workload(text, exact=exact, progress=progress)

    if not (is_spec(text) if file is None else file.is_file()):  # for example a surrogate
        return load()
    state = None if file is None else file.stat()
    # A file that was changed in the meantime is loaded again
    content = () if state is None else (state.st_mtime_ns, state.st_size)
    return shared(("workload", text, exact, *content), load, _bytes_of)


def _bytes_of(workload: Workload) -> int:
    matrix = workload.matrix
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def load_operand(operand: object, letter: str, exact: bool, progress: Callable[[int, int], None]) -> Workload:
    """Load one operand.

    Args:
        operand: a workload, the name or file of a workload, or a matrix of scipy or numpy.
        letter: name for a matrix of scipy or numpy.
        exact: whether a surrogate of a matrix that cannot be downloaded is an error.
        progress: function that is called during a download with the bytes read so far and the total bytes.

    Raises:
        WorkloadError: if the operand does not exist or cannot be read.
    """
    if isinstance(operand, Workload):
        return operand
    if isinstance(operand, str | Path):
        return _shared_workload(operand, exact, progress)
    return from_scipy(operand, name=letter)
