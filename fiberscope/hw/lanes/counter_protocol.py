"""The commands of ``fiberscope.hw.lanes.counter_banks.CounterBanks``."""

from fiberscope.sim.protocol import Protocol

COMMAND = Protocol("counter command", control="command", coordinate="counters")

COMMANDS = ("count", "fetch", "scan", "read")
COUNT, FETCH, SCAN, READ = range(len(COMMANDS))
WAITING = len(COMMANDS)  # state of a unit without a command
