"""What slurmd runs on a node: health, prolog and epilog; and the way out, clean."""
