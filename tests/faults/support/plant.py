"""Plants the faults of ``tests/faults/*.yaml`` one at a time, and tells which the default tests find.

    python tests/faults/support/plant.py [AREA]

Each is planted in a copy of the tree, of which only the module concerned is compiled again, and the tests
run that ``finders.yaml`` names for its file, without the slow ones, up to the first that fails. What is done
stands in ``build/faults/results.jsonl``: a run that was ended goes on, until a source or a test changes.
A test that hangs with a fault fails at its time limit. An import that hangs is counted apart.
AREA is an area, or a part of a file's path. Exit code 1: a fault survived without a reason in DEVIATIONS.md.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from faults import LISTS, ROOT, Fault, finders, read

HERE = ROOT / "build" / "faults"
RESULTS = HERE / "results.jsonl"
ROOMS = ("sim", "hw", "accelerators", "converters", "workloads", "fiberscope")
PASSED, FAILED, NO_TESTS = 0, 1, 5  # exit codes of pytest
HANG = -1  # in their place, where pytest does not end
LIMIT = 1800  # seconds for the tests of one fault
TEST_LIMIT = "300"  # seconds for one test
FOUND, SURVIVED, HUNG, BROKEN, SOUND = "found", "survived", "hung", "broken", "sound"


class Tree:
    """A copy of the sources and of what is compiled of them: what changes is made anew."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.rmtree(place, ignore_errors=True)
        for path in (*_sources(), *_compiled()):
            self._add(path)

    def _add(self, path: str) -> None:
        (self.place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, self.place / path, follow_symlinks=False)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[bool]:
        """The tree with a fault; gives whether it could be built."""
        whole = [fault.file, *_made_of(fault.file)]
        try:
            self._remove(whole)
            (self.place / fault.file).write_text(fault.source(), encoding="utf-8")
            yield self._run("setup.py", "--quiet", "build_ext", "--inplace") == 0 if len(whole) > 1 else True
        finally:
            self._remove(whole)
            for path in whole:
                self._add(path)
            self._restore_types(Path(fault.file).with_suffix(".pxd"))

    def _restore_types(self, file: Path) -> None:
        """Write C types again that a fault has changed: who uses them is compiled again with the next one."""
        ours, own = ROOT / file, self.place / file
        if ours.is_file() and own.read_bytes() != ours.read_bytes():
            own.write_bytes(ours.read_bytes())

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            (self.place / path).unlink(missing_ok=True)
            for cached in (self.place / path).parent.glob(f"__pycache__/{Path(path).stem}.*.pyc"):
                cached.unlink()

    def test(self, *arguments: str) -> int:
        """Run tests; the exit code of pytest, or HANG if they do not end."""
        shutil.rmtree(self.place / ".hypothesis", ignore_errors=True)
        options = ("-q", "-x", "-p", "no:cacheprovider", "-m", "not slow")
        try:
            return self._run("-m", "pytest", *options, *arguments)
        except subprocess.TimeoutExpired:
            return HANG

    def _run(self, *arguments: str) -> int:
        with (self.place / "output.txt").open("w", encoding="utf-8") as output:
            return subprocess.run(
                [sys.executable, *arguments],
                cwd=self.place,
                env={**os.environ, "PYTHONPATH": str(self.place), "FIBERSCOPE_TEST_SECONDS": TEST_LIMIT},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LIMIT,
                check=False,
            ).returncode


