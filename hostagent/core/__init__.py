"""Used by every layer and independent of any host: values, types, text, files of our own."""
