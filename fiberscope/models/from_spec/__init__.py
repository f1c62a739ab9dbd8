"""Cycle-accurate machines that are built from a specification: one file with a cascade of Einsums.

The loops of each Einsum are cut after the last loop in space. The loops before the cut become a stream graph
that makes tasks. The loops after the cut become a second stream graph, of which every instance of the level
has a copy.

Terms of this package:

*   A *stage* is one Einsum, or two Einsums with a merger between them. Stages run one after another.
*   The *cut* of a stage is the block that dispatches tasks. "Before the cut" means outside of the loops of a
    task, "after the cut" means inside.
*   A *task* is one iteration of the innermost loop before the cut. Without such a loop, a stage is one task.
*   An *instance* is one copy of an architecture level, such as a processing element, that runs tasks. In the
    code, ``leaf`` is an instance, or the name of its blocks' prefix.
*   A *chain* is the path of stores through which the data of one rank moves between memory and an instance.
*   A *way* is one input of a merger: a sorted list of elements.
*   A *round* of a cascade that repeats is one pass through all of its Einsums (module ``rounds``). A round of
    a stage is the time between two evictions of the output from a shared buffer (``Stage.rounds``).
*   The *places* of a stage are the loops in space whose iterations become instances (``Stage.places``).
"""

PREFIX = "spec:"  # first part of a machine's name; the name of the specification follows
