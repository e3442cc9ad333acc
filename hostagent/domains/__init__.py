"""What is known of each part of a host, a package for each: readers (``read_*``), tables, joins, its part of the report."""
