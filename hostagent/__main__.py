"""``python -m hostagent``."""

from hostagent.cli import main

main()
