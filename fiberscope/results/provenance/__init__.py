"""What a result was made by: the sources, the repository that these are in, and the environment."""
