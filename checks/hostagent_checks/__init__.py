"""The built-in catalogue: one module a check, below its family."""
