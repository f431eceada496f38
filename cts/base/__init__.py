"""What any program needs: errors, files, text, time, settings, child processes."""
