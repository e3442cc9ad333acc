"""Hosts that do not exist: directories that look like the root of a live GPU host, built from documented formats.

`tree` writes files, links and devices; `formats` the binary ones; `system`, `driver`, `gpus`, `packages`, `containers`
one part of a host each; `hosts` the whole hosts and, one small function each, what is broken on them. `record` asks a
built tree everything that the collectors ask and writes ``tests/hosts/<name>``.
"""
