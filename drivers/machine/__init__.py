"""What machines have in common that run compiled code: buffers at addresses, and how a run ends."""
