"""A machine of one's own: row-wise product, a row of A at a time in each processing element."""
