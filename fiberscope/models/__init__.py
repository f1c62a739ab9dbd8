"""Models of machines and graphs without their components, or composed from a description."""
