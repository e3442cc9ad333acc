"""Dated, sourced tables: what is known of versions, devices and systems. No wanted version lives here."""
