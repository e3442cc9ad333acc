"""Network cards, and numbers that jobs depend on."""
