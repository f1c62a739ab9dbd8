"""An exported folder that can be handed to a hardware team: README, constraints, core file and test bench."""
