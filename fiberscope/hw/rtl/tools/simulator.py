"""Interface of an HDL simulator; ``icarus`` and ``verilator`` beside it are two."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.sim.errors import SimulationError

DIRECTIONS: Mapping[str, Literal["input", "output", "inout"]] = {  # as Icarus and Verilator name them
    "INPUT": "input",
    "OUTPUT": "output",
    "INOUT": "inout",
}


class HdlError(SimulationError):
    """An HDL tool is missing, does not accept a source, or a bench failed in a simulator."""


class FailedBenchError(HdlError):
    """A bench ran in a simulator, and not all of its tests passed."""


class Simulator(ABC):
    """An HDL simulator.

    Attributes:
        name: as cocotb and the command line call it.
        build_arguments: given to its compiler.
        run_arguments: given to the compiled module.
    """

    name: ClassVar[str]
    build_arguments: ClassVar[tuple[str, ...]] = ()
    run_arguments: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def require(self) -> None:
        """Make sure that it is there.

        Raises:
            HdlError: saying what is missing and how to get it.
        """

    def environment(self) -> Mapping[str, str]:
        """The variables under which its programs are found, once it is known to be there."""
        return {}

    def ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        """The ports of a module as the simulator sees them, whatever Verilog they are written in.

        Args:
            sources: Verilog files.
            module: the one whose ports are wanted.
            folder: where to put what is compiled.

        Raises:
            HdlError: if a file cannot be read or compiled, or there is no such module.
        """
        self.require()
        check_sources(sources)
        folder.mkdir(parents=True, exist_ok=True)
        return self._ports(sources, module, folder)

    @abstractmethod
    def _ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        """See ``ports``, everything that it needs being there."""


def check_sources(sources: Sequence[Path]) -> None:
    """Make sure that files are there.

    Raises:
        HdlError: naming the first that is not.
    """
    for source in sources:
        if not source.is_file():
            raise HdlError(f"{source}: no such Verilog file")


def include_folders(sources: Sequence[Path]) -> list[Path]:
    """Return the folders of files that the sources include: beside each of them."""
    return list(dict.fromkeys(source.resolve().parent for source in sources))


def require_programs(simulator: str, packages: Mapping[str, str]) -> None:
    """Make sure that programs are on the PATH.

    Args:
        simulator: what needs them.
        packages: the Debian package of each.

    Raises:
        HdlError: naming the first that is missing and its package.
    """
    for program, package in packages.items():
        if shutil.which(program) is None:
            raise HdlError(
                f"the simulator {simulator} is not installed: no {program} on the PATH "
                f"(on Debian: apt install {package})"
            )


def with_temporary_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a program writes temporary files where there is room.

    Raises:
        OSError: no folder takes any.
    """
    folder = tempfile.gettempdir()
    return {**environment, "TMPDIR": folder, "TMP": folder}


def compiled(command: Sequence[str], module: str, environment: Mapping[str, str]) -> None:
    """Run a compiler of Verilog.

    Raises:
        HdlError: with all that it said, if it does not accept the module.
    """
    outcome = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=with_temporary_folder(environment),
    )
    if outcome.returncode:
        program = Path(command[0]).name
        raise HdlError(f"{program} does not accept module {module}:\n{outcome.stderr.strip()}")
