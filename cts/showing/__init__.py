"""Results for readers, and cases for other tools."""
