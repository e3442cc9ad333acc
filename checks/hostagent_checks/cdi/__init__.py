"""CDI specifications: present, valid, for the loaded driver, without duplicates, refreshed at boot."""
