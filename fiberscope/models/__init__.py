"""What is computed of a machine or a graph without its components, or composed from a description."""
