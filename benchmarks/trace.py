"""Value changes per second of a traced run, and the cost of a window that is never reached.

    python benchmarks/trace.py

The machine has processing elements of 4 or 64 ways, each fed by as many sources, in plain Python. ``outside``
is a run that ends before its window, ``net`` the rate without the time of the untraced run.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fiberscope.sim import Component, Input, Kernel, Output, Protocol, Signal, import_mode
from fiberscope.sim.trace import write_vcd

CASES = {  # processing elements, ways of each, tokens of each way
    "3 x 4 ways": (3, 4, 10_000),
    "32 x 4 ways": (32, 4, 1_500),
    "8 x 64 ways": (8, 64, 400),
}
NUMBER = Protocol("number", coordinate="number")
LATE = (1 << 40, 1 << 41)  # in cycles; never reached
ROUNDS = 3

Case = tuple[int, int, int]


class Source(Component):
    """Sends the numbers from 0, with a pause after each number."""

    PORTS = (Output("out", NUMBER),)

    def __init__(self, name: str, count: int, pause: int) -> None:
        super().__init__(name)
        self.count, self.pause, self.sent, self.ready = count, pause, 0, 0

    def elaborate(self) -> None:
        """Fetch the channel."""
        self.out = self.channel("out")

    def signals(self) -> tuple[Signal, ...]:
        """Return the number of sent tokens."""
        return (Signal("sent"),)

    def sample(self) -> tuple[int, ...]:
        """Return the values of ``signals``."""
        return (self.sent,)

    def tick(self, now: int) -> int:
        """Send one number."""
        if self.sent == self.count:
            return self.idle()
        if now < self.ready:
            return self.busy(self.ready)
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, self.sent)
        self.sent += 1
        self.ready = now + 1 + self.pause
        return self.busy(self.ready)


class Element(Component):
    """Takes one number per cycle from the next way, round robin."""

    PORTS = (Input("ways", NUMBER, array=True),)

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.ways = self.channels("ways")
        self.turn = self.coordinate = self.taken = 0

    def signals(self) -> tuple[Signal, ...]:
        """Return the next way, the last number and the count of numbers."""
        return (Signal("turn", width=8), Signal("coordinate"), Signal("taken", kind="integer"))

    def sample(self) -> tuple[int, ...]:
        """Return the values of ``signals``."""
        return (self.turn, self.coordinate, self.taken)

    def tick(self, now: int) -> int:
        """Take one number."""
        for step in range(len(self.ways)):
            way = (self.turn + step) % len(self.ways)
            if self.ways[way].can_pop():
                self.coordinate = self.ways[way].coordinate()
                self.ways[way].pop()
                self.turn, self.taken = (way + 1) % len(self.ways), self.taken + 1
                return self.busy(now + 1)
        return self.idle()


def build(elements: int, ways: int, tokens: int) -> Kernel:
    """Build the machine in a new kernel."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    for number in range(elements):
        element = kernel.add(Element(f"machine.pe{number:02}"))
        for way in range(ways):
            source = kernel.add(Source(f"{element.name}.source{way:02}", tokens, pause=2 * way))
            kernel.connect(source, "out", element, f"ways[{way}]", capacity=4)
    kernel.build()
    return kernel


@dataclass(frozen=True)
class Measurement:
    """CPU seconds of the run alone and with the file's opening and closing; changes and bytes written."""

    run: float
    whole: float
    changes: int
    size: int


def untraced(case: Case) -> float:
    """Return the minimum CPU seconds of the run alone."""
    return min(_seconds(build(*case).run) for _ in range(ROUNDS))


def traced(case: Case, path: Path, window: tuple[int, int] | None = None) -> Measurement:
    """Return the fastest of ``ROUNDS`` traced runs."""
    return min((_traced_once(case, path, window) for _ in range(ROUNDS)), key=lambda measured: measured.whole)


def _traced_once(case: Case, path: Path, window: tuple[int, int] | None) -> Measurement:
    kernel = build(*case)
    start = time.process_time()
    with write_vcd(kernel, path, window=window) as tracer:
        run = _seconds(kernel.run)
    return Measurement(run, time.process_time() - start, tracer.changes, path.stat().st_size)


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(case: Case, path: Path) -> list[str]:
    """Return one row of the table."""
    untraced_seconds = untraced(case)
    full = traced(case, path)
    outside = traced(case, path, window=LATE)
    return [
        f"{full.changes:,}",
        f"{full.size >> 10:,}",
        f"{untraced_seconds:.3f}",
        f"{outside.run:.3f}",
        f"{full.whole:.3f}",
        f"{full.changes / full.whole / 1e3:,.0f}",
        f"{full.changes / (full.whole - untraced_seconds) / 1e3:,.0f}",
    ]


def main() -> None:
    """Print a table."""
    print(
        f"{'compiled' if import_mode.compiled() else 'uncompiled'} engine; CPU seconds, 1000 changes a second"
    )
    warnings.simplefilter("ignore")  # the late window is not reached
    columns = ["changes", "KiB", "untraced", "outside", "traced", "rate", "net"]
    print(" " * 14 + "".join(f"{column:>11}" for column in columns))
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            row = measure(case, Path(folder) / "run.vcd")
            print(f"{name:14}" + "".join(f"{cell:>11}" for cell in row))


if __name__ == "__main__":
    main()
