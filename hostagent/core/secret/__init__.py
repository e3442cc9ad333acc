"""Secrets in texts: found by the names before them, and by their own forms. For what leaves a host in a snapshot or a report."""
