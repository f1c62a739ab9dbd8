"""The primitives of the Sparse Abstract Machine: blocks that streams of tokens flow through."""
