"""Why a byte is expected to be what it is."""
