"""Files of an exported folder for hardware teams: README, constraints, core file and test bench."""
