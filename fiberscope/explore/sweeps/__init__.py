"""Sweeps: many runs over points of a parameter space, on this computer or on the workers of a cluster.

A point goes through these modules:

- ``dispatch``: pass points to ``runner`` one by one, or with several workers to ``engine`` in batches;
- ``engine``: send batches to the workers of Dask, store the row of each point, and resend unfinished points;
- ``runner``: run the points in a child process, and end the process if a point exceeds its time limit;
- ``worker``: the child process, which reads points from one pipe and writes their outcomes to another;
- ``outcome``: run one point in the child process under its memory limit, and return its status and row.
"""
