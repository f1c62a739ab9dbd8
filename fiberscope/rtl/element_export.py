"""Export of an instance of a machine from a specification as Verilog, and its comparison with the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import cycle, zip_longest
from pathlib import Path
from typing import cast

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from fiberscope.accelerators.machine import EVENT
from fiberscope.base.progress import ignore_progress
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.composition import Composition
from fiberscope.hw.rtl.kit.twin import Twin, build
from fiberscope.hw.rtl.kit.wrapper import flat
from fiberscope.hw.rtl.tools.hdl import Bench, run
from fiberscope.hw.rtl.tools.simulator import FailedBenchError
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.verilog import InstanceVerilog, export_instance
from fiberscope.models.graphs.transcript import module_transcript
from fiberscope.models.graphs.verilog import to_module_name, write_verilog
from fiberscope.models.trace.load import draft
from fiberscope.models.trace.specification import Specification
from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.handover.export import Handover, twin_sections, write_handover
from fiberscope.rtl.handover.readme import check_readme
from fiberscope.run.configure import resolve_run
from fiberscope.run.find_machine import find, find_specification
from fiberscope.workloads.expressions.expression import Equation, accesses

PYRTL = "pyrtl"
MEMORY = "timing.memory"  # setting of a machine from a specification
SIZES = (12, 10, 11, 9, 8)  # of the ranks of drawn tensors
SMALL_SIZES = (4, 3, 5, 2)  # in place of ``SIZES``, if an input has more than two ranks
_CONTENTS = {  # descriptions of the files beside the Verilog, by suffix
    "_words.csv": "words that fill the memories, by port, before the run",
    "_streams.csv": "tokens at the inputs in a run of the machine, and the cycles that offer them",
}
EXTRA = 20  # cycles that a module runs after the machine
SEED = 1


@dataclass(frozen=True)
class ElementRequest:
    """Request for an export.

    Args:
        specification: name of the machine.
        level: level of the architecture, whose first instance is exported.
        tensors: files or names, by tensor.
        settings: settings of the machine, as in options.
        value_bits: bits of every value, a whole number.
        points: capacity of an accumulator in points.
        stage: Einsum of the instance; the first if empty.
    """

    specification: str
    level: str
    tensors: Mapping[str, str]
    settings: Mapping[str, object]
    value_bits: int
    points: int
    stage: str = ""

    @property
    def module(self) -> str:
        """Return the name of the module and of its files."""
        stem = Path(self.specification.rpartition(":")[2]).stem
        return to_module_name("_".join(filter(None, (stem, self.stage.lower(), self.level.lower()))), "leaf")

    @cached_property
    def leaf(self) -> InstanceVerilog:
        """Return the module, and the tokens of its streams in a run with ideal or registered memory.

        Raises:
            InputError, ConfigurationError, WorkloadError: there is no such machine, or no Verilog for it.
        """
        sizes = self.value_bits, self.points
        return export_instance(self.machine, self.level, self.module, *sizes, self.stage)

    @cached_property
    def machine(self) -> MappedMachine:
        """Return the machine with ideal or registered memory. ``leaf`` runs it.

        Any other memory of the settings is replaced by ideal memory.

        Raises:
            InputError, ConfigurationError, WorkloadError: there is no such machine.
        """
        accelerator = find(self.specification)
        memory = "registered" if self.settings.get(MEMORY) == "registered" else "ideal"
        resolved = resolve_run(accelerator, {**self.settings, MEMORY: memory})
        problem = resolved.maker.load(None, None, False, ignore_progress, self.tensors)
        return cast(MappedMachine, accelerator.models[EVENT](resolved.configured, *problem.machine_inputs()))

    @property
    def period(self) -> float:
        """Return the clock period of the instance in ns: on lanes, the length of a tick."""
        return float(10**9 / self.leaf.clock.hertz)

    def differences(self, backend: Callable[[InstanceVerilog], Backend]) -> list[str]:
        """Return the first token, if any, in which the module and the machine differ."""
        leaf = self.leaf
        tokens, _stored = module_transcript(leaf.verilog, backend(leaf), leaf.cycles + EXTRA, leaf.offers)
        return [
            f"{stream}, token {position}: {token} of the machine, {actual} of the module"
            for stream, expected in leaf.expected.items()
            for position, (token, actual) in enumerate(zip_longest(expected, tokens[stream]))
            if token != actual
        ][:1]


@dataclass(frozen=True)
class ExportedElement:
    """An exported instance.

    Args:
        order: the request.
        files: the written files.
    """

    order: ElementRequest
    files: tuple[Path, ...]


def draw_operands(specification: str, folder: Path, *, whole: bool = True) -> dict[str, str]:
    """Draw small tensors for the inputs of a machine, and write them as files. Vectors are dense.

    About 40 % of the elements of other tensors are nonzero. Equal calls draw equal tensors. Values have both
    signs, except for a cascade that iterates, as a negative cycle would never end.

    Args:
        specification: name of the machine.
        folder: existing folder of the files.
        whole: whether values are whole numbers.

    Returns:
        The path of each tensor's file.
    """
    # any size completes the specification: only its names, ranks and equations are used here
    preliminary = draft(find_specification(specification))
    outline = preliminary.complete(dict.fromkeys(preliminary.missing, max(SIZES)))
    sizes = _drawn_sizes(outline)
    signs = [-1, 1] if outline.iteration is None else [1]
    generator = np.random.default_rng(SEED)
    files = {}
    for name in outline.inputs:
        shape = [sizes[rank] for rank in outline.tensors[name].ranks]
        is_nonzero = generator.random(shape) < (1.0 if len(shape) < 2 else 0.4)
        magnitudes = generator.integers(1, 9, shape) if whole else generator.uniform(0.1, 9.0, shape)
        values = magnitudes * generator.choice(signs, shape)
        files[name] = str(folder / f"{name}.npy")
        np.save(files[name], values * is_nonzero)
    return files


def _drawn_sizes(outline: Specification) -> Mapping[str, int]:
    """Return the sizes of the ranks of inputs. Ranks with a common index have the same size.

    A group of such ranks has the size of its first rank among the inputs.
    """
    rank_groups = DisjointSet(rank for tensor in outline.tensors.values() for rank in tensor.ranks)
    for einsum in outline.einsums:
        if isinstance(einsum.equation, Equation):
            for access in (einsum.equation.output, *accesses(einsum.equation.expression)):
                for rank, index in zip(outline.tensors[access.tensor].ranks, access.indices, strict=True):
                    if index.rank is not None and index.rank in rank_groups:
                        rank_groups.merge(rank, index.rank)
    ranks = dict.fromkeys(rank for name in outline.inputs for rank in outline.tensors[name].ranks)
    has_many_ranks = max(len(outline.tensors[name].ranks) for name in outline.inputs) > 2
    sizes = dict(zip(ranks, cycle(SMALL_SIZES if has_many_ranks else SIZES), strict=False))
    return {
        rank: next(sizes[other] for other in ranks if rank_groups.connected(other, rank)) for rank in ranks
    }


def export_element(order: ElementRequest, folder: Path, period: float | None = None) -> ExportedElement:
    """Write an instance: the module, its memory contents, the tokens at its inputs, and a README.

    Args:
        order: the instance.
        folder: folder of the files.
        period: clock period in ns; None or 0 for the period of the instance in the machine.

    Raises:
        InputError, ConfigurationError, WorkloadError: see ``ElementRequest.leaf``; or the folder cannot be
            written to, or has a README of other origin.
    """
    make_folder(folder)
    check_readme(folder)
    leaf, name = order.leaf, order.module
    files = write_verilog(leaf.verilog, name, folder)
    streams = folder / f"{name}_streams.csv"
    lines = [
        f"{port},{cycle},{token.control},{token.coordinate},{token.value:.17g}\n"
        for port, tokens in leaf.offers.items()
        for cycle, token in tokens
    ]
    write_text(streams, "".join(["port,cycle,control,payload,value\n", *lines]))
    handover = Handover(
        name,
        name,
        f"the first {order.level} of the machine {order.specification}",
        leaf.verilog.text,
        period or order.period,
        order.settings,
        twin_sections(_twin(leaf.verilog.composition.without_status())),
        {path.name: _CONTENTS[path.name.removeprefix(name)] for path in (*files[1:], streams)},
    )
    return ExportedElement(order, (*files, streams, *write_handover(handover, folder)))


def check_element(exported: ExportedElement, simulator: str, folder: Path) -> int:
    """Run a module with the input tokens of its machine, and compare streams; return the number of tokens.

    The compared streams are those into the module's blocks and those at its outputs. PyRTL runs the module
    from its description, another simulator runs the exported Verilog.

    Args:
        exported: the exported instance.
        simulator: ``pyrtl``, or an installed HDL simulator.
        folder: working folder.

    Raises:
        FailedBenchError: a token or its cycle differs.
        HdlError: a tool is missing.
        InputError: an accumulator overflows (``pyrtl``).
        SimulationError: the module violates the protocol of its ports (``pyrtl``).
    """
    order = exported.order
    if simulator == PYRTL:
        differences = order.differences(_in_pyrtl)
        if differences:
            raise FailedBenchError(f"{order.module} is not its instance: {differences[0]}")
    else:
        ports = order.leaf.verilog.composition.without_status().interface()
        bench_order = {"order": asdict(order), "here": str(Path.cwd())}
        bench = "fiberscope.rtl.element_bench"
        run(
            Bench(exported.files[:1], order.module, (ports,), bench, bench_order, folder / "bench"), simulator
        )
    return sum(map(len, order.leaf.expected.values()))


def _in_pyrtl(leaf: InstanceVerilog) -> Backend:
    return PyrtlBackend(_twin(leaf.verilog.composition), SEED, watched=True)


def _twin(composition: Composition) -> Twin:
    return build(composition.interface(), lambda streams: flat(composition, streams))
