"""Sweeps: many runs over points of a parameter space, on this computer or on the workers of a cluster.

A point passes through these modules:

- ``dispatch``: runs points one by one through ``point_process``, or in batches through ``dask_execution``;
- ``dask_execution``: sends batches to Dask workers, stores the row of each point, resends unfinished points;
- ``point_process``: runs points in a child process, and ends the process at the time limit of a point;
- ``worker``: the child process, which reads points from a pipe and writes outcomes to another pipe;
- ``outcome``: runs a point in the child process under its memory limit, and returns status and row.
"""
