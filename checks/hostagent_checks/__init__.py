"""The built-in catalogue: one module per check, below its family."""
