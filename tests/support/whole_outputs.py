"""Keep all that a command prints and writes as a few numbers: a change of any word or number moves one."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest
from kept import check_kept

from fiberscope import cli
from fiberscope.hw.streams.block_lookahead import AheadKernel
from fiberscope.models.from_spec import composition
from fiberscope.models.graphs import machine
from fiberscope.sim import Kernel
from fiberscope.sim.lookahead import LookaheadKernel

ROOT = Path(__file__).parents[2]
HERE = {
    "version",
    "source",
    "environment",
    "host",
    "source_digest",
    "config_digest",
}  # of the tree, or the time
OPERANDS = {  # in commands, by a short name
    "$M": "uniform:rows=30,cols=30,nonzeros=150",
    "$N": "uniform:rows=30,cols=30,nonzeros=150,seed=1",
    "$v": "tensor:shape=30,nonzeros=12",
    "$w": "tensor:shape=30,nonzeros=9,seed=1",
    "$T": "tensor:shape=12x10x8,nonzeros=120",
    "$U": "tensor:shape=12x10x8,nonzeros=100,seed=1",
}
OF_THE_HOST = re.compile(r"^(Host|Version|Sources?) .*", re.MULTILINE)


def outputs_test(file: str) -> Callable[..., None]:
    """Return the test of a folder: it runs each line of ``whole_outputs.txt``, commands divided by ``;;``."""
    folder = Path(file).parent
    lines = (folder / "whole_outputs.txt").read_text(encoding="utf-8").splitlines()

    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize("commands", lines)
    def test(commands: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("COLUMNS", "100")
        _check_outputs(folder, capsys, commands, _kernels(monkeypatch))

    return test


def _kernels(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    """Return a list to which each machine of blocks that is built from now on adds its kernel."""
    kernels: list[Kernel] = []

    def noted(kind: type[Kernel]) -> Kernel:
        kernels.append(kind())
        return kernels[-1]

    monkeypatch.setattr(machine, "AheadKernel", partial(noted, AheadKernel))
    monkeypatch.setattr(composition, "LookaheadKernel", partial(noted, LookaheadKernel))
    return kernels


def _check_outputs(
    folder: Path, capsys: pytest.CaptureFixture[str], commands: str, kernels: Sequence[Kernel]
) -> None:
    """Run the commands of a line in an empty folder with the examples; compare what they print and write.

    The cycles in which a block ticks are compared too: there are more of them if a model ahead of the clock
    no longer takes over, which changes nothing else.
    FIBERSCOPE_UPDATE_GOLDEN=1 keeps new numbers; the commit gives the reason.
    """
    Path("examples").symlink_to(ROOT / "examples")
    Path("here").symlink_to(folder)
    Path("list.txt").write_text(_expand("first = $M\nsecond = $N\n"))
    found = {}
    for number, command in enumerate(commands.split(";;")):
        code = cli.run([_expand(word) for word in shlex.split(command)])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        found[f"screen {number}"] = fingerprint_of_text(printed.out + printed.err)
    for path in sorted(Path().glob("*.*")):
        found |= _fingerprint_of_file(path)
    if steps := sum(kernel.steps for kernel in kernels):
        found["steps"] = steps
    check_kept(folder / "whole_outputs.json", commands, found, rel=1e-9)


def _expand(word: str) -> str:
    return re.sub(r"\$\w", lambda name: OPERANDS[name[0]], word)


def _fingerprint_of_file(path: Path) -> dict[str, float]:
    if path.suffix == ".binary":
        return {path.name: crc32(path.read_bytes())}
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".json":
        return {path.name: fingerprint_of_text(text)}
    document = json.loads(text)
    document = document if isinstance(document, dict) else {"rows": document}
    return {f"{path.name} {key}": number for key, number in fingerprint(document).items()}


def fingerprint_of_text(text: str) -> int:
    """Return a number of a text without the lines on the host and the version."""
    return crc32(OF_THE_HOST.sub("", text).encode())


def fingerprint(document: Mapping[str, object]) -> dict[str, float]:
    """Return a number for each section of a document: the sum of its leaves, each with a weight of its path.

    A number counts as itself, other leaves by their text. ``paths`` stands for all paths in their order.
    """
    sections: dict[str, float] = {}
    paths = []
    for key, section in document.items():
        for path, leaf in _leaves({key: section}, ""):
            weight = 1 + crc32(path.encode()) % 9973 / 9973
            text = str(leaf).replace(str(ROOT), "")
            number = leaf if isinstance(leaf, int | float) else crc32(text.encode()) / 2**24
            sections[key] = sections.get(key, 0.0) + weight * number
            paths.append(path)
    return {**sections, "paths": crc32("\n".join(paths).encode())}


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield the path and the value of all that is no list and no dictionary."""
    if isinstance(value, dict):
        for key, entry in value.items():
            if key not in HERE:
                yield from _leaves(entry, f"{path}/{key}")
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _leaves(entry, f"{path}/{number}")
    else:
        yield path, value
