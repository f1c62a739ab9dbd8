"""The constraint list of a standard as the reference gives it, checked on plain lists of commands.

Shares nothing with the model but the form of a logged command: the constraints and figures come from
``tests/oracles/hbm2/timing_parameters.json``, as do the rules for commands that take two clocks.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fiberscope.hw.dram.commands import Command

ORACLES = Path(__file__).parents[3] / "oracles" / "hbm2"
NAMES = {"PRE": "PREpb", "PREA": "PREab", "REF": "REFab", "REFB": "REFpb"}
ROW_COMMANDS = {"ACT", *NAMES}

# JESD79-4 DDR4-2133P, x8, 8 Gb, as in Ramulator 2.1's ddr4.py; it has the constraints of HBM2, one command
# bus and ACTs of one clock.
DDR4_2133P = {
    "nBL": 4,
    "nCL": 15,
    "nRCDRD": 15,
    "nRCDWR": 15,
    "nRP": 15,
    "nRAS": 36,
    "nRC": 51,
    "nWR": 16,
    "nRTPL": 8,
    "nCWL": 11,
    "nCCDS": 4,
    "nCCDL": 6,
    "nRRDS": 4,
    "nRRDL": 6,
    "nWTRS": 3,
    "nWTRL": 8,
    "nFAW": 23,
    "nRFC": 385,
    "nRFCpb": 385,
    "nRREFD": 0,
    "nREFI": 8325,
}
ROWS = {
    "HBM1_1000": ("HBM1", "HBM1_2Gb/HBM1_1Gbps"),
    "HBM1_2000": ("HBM1", "HBM1_2Gb/HBM1_2Gbps"),
    "HBM2_1600": ("HBM2", "HBM2_2Gb/HBM2_1600Mbps"),
    "HBM2_2000": ("HBM2", "HBM2_2Gb/HBM2_2000Mbps"),
    "HBM2_2400": ("HBM2", "HBM2_2Gb/HBM2_2400Mbps"),
    "HBM3_6400": ("HBM3", "HBM3_4Gb/HBM3_6400Mbps"),
    "DDR4_2133": ("HBM2", ""),
}


@cache
def parameters() -> dict[str, Any]:
    """The whole reference file."""
    table: dict[str, Any] = json.loads((ORACLES / "timing_parameters.json").read_text(encoding="utf-8"))
    return table["standards"]  # type: ignore[no-any-return]  # from JSON


def figures(row: str) -> dict[str, int]:
    """The reference's figures for a row of our table, by the reference's names."""
    family, preset = ROWS[row]
    return parameters()[family]["resolved"][preset] if preset else DDR4_2133P  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Constraint:
    """``following`` comes at least ``cycles`` after the ``window``-th last ``preceding`` of its scope."""

    scope: str
    preceding: frozenset[str]
    following: frozenset[str]
    cycles: int
    window: int


class Rules:
    """All constraints of one row, in cycles between the starts of two commands.

    ``banks`` is banks in a bank group, ``groups`` bank groups in a pseudo-channel.
    """

    def __init__(self, row: str, groups: int, banks: int) -> None:
        family, _preset = ROWS[row]
        self.buses = 1 if row.startswith("DDR") else 2
        self.activate_cycles = 1 if row.startswith("DDR") else 2
        self._banks = banks
        self.banks_per_pseudo = groups * banks
        values = figures(row)
        self.constraints = [
            constraint
            for entry in parameters()[family]["timing_constraints"]
            if entry["latency"] != "nCCDR"  # between stack levels, of which our rows have one
            for constraint in self._adjusted(entry, values)
        ] + self._between_bank_refreshes(values)

    @staticmethod
    def _between_bank_refreshes(values: dict[str, int]) -> list[Constraint]:
        """What the list has for HBM3 alone, and that a bank takes no refresh while it refreshes."""
        refresh = frozenset({"REFpb"})
        return [
            Constraint("PseudoChannel", refresh, refresh, values["nRREFD"], 1),
            Constraint("Bank", refresh, refresh, values["nRFCpb"], 1),
        ]

    def _adjusted(self, entry: dict[str, Any], values: dict[str, int]) -> Iterator[Constraint]:
        """What is counted from an ACT of two clocks is one longer, to one is one shorter."""
        nominal = eval(entry["latency"], {"__builtins__": {}}, values)
        late = self.activate_cycles - 1
        pairs = [(before, after) for before in entry["preceding"] for after in entry["following"]]
        for before, after in pairs + self._of_auto_precharge(pairs):
            cycles = nominal + late * (before == "ACT") - late * (after == "ACT")
            yield Constraint(entry["level"], frozenset({before}), frozenset({after}), cycles, entry["window"])

    @staticmethod
    def _of_auto_precharge(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The pairs of a bank that closes by itself: those of a PRE, but for the row bus between two PREs."""
        closing = {"PREpb", "PREab"}
        changed = [[("AP" if name == "PREpb" else name) for name in pair] for pair in pairs]
        return [
            (before, after)
            for before, after in changed
            if "AP" in (before, after) and not {before, after} <= closing | {"AP"}
        ]

    def scope(self, level: str, command: Command) -> tuple[str, int]:
        """Which part of the channel a constraint of this level is about."""
        if level == "Channel":
            return level, 0
        if level in ("PseudoChannel", "Sid"):
            return level, command.pseudo_channel
        return level, command.bank // self._banks if level == "BankGroup" else command.bank


