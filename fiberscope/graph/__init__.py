"""Stream graphs: tensor algebra as a graph of the blocks of the Sparse Abstract Machine."""
