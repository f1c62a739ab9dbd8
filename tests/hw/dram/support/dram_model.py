"""A second, plain model of the channel: every cycle, every burst, every constraint, nothing remembered.

It follows the same policy as the component, in the most literal way, and reads its timing from the constraint
list of the reference. One burst a request. Slow; the tests compare its commands with ours.
"""

from dataclasses import dataclass

from dram_rules import ROW_COMMANDS, History, Rules, figures

from fiberscope.hw.dram import DramSpecification
from fiberscope.hw.dram.address import Decoder
from fiberscope.hw.dram.commands import Command
from fiberscope.hw.dram.trace import Request
from fiberscope.hw.memory.protocol import READ


@dataclass
class Burst:
    """One waiting burst."""

    write: bool
    bank: int
    row: int
    line: int
    arrival: int
    place: int
    counted: bool = False


class PlainModel:
    """Runs a trace; ``commands``, ``completions`` and ``counts`` are what came of it."""

    def __init__(self, row: str, specification: DramSpecification, trace: list[Request], issue: int) -> None:
        self.specification = specification
        organisation = specification.device.organisation
        self.rules = Rules(row, organisation.bank_groups, organisation.banks)
        self.history = History(self.rules)
        self.figures = figures(row)
        self.decoder = Decoder(specification.map, organisation)
        self.banks_per_pseudo = self.rules.banks_per_pseudo
        self.pseudo_channels = organisation.pseudo_channels
        self.trace = list(enumerate(trace))
        self.issue = issue
        self.queues: dict[bool, list[Burst]] = {False: [], True: []}
        self.opened: list[Burst] = []
        self.owed: list[int] = []  # pseudo-channels, or banks where they are refreshed singly
        self.singly = specification.refresh.startswith("per_bank")
        self.ahead = specification.refresh == "per_bank_lookahead"
        self.sets = 0  # of single banks, one of each pseudo-channel, that have fallen due
        self.rested: dict[int, set[int]] = {p: set() for p in range(self.pseudo_channels)}  # in this round
        self.chosen: int | None = None
        self.pending: list[tuple[int, int]] = []
        self.open_row: dict[int, int] = {}
        self.write_mode = False
        self.row_bus = 0
        self.commands: list[Command] = []
        self.completions: list[tuple[int, int]] = []
        self.counts = {"row_hits": 0, "row_misses": 0, "row_conflicts": 0, "forwarded": 0, "coalesced": 0}

    def run(self) -> None:
        """Until everything is served."""
        now = 0
        while self.trace or self.opened or self.pending or any(self.queues.values()):
            now += 1
            self.cycle(now)

    def cycle(self, now: int) -> None:
        """One clock."""
        for _ in range(self.issue):
            if self.trace and self.trace[0][1][0] < now and self.take(now):
                self.trace.pop(0)
            else:
                break
        while self.pending and self.pending[0][0] <= now:
            self.completions.append((self.pending.pop(0)[1], now))
        self.owed += self.refreshes_due(now)
        self.refreshing()
        if self.rules.buses == 1:
            self.try_any(now)
        else:
            self.try_column(now)
            self.try_row(now)

    def refreshes_due(self, now: int) -> list[int]:
        """What falls due for a refresh in this cycle: all pseudo-channels, or one bank of each."""
        if self.specification.refresh == "all_bank" and now % self.figures["nREFI"] == 0:
            return list(range(self.pseudo_channels))
        if self.singly and now == (self.sets + 1) * self.figures["nREFI"] // self.banks_per_pseudo:
            self.sets += 1
            bank = (self.sets - 1) % self.banks_per_pseudo
            return [pseudo * self.banks_per_pseudo + bank for pseudo in range(self.pseudo_channels)]
        return []

    def take(self, now: int) -> bool:
        """Accept the next request, if there is room."""
        place, (_earliest, operation, address) = self.trace[0]
        burst_bytes = self.specification.device.organisation.burst_bytes
        line = address // burst_bytes
        waiting_write = any(burst.line == line for burst in self.queues[True])
        write = operation != READ
        if waiting_write:
            self.counts["coalesced" if write else "forwarded"] += 1
            if not write:
                self.pending.append((now, place))
            return True
        capacity = self.specification.write_queue if write else self.specification.read_queue
        if len(self.queues[write]) == capacity:
            return False
        self.decoder.decode(line * burst_bytes)
        burst = Burst(write, self.decoder.bank, self.decoder.row, line, now, place)
        self.queues[write].append(burst)
        return True

    def try_column(self, now: int) -> bool:
        """The column bus: opened bursts first, then the queue of the current mode."""
        return self.serve_opened(now) or (not self.all_wait() and self.serve_queue(now, {"RD", "WR"}))

    def try_row(self, now: int) -> bool:
        """The row bus: a refresh that is due, else, if not all wait for it, the queue of the current mode."""
        if self.owed and self.serve_refresh(now):
            return True
        return not self.all_wait() and self.serve_queue(now, {"ACT", "PRE"})

    def all_wait(self) -> bool:
        """Whether nothing but opened bursts may be served."""
        return bool(self.owed) and not self.singly

    def try_any(self, now: int) -> bool:
        """The only bus."""
        if self.serve_opened(now):
            return True
        if self.owed:
            return self.serve_refresh(now)
        return self.serve_queue(now, {"RD", "WR", "ACT", "PRE"})

    def next_command(self, burst: Burst, now: int) -> Command:
        """What a burst needs next."""
        pseudo = burst.bank // self.banks_per_pseudo
        open_row = self.open_row.get(burst.bank)
        if open_row == burst.row:
            return Command(now, "WR" if burst.write else "RD", pseudo, burst.bank, burst.row)
        if open_row is None:
            return Command(now, "ACT", pseudo, burst.bank, burst.row)
        return Command(now, "PRE", pseudo, burst.bank, -1)

    def ready(self, command: Command) -> bool:
        """Whether a command may be issued now."""
        if command.name in ROW_COMMANDS and command.cycle < self.row_bus:
            return False
        return self.history.earliest(command) <= command.cycle

    def issue_command(self, command: Command) -> None:
        """Issue it."""
        self.commands.append(command)
        self.history.add(command)
        if command.name == "ACT":
            self.open_row[command.bank] = command.row
        if command.name in ("PRE", "AP"):
            del self.open_row[command.bank]
        if command.name == "PREA":
            self.open_row = {
                bank: row
                for bank, row in self.open_row.items()
                if bank // self.banks_per_pseudo != command.pseudo_channel
            }
        if command.name in ROW_COMMANDS:
            self.row_bus = command.cycle + (self.rules.activate_cycles if command.name == "ACT" else 1)

    def finish(self, burst: Burst, now: int) -> None:
        """A burst got its column command."""
        if not burst.write:
            self.pending.append((now + self.figures["nCL"] + self.figures["nBL"], burst.place))
        waiting = [*self.opened, *self.queues[burst.write]]
        is_wanted = any((other.bank, other.row) == (burst.bank, burst.row) for other in waiting)
        if self.specification.page_policy == "closed" and not is_wanted:
            closing = Command(now, "AP", burst.bank // self.banks_per_pseudo, burst.bank, -1)
            self.issue_command(closing._replace(cycle=self.history.earliest(closing)))

    def serve_opened(self, now: int) -> bool:
        """The oldest ready of the bursts whose row was opened for them."""
        able = [burst for burst in self.opened if self.ready(self.next_command(burst, now))]
        if not able:
            return False
        burst = min(able, key=lambda burst: burst.arrival)
        self.issue_command(self.next_command(burst, now))
        self.opened.remove(burst)
        self.finish(burst, now)
        return True

    def choose_mode(self) -> None:
        """Reads or writes."""
        reads, writes = len(self.queues[False]), len(self.queues[True])
        if not self.write_mode:
            high = self.specification.write_high * self.specification.write_queue
            self.write_mode = writes > high or reads == 0
        else:
            low = self.specification.write_low * self.specification.write_queue
            self.write_mode = not ((writes < low or writes == 0) and reads != 0)

    def serve_queue(self, now: int, kinds: set[str]) -> bool:
        """The oldest burst whose next command is of these kinds and ready."""
        self.choose_mode()
        queue = self.queues[self.write_mode]
        for burst in queue:
            command = self.next_command(burst, now)
            held = command.name == "PRE" and self.keeps_open(burst, queue)
            kept = self.singly and burst.bank == self.refreshing()
            if command.name in kinds and not (held or kept) and self.ready(command):
                self.count(burst, command)
                self.issue_command(command)
                if command.name == "ACT":
                    queue.remove(burst)
                    self.opened.append(burst)
                elif command.name != "PRE":
                    queue.remove(burst)
                    self.finish(burst, now)
                return True
        return False

    def keeps_open(self, burst: Burst, queue: list[Burst]) -> bool:
        """Whether a row must not be closed for a burst."""
        if any(other.bank == burst.bank for other in self.opened):
            return True
        return self.specification.scheduler == "row_hit_first" and any(
            other.bank == burst.bank
            and other.row == self.open_row[burst.bank]
            and other.arrival <= burst.arrival
            for other in queue
        )

    def count(self, burst: Burst, command: Command) -> None:
        """Row hits, misses, conflicts, by a burst's first command."""
        if not burst.counted:
            burst.counted = True
            self.counts[{"ACT": "row_misses", "PRE": "row_conflicts"}.get(command.name, "row_hits")] += 1

    def serve_refresh(self, now: int) -> bool:
        """Close what is open of that whose turn it is, or refresh it."""
        return self.serve_bank_refresh(now) if self.singly else self.serve_refresh_of_all(now)

    def refreshing(self) -> int | None:
        """The bank whose turn it is; looking ahead, the one that the fewest bursts wait for."""
        if not self.owed or not self.ahead:
            return self.owed[0] if self.owed else None
        if self.chosen is None:
            pseudo = self.owed[0] // self.banks_per_pseudo
            first = pseudo * self.banks_per_pseudo
            left = set(range(first, first + self.banks_per_pseudo)) - self.rested[pseudo]
            waiting = [burst.bank for burst in (*self.queues[False], *self.queues[True], *self.opened)]
            self.chosen = min(left, key=lambda bank: (waiting.count(bank), bank))
            self.rested[pseudo] = self.rested[pseudo] | {self.chosen} if len(left) > 1 else set()
        return self.chosen

    def serve_bank_refresh(self, now: int) -> bool:
        """One bank."""
        bank = self.refreshing()
        assert bank is not None
        is_open = bank in self.open_row
        command = Command(now, "PRE" if is_open else "REFB", bank // self.banks_per_pseudo, bank, -1)
        if any(burst.bank == bank for burst in self.opened) or not self.ready(command):
            return False
        self.issue_command(command)
        if not is_open:
            self.owed.pop(0)
            self.chosen = None
            self.refreshing()
        return True

    def serve_refresh_of_all(self, now: int) -> bool:
        """All banks of a pseudo-channel."""
        pseudo = self.owed[0]
        is_open = any(bank // self.banks_per_pseudo == pseudo for bank in self.open_row)
        command = Command(now, "PREA" if is_open else "REF", pseudo, -1, -1)
        held = any(burst.bank // self.banks_per_pseudo == pseudo for burst in self.opened)
        if held or not self.ready(command):
            return False
        self.issue_command(command)
        if not is_open:
            self.owed.pop(0)
        return True
