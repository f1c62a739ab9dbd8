"""Samples of the wait chains of a running machine, for the timeline page."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.results.recording.document import RecordedChains
from fiberscope.results.recording.waits import WaitChains
from fiberscope.sim import Component, Kernel

MAX_SAMPLES = 32
MAX_VISITS = 8192  # chains of a sample times components; bounds the cost of large machines
Links = tuple[tuple[str, str], ...]  # component and text of each link of a chain


class ChainSamples:
    """Wait chains of the components that wait for memory or a network, at up to ``MAX_SAMPLES`` cycles.

    Samples are one cycle apart at first. When there are too many samples, the distance doubles and the
    samples between are dropped. A caller that skips cycles may leave a few more samples. In a large machine,
    a sample has only some of these components, see ``MAX_VISITS``.

    Args:
        kernel: a built kernel.
        components: the recorded components.
        start: the cycle of the first clock at which sampling starts.
    """

    def __init__(self, kernel: Kernel, components: Sequence[Component], start: int) -> None:
        self._chains, self._period = WaitChains(kernel), kernel.clocks[0].period
        self._components, self._start = components, start
        self._interval = 1
        self._samples: dict[int, dict[str, Links]] = {}

    def take_sample(self, cycle: int) -> None:
        """Take a sample if one is due; the kernel has executed all cycles before ``cycle``.

        The caller need not call this method in every cycle. The start itself is not sampled.
        """
        if cycle <= self._start or (cycle - self._start) % self._interval:
            return
        self._samples[cycle] = {
            component.name: tuple(
                (link.component, link.text)
                for link in self._chains.find_chain(component, cycle * self._period)
            )
            for component in self._select_components(cycle)
        }
        if len(self._samples) > MAX_SAMPLES:
            self._interval *= 2
            self._thin_out(self._interval)

    def _select_components(self, cycle: int) -> Sequence[Component]:
        """Return the components of a sample; a large machine samples another subset each time."""
        waiting = [
            component for component in self._components if self._chains.waits_for_memory_or_network(component)
        ]
        limit = max(1, MAX_VISITS // len(self._components))
        if len(waiting) <= limit:
            return waiting
        # the number of the sample selects the subset, so that the samples cover the components in turn
        first = cycle // self._interval * limit % len(waiting)
        return (waiting + waiting)[first : first + limit]  # continues at the start of the list

    def _thin_out(self, interval: int) -> None:
        """Keep only the samples at multiples of an interval after the start."""
        self._samples = {
            cycle: sample for cycle, sample in self._samples.items() if (cycle - self._start) % interval == 0
        }

    def recorded(self) -> RecordedChains | None:
        """Return the samples; None if no component waited for memory or a network in any sample.

        The samples that are not at a multiple of the returned interval are dropped, here too. A component
        that was not in a sample has an empty chain there.
        """
        # The caller may have skipped cycles, so that samples can be further apart than ``_interval``.
        cycles = sorted(self._samples)
        distances = [later - earlier for earlier, later in zip([self._start, *cycles], cycles, strict=False)]
        interval = max(distances, default=self._interval)
        self._thin_out(interval)
        count = max(((cycle - self._start) // interval for cycle in self._samples), default=0)
        names = dict.fromkeys(name for cycle in sorted(self._samples) for name in self._samples[cycle])
        if not names:
            return None
        link_numbers: dict[tuple[str, str], int] = {}
        chains = {
            name: tuple(
                tuple(
                    link_numbers.setdefault(link, len(link_numbers))
                    for link in self._samples.get(self._start + (number + 1) * interval, {}).get(name, ())
                )
                for number in range(count)
            )
            for name in names
        }
        return RecordedChains(interval=interval, links=tuple(link_numbers), components=chains)
