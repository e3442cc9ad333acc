"""The daemon: it monitors one host and publishes its readiness to schedulers.

Two processes. The **loop** has one thread: it waits for events, forks the collector of a pass, evaluates, and writes the state directory.
The **publisher**, forked from it, serves HTTP and writes to Kubernetes and to files for other programs; it receives each message by a
socket, and is restarted when it dies. Neither waits for the other.
"""
