"""Row-wise product of two matrices: each processing element computes one row of Z at a time."""
