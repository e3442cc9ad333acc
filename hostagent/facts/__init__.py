"""Typed facts about a host: frozen dataclasses, one module per family. No I/O, no judgement."""
