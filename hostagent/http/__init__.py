"""A small HTTP server for metrics, probes and documents: one thread, bounded connections. Used by the daemon and the controller."""
