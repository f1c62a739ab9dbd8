"""A bench without tests, which must count as a failure."""
