"""The only code that writes to a host: it carries out a plan, proves each part by a new pass, and takes it back."""
