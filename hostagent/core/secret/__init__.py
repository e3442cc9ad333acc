"""Finds secrets in texts, by the names before them and by their own forms, for snapshots and reports."""
