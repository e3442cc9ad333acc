"""Xids and models of GPUs."""
