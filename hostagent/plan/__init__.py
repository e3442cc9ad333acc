"""The changes that a host needs, in order: pure, from facts, offers and a profile."""
