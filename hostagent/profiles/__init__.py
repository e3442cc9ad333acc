"""The built-in profiles (NAME.yaml is what people read and edit, NAME.json, made from it, what is loaded), and how profiles are read."""
