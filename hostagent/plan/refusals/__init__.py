"""Why nothing is done: each reason has a function of its own."""
