"""Queries the real package manager over throw-away overlays: nothing of the target changes."""
