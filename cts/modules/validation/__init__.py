"""Testing validators: modules that break one rule of the specifications each, and a valid counterpart of each."""
