"""What counters in banks are told to do, see ``hw.counter_banks.CounterBanks``."""

from sim.protocol import Protocol

COMMAND = Protocol("counter command", control="command", coordinate="counters")

COMMANDS = ("count", "fetch", "scan", "read")
COUNT, FETCH, SCAN, READ = range(len(COMMANDS))
WAITING = len(COMMANDS)  # for one