def _listed(*arguments: str) -> list[str]:
    run = subprocess.run(
        ["git", "ls-files", "-z", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for path in run.stdout.split("\0") if path and (ROOT / path).exists()]


def _sources() -> list[str]:
    return _listed("--cached", "--others", "--exclude-standard")


def _compiled() -> list[str]:
    """What the build has written beside the sources."""
    kinds = ("*.so", "*.c", "*.pxd")
    paths = (path for room in ROOMS for kind in kinds for path in (ROOT / room).rglob(kind))
    return sorted({path.relative_to(ROOT).as_posix() for path in paths}.difference(_sources()))


def _made_of(file: str) -> list[str]:
    """What is compiled of a file."""
    source = ROOT / file
    made = (*source.parent.glob(f"{source.stem}.*.so"), *source.parent.glob(f"{source.stem}.c"))
    return [path.relative_to(ROOT).as_posix() for path in made] if source.suffix == ".py" else []


def _digest() -> str:
    """Of all sources and tests but the lists of faults."""
    total = hashlib.sha256()
    for path in sorted(_sources()):
        if path.endswith((".py", ".pxd", ".yaml", ".json")) and (ROOT / path).parent != LISTS:
            total.update(path.encode() + b"\0" + (ROOT / path).read_bytes())
    return total.hexdigest()[:16]


class Results:
    """What came of each fault, and of the tests without one, as far as it is of these sources."""

    def __init__(self) -> None:
        self.digest = _digest()
        HERE.mkdir(parents=True, exist_ok=True)
        text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
        lines, self._cut_off = text.splitlines(), bool(text) and not text.endswith("\n")
        rows = [json.loads(line) for line in lines if line.endswith("}")]  # the last may be cut off
        self.outcomes: dict[str, str] = {
            row["key"]: row["outcome"] for row in rows if row["digest"] == self.digest
        }

    def keep(self, key: str, outcome: str) -> None:
        """Note an outcome, on disk too."""
        self.outcomes[key] = outcome
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write("\n" if self._cut_off else "")
            self._cut_off = False
            file.write(json.dumps({"digest": self.digest, "key": key, "outcome": outcome}) + "\n")


def _tried(tree: Tree, fault: Fault) -> str:
    """What comes of a fault: first of the tests with its file's name in theirs, then of all."""
    tests = finders(fault)
    first = () if fault.tests else (("-k", Path(fault.file).stem),)
    with tree.planted(fault) as built:
        if not built:
            return BROKEN
        codes = (tree.test(*options, *tests) for options in (*first, ()))
        for code in codes:
            if code not in (PASSED, NO_TESTS):
                return {FAILED: FOUND, HANG: HUNG}.get(code, BROKEN)
    return SURVIVED


def _all_sound(tree: Tree, faults: Sequence[Fault], results: Results) -> bool:
    """Whether the tests pass without a fault; else nothing that they find would count."""
    for tests in {finders(fault) for fault in faults}:
        key = " ".join(sorted(tests))
        if results.outcomes.get(key) != SOUND:
            print(f"without a fault: {' '.join(tests)[:100]}", flush=True)
            if tree.test(*tests) != PASSED:
                print(f"The tests fail without a fault: see {tree.place / 'output.txt'}", file=sys.stderr)
                return False
            results.keep(key, SOUND)
    return True


def _plant(faults: Sequence[Fault], results: Results) -> bool:
    """Try the faults that have not been, side by side; whether the tests are sound."""
    left = [fault for fault in faults if fault.key not in results.outcomes]
    jobs = min(int(os.environ.get("JOBS", os.cpu_count() or 1)), max(1, len(left)))
    trees: SimpleQueue[Tree] = SimpleQueue()
    for number in range(jobs):
        trees.put(Tree(HERE / f"tree{number}"))
    tree = trees.get()
    sound = _all_sound(tree, left, results)
    trees.put(tree)

    def one(fault: Fault) -> None:
        tree, start = trees.get(), time.monotonic()
        try:
            outcome = _tried(tree, fault)
        finally:
            trees.put(tree)
        results.keep(fault.key, outcome)
        spent = time.monotonic() - start
        print(f"{outcome:<8} {spent:4.0f} s  {fault.area}: {fault.file}: {fault.what}", flush=True)

    if sound:
        with ThreadPoolExecutor(jobs) as workers:
            list(workers.map(one, left))
    return sound


def _tell(faults: Sequence[Fault], results: Results) -> bool:
    """Print what was found and what survived, by area; whether all is as it should be."""
    counts: dict[str, Counter[str]] = {}
    for fault in faults:
        counts.setdefault(fault.area, Counter())[results.outcomes[fault.key]] += 1
    print(f"\n{'area':<24}{FOUND:>8}{HUNG:>8}{SURVIVED:>10}")
    counts["all"] = sum(counts.values(), Counter[str]())
    for area, count in sorted(counts.items(), key=lambda row: (row[0] == "all", row[0])):
        print(f"{area:<24}{count[FOUND]:>8}{count[HUNG]:>8}{count[SURVIVED]:>10}")
    print()
    amiss = [fault for fault in faults if results.outcomes[fault.key] != _expected(fault)]
    for fault in amiss:
        outcome = results.outcomes[fault.key]
        print(f"{outcome}: {fault.area}: {fault.file}: {fault.what}\n  {fault.old!r} -> {fault.new!r}")
    return not amiss


def _expected(fault: Fault) -> str:
    return SURVIVED if fault.deviation else FOUND


def main(arguments: Sequence[str]) -> int:
    """Plant the faults of an area, or all."""
    asked = arguments[0] if arguments else ""
    areas = sorted({fault.area for fault in read()})
    faults = [fault for fault in read() if (fault.area == asked if asked in areas else asked in fault.file)]
    if not faults:
        print(f"faults: there is no area {asked}; it should be one of {', '.join(areas)}", file=sys.stderr)
        return 2
    results = Results()
    return 0 if _plant(faults, results) and _tell(faults, results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
