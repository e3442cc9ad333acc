"""The host itself: name, units, processes, limits, space."""
