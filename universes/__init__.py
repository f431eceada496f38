"""The universes that come with the suite, a file each."""
