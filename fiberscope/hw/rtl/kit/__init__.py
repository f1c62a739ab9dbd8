"""Toolkit for twins: stream interfaces, parameters, logic, adapters, and composition of blocks."""
