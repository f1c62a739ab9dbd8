"""An independent reference of the timing rules: every edge of every clock, in two phases.

At each instant all nodes with an edge decide from one snapshot of the channels; then all that they decided
happens. Nothing sleeps, nothing wakes, time is an exact fraction of a second.
"""

from fractions import Fraction

from networks import Network, Node, Result


class Snapshot:
    """Inputs of a node at an instant: the visible numbers at each input, the space at each output."""

    def __init__(self, visible: list[list[int]], space: list[int]) -> None:
        self.visible = visible
        self.space = space


class Decision:
    """Actions of a node: the class of its cycle, the tokens taken from each input, the tokens sent."""

    def __init__(
        self, label: str, takes: dict[int, int] | None = None, sends: list[int] | None = None
    ) -> None:
        self.label = label
        self.takes = takes or {}
        self.sends = sends or []  # to every output


def first_full(view: Snapshot, slots: int = 1) -> str | None:
    for number, space in enumerate(view.space):
        if space < slots:
            return f"out[{number}]"
    return None


def source(node: Node, memory: dict, now: int, view: Snapshot) -> Decision:
    sent = memory.setdefault("sent", 0)
    if sent == node.count:
        return Decision("idle")
    if now < memory.get("ready", 0):
        return Decision("busy")
    if first_full(view):
        return Decision("out[0]")
    memory["sent"] += 1
    memory["ready"] = now + 1 + (node.stalls[sent % len(node.stalls)] if node.stalls else 0)
    return Decision("busy", sends=[sent + 1])


def sink(node: Node, memory: dict, now: int, view: Snapshot) -> Decision:
    received = memory.setdefault("received", [])
    if now < memory.get("ready", 0):
        return Decision("busy")
    if not view.visible[0]:
        return Decision("idle")
    memory["ready"] = now + 1 + (node.stalls[len(received) % len(node.stalls)] if node.stalls else 0)
    received.append((now, view.visible[0][0]))
    return Decision("busy", takes={0: 1})


def delay(node: Node, memory: dict, now: int, view: Snapshot) -> Decision:
    if memory.get("held") is None:
        if not view.visible[0]:
            return Decision("idle")
        memory["held"], memory["until"] = view.visible[0][0], now + node.cycles
        return Decision("busy", takes={0: 1})
    if now < memory["until"]:
        return Decision("busy")
    if first_full(view):
        return Decision(first_full(view))
    return Decision("busy", sends=[memory.pop("held")])


def join(_node: Node, _memory: dict, _now: int, view: Snapshot) -> Decision:
    empty = [number for number, numbers in enumerate(view.visible) if not numbers]
    if len(empty) == len(view.visible):
        return Decision("idle")
    if empty:
        return Decision(f"in[{empty[0]}]")
    if first_full(view):
        return Decision(first_full(view))
    total = sum(numbers[0] for numbers in view.visible)
    return Decision("busy", takes=dict.fromkeys(range(len(view.visible)), 1), sends=[total])


def arbiter(_node: Node, memory: dict, _now: int, view: Snapshot) -> Decision:
    ways = len(view.visible)
    for step in range(ways):
        way = (memory.get("turn", 0) + step) % ways
        if view.visible[way]:
            if first_full(view):
                return Decision(first_full(view))
            memory["turn"] = way + 1
            return Decision("busy", takes={way: 1}, sends=[view.visible[way][0]])
    return Decision("idle")


def twins(_node: Node, _memory: dict, _now: int, view: Snapshot) -> Decision:
    if not view.visible[0]:
        return Decision("idle")
    if first_full(view, slots=2):
        return Decision("out[0]")
    return Decision("busy", takes={0: 1}, sends=[view.visible[0][0], -view.visible[0][0]])


def batch(_node: Node, _memory: dict, _now: int, view: Snapshot) -> Decision:
    if not view.visible[0]:
        return Decision("idle")
    if first_full(view):
        return Decision("out[0]")
    taken = view.visible[0][:4]
    return Decision("busy", takes={0: len(taken)}, sends=[sum(taken)])


