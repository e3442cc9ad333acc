"""Kernel and modules: a module for this boot and for the next one, nouveau, Secure Boot and signatures, headers, initramfs."""
