"""From a request to a report: find the machine, resolve its parameters, execute the run."""
