"""Studies: several runs of a machine, laid side by side."""
