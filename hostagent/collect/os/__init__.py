"""The distribution."""
