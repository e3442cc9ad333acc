"""Typed facts about a host: frozen dataclasses, one module a family. No I/O, no judgement."""
