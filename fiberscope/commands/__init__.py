"""The commands of ``fiberscope``, one file each: its options, its help, what it does and what it prints.

Every file is imported to answer ``--help``, so what is heavy is imported within the functions.
"""
