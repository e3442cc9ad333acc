// Lets go:linkname declare a function without a body.
