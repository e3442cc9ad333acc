"""How what may hang or lie is run: child processes, their rights, what they give up."""
