"""Base class of HDL simulators; the modules ``icarus`` and ``verilator`` implement it."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.tools.programs import run_program
from fiberscope.sim.errors import SimulationError

DIRECTIONS: Mapping[str, Literal["input", "output", "inout"]] = {  # by their names in Icarus and Verilator
    "INPUT": "input",
    "OUTPUT": "output",
    "INOUT": "inout",
}


class HdlError(SimulationError):
    """An HDL tool is missing, does not accept a source, or a bench failed in it."""


class FailedBenchError(HdlError):
    """A test of a bench failed in a simulator."""


class Simulator(ABC):
    """An HDL simulator.

    Attributes:
        name: name in cocotb and on the command line.
        build_arguments: arguments of its compiler.
        run_arguments: arguments of the compiled module.
    """

    name: ClassVar[str]
    build_arguments: ClassVar[tuple[str, ...]] = ()
    run_arguments: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def require(self) -> None:
        """Check that the simulator is installed.

        Raises:
            HdlError: naming the missing program and the command that installs it.
        """

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of its programs, after ``require``."""
        return {}

    def ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        """Return the ports of a module as the simulator parses them.

        Args:
            sources: Verilog files.
            folder: folder of compiled files.

        Raises:
            HdlError: a file cannot be read or compiled, or there is no such module.
        """
        self.require()
        check_sources(sources)
        folder.mkdir(parents=True, exist_ok=True)
        return self._ports(sources, module, folder)

    @abstractmethod
    def _ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        """See ``ports``; all requirements are checked."""


def check_sources(sources: Sequence[Path]) -> None:
    """Check that files exist.

    Raises:
        HdlError: naming the first missing file.
    """
    for source in sources:
        if not source.is_file():
            raise HdlError(f"{source}: no such Verilog file")


def include_folders(sources: Sequence[Path]) -> list[Path]:
    """Return the folders for included files: those of the sources."""
    return list(dict.fromkeys(source.resolve().parent for source in sources))


def require_programs(simulator: str, packages: Mapping[str, str]) -> None:
    """Check that programs are on the PATH.

    Args:
        simulator: name of the simulator that needs them.
        packages: Debian package of each program.

    Raises:
        HdlError: naming the first missing program and its package.
    """
    for program, package in packages.items():
        if shutil.which(program) is None:
            raise HdlError(
                f"the simulator {simulator} is not installed: no {program} on the PATH "
                f"(on Debian: apt install {package})"
            )


def run_compiler(command: Sequence[str], module: str, environment: Mapping[str, str]) -> None:
    """Run a Verilog compiler.

    Args:
        command: program and arguments.
        module: name of the module, for the message.
        environment: environment variables.

    Raises:
        HdlError: with the compiler's messages, if it does not accept the module.
    """
    outcome = run_program(command, environment=environment)
    if outcome.returncode:
        program = Path(command[0]).name
        raise HdlError(f"{program} does not accept module {module}:\n{outcome.stderr.strip()}")
