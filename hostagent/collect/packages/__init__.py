"""Package databases, repositories, pins and locks."""
