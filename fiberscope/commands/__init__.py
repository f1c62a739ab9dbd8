"""The commands of ``fiberscope``, one file each."""
