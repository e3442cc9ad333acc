"""Programs that slurmd runs on a node: health, prolog and epilog; and clean, which removes their traces."""
