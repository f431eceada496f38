"""Rules of the specifications that tools must enforce: files of rules, and in `bases/` the cases that they edit."""
