"""The driver's modules, libraries, device nodes and builds."""
