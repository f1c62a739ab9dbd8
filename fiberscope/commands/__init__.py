"""Commands of ``fiberscope``, one file each: options, help, execution and output.

Every file is imported for ``--help``. Heavy modules are therefore imported within functions.
"""
