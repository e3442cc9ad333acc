"""Package databases, repositories and what package managers do."""
