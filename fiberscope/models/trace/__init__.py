"""TeAAL: machines as cascades of mapped Einsums (Nayak et al., MICRO 2023), run on real tensors."""

from fiberscope import sim  # noqa: F401  (it chooses between the compiled and the uncompiled form of what follows)
