"""A reader of replies that takes its time."""

from fiberscope.hw.memory.protocol import REPLY
from fiberscope.sim import Component, Input


class SlowSink(Component):
    """Takes one reply every ``pause`` cycles."""

    PORTS = (Input("replies", REPLY),)

    def __init__(self, pause: int) -> None:
        super().__init__("sink")
        self.pause = pause
        self.taken: list[tuple[int, int]] = []  # cycle and tag
        self.next = 0

    def tick(self, now: int) -> int:
        if self.replies.can_pop() and now >= self.next:
            self.taken.append((now, self.replies.coordinate()))
            self.replies.pop()
            self.next = now + self.pause
        return self.busy(self.next) if self.replies.can_pop() else self.idle()

    @property
    def tags(self) -> list[int]:
        """Tags of the replies, as they came."""
        return [tag for _cycle, tag in self.taken]