KINDS = {
    "source": source,
    "sink": sink,
    "delay": delay,
    "join": join,
    "arbiter": arbiter,
    "twins": twins,
    "batch": batch,
}


class Model:
    """Runs one network. ``queues`` has for each edge the (instant from which it is seen, number) it holds."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.periods = [1 / hertz for hertz in network.frequencies]
        self.queues: list[list[tuple[Fraction, int]]] = [[] for _ in network.edges]
        self.memories: list[dict] = [{} for _ in network.nodes]
        self.labels: list[list[str]] = [[] for _ in network.nodes]
        self.into = [self._edges("consumer", "input", n) for n in range(len(network.nodes))]
        self.out_of = [self._edges("producer", "output", n) for n in range(len(network.nodes))]
        self.last_event = Fraction(0)

    def _edges(self, side: str, position: str, number: int) -> list[int]:
        edges = self.network.edges
        mine = [e for e in range(len(edges)) if getattr(edges[e], side) == number]
        return sorted(mine, key=lambda e: getattr(edges[e], position))

    def run(self) -> Result:
        """Run until nothing has happened for longer than the longest delay."""
        patience = self._patience()
        cycles = [0] * len(self.periods)
        instant = Fraction(0)
        while instant <= self.last_event + patience:
            domains = [d for d, period in enumerate(self.periods) if cycles[d] * period == instant]
            self._at(instant, {d: cycles[d] for d in domains})
            for domain in domains:
                cycles[domain] += 1
            instant = min(cycle * period for cycle, period in zip(cycles, self.periods, strict=True))
        return self._result()

    def _patience(self) -> Fraction:
        longest = max(
            [max((node.cycles, *node.stalls)) for node in self.network.nodes]
            + [edge.latency for edge in self.network.edges]
        )
        return (longest + 3) * max(self.periods)

    def _at(self, instant: Fraction, cycles: dict[int, int]) -> None:
        decisions = []
        for number, node in enumerate(self.network.nodes):
            if node.domain in cycles:
                view = self._snapshot(number, instant)
                decision = KINDS[node.kind](node, self.memories[number], cycles[node.domain], view)
                self.labels[number].append(decision.label)
                decisions.append((number, decision))
        for number, decision in decisions:
            self._happen(number, decision, instant)

    def _snapshot(self, number: int, instant: Fraction) -> Snapshot:
        return Snapshot(
            [[token for seen, token in self.queues[e] if seen <= instant] for e in self.into[number]],
            [self.network.edges[e].capacity - len(self.queues[e]) for e in self.out_of[number]],
        )

    def _happen(self, number: int, decision: Decision, instant: Fraction) -> None:
        if decision.takes or decision.sends:
            self.last_event = instant
        for way, count in decision.takes.items():
            del self.queues[self.into[number][way]][:count]
        period = self.periods[self.network.nodes[number].domain]
        for e in self.out_of[number]:
            seen = instant + self.network.edges[e].latency * period
            self.queues[e] += [(seen, token) for token in decision.sends]

    def _result(self) -> Result:
        stuck = any(self.queues) or any(labels[-1] != "idle" for labels in self.labels)
        received = {
            number: self.memories[number]["received"]
            for number, node in enumerate(self.network.nodes)
            if node.kind == "sink"
        }
        return Result("deadlock" if stuck else "done", received, {} if stuck else self._cycles())

    def _cycles(self) -> dict[int, dict[str, int]]:
        """How many cycles each node spent in what, until the last one became idle."""
        periods = [self.periods[node.domain] for node in self.network.nodes]
        end = max(
            (
                (cycle + 1) * period
                for labels, period in zip(self.labels, periods, strict=True)
                for cycle, label in enumerate(labels)
                if label != "idle"
            ),
            default=Fraction(0),
        )
        counts = {}
        for number, (labels, period) in enumerate(zip(self.labels, periods, strict=True)):
            within = labels[: -(-end // period)]
            counts[number] = {label: within.count(label) for label in dict.fromkeys(within)}
        return counts
