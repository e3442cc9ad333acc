"""A catalogue that must be refused: one of its checks opens a file itself."""
