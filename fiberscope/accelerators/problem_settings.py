"""The problem of a run: which kind a machine is to solve, on which operands, and what that takes besides."""

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
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.ranked_names import without_ranks
from fiberscope.workloads.spec import is_spec

SECTION = "problem."  # which settings are the problem's and not the machine's
KIND = f"{SECTION}kind"
# What there is for what no machine solves by itself.
MORE_FACTORS = "products one after another are a --chain"
ANY_EXPRESSION = (
    "any expression is a graph (fiberscope graph run) or a specification (examples/specifications)"
)


def configure(
    accelerator: Accelerator[Any], file: str | Path | None, settings: Mapping[str, object]
) -> tuple[Configuration, ProblemMaker]:
    """The accelerator's parameters, and what makes its problem.

    Raises:
        ConfigurationError: a key that does not exist, a value that cannot be, or values at odds.
    """
    entries: dict[str, Entry] = {}
    keys = set(leaf_keys(accelerator.configuration))
    for defaults in accelerator.defaults:
        further = layers(defaults, name=accelerator.name)
        entries |= {key: entry for key, entry in further.items() if key in keys}
    entries |= layers(
        accelerator.shipped, name=accelerator.name, preset=accelerator.preset, file=file, settings=settings
    )
    of_problem = {key: entries.pop(key) for key in list(entries) if key.startswith(SECTION)}
    configured: Configuration = validate(accelerator.configuration, entries, accelerator.name)
    return configured, ProblemMaker(accelerator, of_problem)


class ProblemMaker:
    """Makes the problem of a run; its parameters are checked before any operand is loaded.

    Args:
        accelerator: that is to solve it.
        entries: settings whose keys begin with ``problem.``.

    Raises:
        ConfigurationError: a kind that the accelerator does not solve, or a parameter that the kind has not.

    Attributes:
        kind: of the problem.
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
        """The problem with its operands loaded.

        Args:
            a, b: as ``fiberscope.simulate`` takes them; B is None where it is not given.
            exact: refuse a surrogate.
            progress: called with stage, work done and work in all.
            tensors: operands by name, in the place of a and b.

        Raises:
            WorkloadError: an operand that cannot be had, or operands that do not go together.
        """

        def tell(done: int, total: int) -> None:
            progress("loading", done, total)

        parameters = self._parameters.model_dump()
        if not tensors:
            return self.kind(_operands(a, b, exact, tell), parameters)
        tensors, ranks = without_ranks(tensors, self.kind.ranks)
        operands = self._named(tensors)
        loaded: Sequence[Operand]
        if self.kind.of_any_order:
            opened = {
                name: open_tensor(operand, name, exact=exact, progress=tell)
                for name, operand in operands.items()
            }
            loaded = [replace(tensor, ranks=ranks.get(name, ())) for name, tensor in opened.items()]
        else:
            loaded = [load_operand(operand, name, exact, tell) for name, operand in operands.items()]
        return self.kind(loaded, parameters, in_order=False)

    def _named(self, tensors: Mapping[str, object]) -> dict[str, object]:
        """Operands by name, in the order of the problem's."""
        operand_names = self.kind.tensors
        for name in tensors:
            if name not in operand_names:
                fix = f"{nearest(name, operand_names)}; {MORE_FACTORS}; {ANY_EXPRESSION}"
                raise WorkloadError(f"{self.kind.kind} has no operand {name}", fix=fix)
        operands = {name: tensors[name] for name in operand_names if name in tensors}
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
        raise ConfigurationError(f"{message}; {nearest(kind, kinds)}; {_elsewhere(kind)}")
    return kinds[kind]


def _elsewhere(kind: str) -> str:
    """Name in a few words a machine that solves a kind of problem that this machine does not solve."""
    others = [name for name in names() if any(problem.kind == kind for problem in find(name).solves)]
    return f"{' or '.join(others)} does" if others else ANY_EXPRESSION


def _parameters(kind: type[Problem], entries: Mapping[str, Entry]) -> ProblemParameters:
    """The parameters of a kind, under the keys that the user gave."""
    if not kind.Parameters.model_fields:
        for key, entry in entries.items():
            raise ConfigurationError(f"{entry.origin}: {kind.kind} takes no parameters, and so no {key}")
    for name, field in kind.Parameters.model_fields.items():
        if field.is_required() and SECTION + name not in entries:
            raise ConfigurationError(f"{kind.kind} needs {SECTION}{name}; give it by --set {SECTION}{name}=")
    section: Any = create_model("Section", problem=(kind.Parameters, kind.Parameters.model_construct()))
    parameters: ProblemParameters = validate(section, entries, kind.kind).problem
    return parameters


def _operands(a: object, b: object, exact: bool, progress: Callable[[int, int], None]) -> Sequence[Operand]:
    if isinstance(a, str) and is_gemm(a):
        if b is not None:
            raise WorkloadError("gemm draws both operands", where=a, fix="give no second one")
        return draw(a)
    operands = {"A": a} if b is None else {"A": a, "B": b}
    return [load_operand(operand, letter, exact, progress) for letter, operand in operands.items()]


def _shared_workload(operand: str | Path, exact: bool, progress: Callable[[int, int], None]) -> Workload:
    """Load a workload, which runs of one process share where its file or its words are the same."""
    text, file = os.fspath(operand), file_of(operand)

    def load() -> Workload:
        return load_workload(text, exact=exact, progress=progress)

    if not (is_spec(text) if file is None else file.is_file()):  # a surrogate, say
        return load()
    state = None if file is None else file.stat()
    content = () if state is None else (state.st_mtime_ns, state.st_size)
    return shared(("workload", text, exact, *content), load, _bytes_of)


def _bytes_of(workload: Workload) -> int:
    matrix = workload.matrix
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def load_operand(operand: object, letter: str, exact: bool, progress: Callable[[int, int], None]) -> Workload:
    """Load one operand.

    Args:
        operand: a workload, the name or file of a workload, or a matrix of scipy or numpy.
        letter: name of a matrix of scipy or numpy, which has no name of its own.
        exact: refuse a surrogate of a matrix that cannot be downloaded.
        progress: called during a download with the bytes read so far and the bytes in total.

    Raises:
        WorkloadError: the operand does not exist or cannot be read.
    """
    if isinstance(operand, Workload):
        return operand
    if isinstance(operand, str | Path):
        return _shared_workload(operand, exact, progress)
    return from_scipy(operand, name=letter)
