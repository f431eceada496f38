"""Curated cases, one YAML file each, and every divergence ever found, minimised."""