class History:
    """When each command was last issued in each scope; tells when another may follow."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._cycles: dict[tuple[tuple[str, int], str], list[int]] = defaultdict(list)

    def earliest(self, command: Command) -> int:
        """The first cycle in which this command would break no constraint."""
        return max((bound for bound, _reason in self._bounds(command)), default=0)

    def broken(self, command: Command) -> Iterator[str]:
        """The constraints that a command as issued breaks."""
        for bound, constraint in self._bounds(command):
            if command.cycle < bound:
                yield f"{command} comes {bound - command.cycle} cycles too early for {constraint}"

    def _bounds(self, command: Command) -> Iterator[tuple[int, Constraint]]:
        name = NAMES.get(command.name, command.name)
        for constraint in self.rules.constraints:
            if name in constraint.following:
                scope = self.rules.scope(constraint.scope, command)
                for before in constraint.preceding:
                    cycles = self._cycles[scope, before]
                    if len(cycles) >= constraint.window:
                        yield cycles[-constraint.window] + constraint.cycles, constraint

    def add(self, command: Command) -> None:
        """Note a command."""
        name = NAMES.get(command.name, command.name)
        for level in ("Channel", "PseudoChannel", "Sid", "BankGroup", "Bank"):
            if command.bank >= 0 or level in ("Channel", "PseudoChannel", "Sid"):
                cycles = self._cycles[self.rules.scope(level, command), name]
                latest = (
                    cycles[-1] if name == "AP" and cycles else 0
                )  # banks close by themselves in any order
                cycles.append(max(command.cycle, latest))


def faults(commands: Iterable[Command], rules: Rules) -> list[str]:
    """Everything that is wrong with a sequence of commands: timing, buses, states of the banks."""
    history = History(rules)
    found: list[str] = []
    row_of: dict[int, int] = {}
    free = {"row": 0, "column": 0}
    for command in commands:
        found += history.broken(command)
        found += _bus_faults(command, free, rules)
        found += _state_faults(command, row_of, rules)
        history.add(command)
    return found


def _bus_faults(command: Command, free: dict[str, int], rules: Rules) -> Iterator[str]:
    if command.name == "AP":
        return
    bus = "row" if command.name in ROW_COMMANDS or rules.buses == 1 else "column"
    if command.cycle < free[bus]:
        yield f"{command} while the {bus} bus is taken"
    free[bus] = command.cycle + (rules.activate_cycles if command.name == "ACT" else 1)


def _state_faults(command: Command, row_of: dict[int, int], rules: Rules) -> Iterator[str]:
    """``row_of`` is the open row of the banks that have one."""
    open_row = row_of.get(command.bank)
    if command.name in ("RD", "WR") and open_row != command.row:
        yield f"{command}, but the open row is {open_row}"
    if command.name == "ACT":
        if open_row is not None:
            yield f"{command}, but row {open_row} is open"
        row_of[command.bank] = command.row
    if command.name in ("PRE", "AP") and row_of.pop(command.bank, None) is None:
        yield f"{command}, but no row is open"
    if command.name == "REFB" and open_row is not None:
        yield f"{command}, but row {open_row} is open"
    of_pseudo = [bank for bank in row_of if bank // rules.banks_per_pseudo == command.pseudo_channel]
    if command.name == "REF" and of_pseudo:
        yield f"{command}, but rows are open in banks {of_pseudo}"
    if command.name == "PREA":
        for bank in of_pseudo:
            del row_of[bank]
