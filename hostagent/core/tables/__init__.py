"""Tables that several domains need: data only."""
