"""Claims of blocks (``fiberscope.rtl.formal``) in simulation, beside a block with random streams."""

import random
from collections import Counter

import pyrtl

from fiberscope.hw.rtl.kit.interface import CLOCKING
from fiberscope.rtl.formal.catalogue import kit_of, small_parameters
from fiberscope.rtl.formal.properties import ASSUME, CLAIM

TRIES = 30  # draws of a cycle's inputs until all assumptions hold


class Machine:
    """A design in PyRTL whose cycles have no side effects, so that a cycle can be tried."""

    def __init__(self, block):
        simulation = pyrtl.FastSimulation(tracer=None, block=block)
        self._evaluate = simulation.sim_func
        self.registers, self._memories = simulation.regs, simulation.mems
        self._by_id = simulation._mem_varname

    def words(self, memory):
        """Return all words of a memory."""
        stored = self._memories[self._by_id(memory)]
        return [stored.get(address, 0) for address in range(1 << memory.addrwidth)]

    def evaluate(self, inputs):
        """Return the outputs of a cycle with these inputs, and the state behind it."""
        registers, outputs, writes = self._evaluate({**inputs, **self.registers, **self._memories})
        return outputs, (registers, writes)

    def advance(self, state):
        """Take on the state that follows a cycle."""
        self.registers, writes = state
        for memory, address, word in writes:
            self._memories[memory][address] = word


class ClaimRun:
    """A block and its monitor since reset.

    Args:
        block: the block.
        settings: changes of its small parameters.
        seed: of the streams.

    Attributes:
        widths: bits of each input of the monitor that the block determines.
    """

    def __init__(self, block, settings=(), seed=0):
        self.properties = kit_of(block, small_parameters(block, list(settings))).properties
        self.names = list(self.properties.outputs)
        self._random, self._design = random.Random(seed), self.properties.block
        self._ports = [w for w in self.properties.interface.wires() if w.name not in CLOCKING]
        self._sources = [w for w in self._ports if w.direction == "input"]
        self.widths = {w.name: w.width for w in self._ports if w.direction == "output"}
        self.widths |= {wire.name: len(wire) for wire in self.properties.inner_wires.values()}
        self._inner = self._probes()
        self._monitor_block = next(iter(self.properties.outputs.values()))._block
        self._names = {wire.name for wire in self._monitor_block.wirevector_subset(pyrtl.Input)}
        self.reset()

    def _probes(self):
        """Return how each inner wire is read: a register, an output added for it, or the word of a memory."""
        readers = {}
        for path, wire in self.properties.inner_wires.items():
            name, bracket, rest = path.partition("[")
            if bracket:
                memory = self._design.get_memblock_by_name(name)
                readers[wire.name] = lambda _o, m=memory, a=int(rest[:-1]): self.dut.words(m)[a]
                continue
            inner = self._design.wirevector_by_name[name.replace(".", "/")]
            if isinstance(inner, pyrtl.Register):
                readers[wire.name] = lambda _o, n=inner.name: self.dut.registers[n]
            else:
                with pyrtl.set_working_block(self._design, no_sanity_check=True):
                    probe = pyrtl.Output(len(inner), f"probe_{wire.name}")
                    probe <<= inner
                readers[wire.name] = lambda outputs, n=probe.name: outputs[n]
        return readers

    def reset(self):
        """Begin anew, with other constants."""
        self.dut, self.monitor = Machine(self._design), Machine(self._monitor_block)
        self._constants = {w.name: self._random.getrandbits(w.width) for w in self.properties.constants}
        self.monitor.registers |= {
            f"{name.removeprefix('any_')}_before": value for name, value in self._constants.items()
        }
        self._waiting = {}
        self._busy = self._random.random(), self._random.random()

    def _draw(self):
        drawn = {}
        for wire in self._sources:
            offers, accepts = self._busy
            if wire.name in self._waiting:
                drawn[wire.name] = self._waiting[wire.name]
            elif wire.width == 1 and wire.name.endswith(("_valid", "_ready")):
                share = offers if wire.name.endswith("_valid") else accepts
                drawn[wire.name] = int(self._random.random() < 0.3 + 0.7 * share)
            else:
                drawn[wire.name] = self._random.getrandbits(wire.width)
        return drawn

    def step(self):
        """Simulate a cycle; return the monitor's inputs and its outputs, or None where nothing is allowed."""
        for _ in range(TRIES):
            inputs = self._draw()
            outputs, state = self.dut.evaluate(inputs)
            seen = {**inputs, **self._constants}
            seen |= {name: outputs[name] for name in self.widths if name in outputs}
            seen |= {name: read(outputs) for name, read in self._inner.items()}
            seen = {name: value for name, value in seen.items() if name in self._names}
            properties, after = self.monitor.evaluate(seen)
            if all(value for name, value in properties.items() if name.startswith(ASSUME)):
                self._after = state, after
                self._waiting = {
                    wire: inputs[wire]
                    for stream in self.properties.interface.streams
                    if stream.direction == "input"
                    and inputs[stream.wire("valid")]
                    and not outputs[stream.wire("ready")]
                    for wire in (stream.wire("valid"), *map(stream.wire, stream.widths))
                }
                return seen, properties
        return None

    def advance(self):
        """Go to the next cycle."""
        state, after = self._after
        self.dut.advance(state)
        self.monitor.advance(after)

    def flip(self, seen):
        """Return the outputs of the monitor if a bit that the block shows in this cycle is another."""
        name = self._random.choice([name for name in self.widths if name in self._names])
        return self.monitor.evaluate(
            seen | {name: seen[name] ^ (1 << self._random.randrange(self.widths[name]))}
        )[0]


def observe(run, runs=6, cycles=30, flips=3):
    """Return the cycles of some runs, in how many each property held, and how many wrong bits end it."""
    total, held, refuted = 0, Counter(), Counter()
    for _ in range(runs):
        run.reset()
        for _ in range(cycles):
            if (step := run.step()) is None:
                break
            seen, properties = step
            total += 1
            held.update(name for name, value in properties.items() if value)
            for _ in range(flips):
                flipped = run.flip(seen)
                refuted.update(name for name, value in flipped.items() if properties[name] > value)
            run.advance()
    return total, held, refuted


def failed_claims(run, runs=20, cycles=40):
    """Return the claims that fail in some runs, as far as the first cycle with a claim that does."""
    for _ in range(runs):
        run.reset()
        for _ in range(cycles):
            if (step := run.step()) is None:
                break
            failed = {name for name, value in step[1].items() if name.startswith(CLAIM) and not value}
            if failed:
                yield failed
                break
            run.advance()
