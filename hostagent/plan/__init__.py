"""What would have to change on a host, and in which order: pure, out of facts, offers and a profile."""
