"""What every part uses and no part of a host knows: values, types, text, files of our own."""
