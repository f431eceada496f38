"""Embedded drivers: emulator and interpreter."""
