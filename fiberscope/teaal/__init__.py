"""TeAAL: machines as cascades of mapped Einsums (Nayak et al., MICRO 2023), run on real tensors."""
