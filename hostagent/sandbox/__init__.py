"""Child processes for code that may hang or lie, and the privileges that they drop."""
