"""In a checkout that is not installed, the entry point's plugin comes from here."""

pytest_plugins = ["cts.pytest_plugin"]
