"""From facts to a report: checks, evaluation, root causes, profiles, the pass over a host."""
