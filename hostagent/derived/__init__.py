"""Pure joins over facts that several families of checks, and others after them, ask alike. They know neither a check nor a profile."""
