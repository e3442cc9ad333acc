"""Checks for Acme's hosts: a sample of a catalogue that is not ours."""
