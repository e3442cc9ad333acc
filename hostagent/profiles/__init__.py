"""The built-in profiles (NAME.yaml to read and edit; NAME.json, generated from it, is loaded), and the loader of profiles."""
