"""The daemon: a host watched, and told to whoever places jobs.

Two processes. The **loop** has one thread: it hears events, forks what reads a pass, judges, and writes the state directory. The
**teller**, forked from it, serves HTTP and writes to Kubernetes and to files of others; it gets what there is to tell by a socket, and
is replaced when it dies. Neither waits for the other.
"""
