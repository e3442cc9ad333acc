"""What is known of NCCL's behaviour, as pure functions: what a job's log says. No host is read here."""
