"""The only code that writes to a host: it applies a plan, verifies each part by a new pass, and rolls back."""
