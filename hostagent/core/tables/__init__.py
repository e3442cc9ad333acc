"""Tables that several domains need. They know no host and judge nothing."""
