"""The lanes of the drivers that may hang, and what their workers ask."""
