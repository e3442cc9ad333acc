"""CDI specifications."""
