"""Stand-ins: adapters with the ports, the accounting and the counters of the components they replace."""

from __future__ import annotations

from collections.abc import Mapping

from hw.merge import HighRadixMerger
from hw.rtl.adapter import Adapter
from hw.rtl.backend import Backend
from hw.rtl.interface import Interface, Token
from hw.stream import DATA, STOP
from sim.channel import Channel


class MergerStandIn(Adapter):
    """Stands in for a ``HighRadixMerger``; the module's ports are those of ``hw.rtl.merger``."""

    PORTS = HighRadixMerger.PORTS

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._merging = False
        self._stopped: set[int] = set()  # ways whose stop has been taken
        self._fan_in = 0
        self._merges = self._merged_elements = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Follow the merge that is under way."""
        if "tasks" in moved:
            self._merging = True
            self._fan_in = moved["tasks"].coordinate
            self._merges += 1
        for way in range(self._fan_in):
            token = moved.get(f"ways[{way}]")
            if token is not None and token.control == STOP:
                self._stopped.add(way)
        merged = moved.get("merged")
        if merged is not None and merged.control == DATA:
            self._merged_elements += 1
        elif merged is not None:
            self._merging = False
            self._stopped.clear()

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy when a token leaves; else waiting for the first way that shows none, or for space."""
        if "merged" in moved:
            return self.busy(now + 1)
        if not self._merging:
            return self.idle()
        for way, channel in enumerate(self.channels("ways")[: self._fan_in]):
            if way not in self._stopped and not channel.can_pop():
                return self.wait_input(channel)
        return self.wait_output(self.channel("merged"))

    def counters(self) -> dict[str, int]:
        """Merges begun and elements merged."""
        return {"merges": self._merges, "merged_elements": self._merged_elements}
