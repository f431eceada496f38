"""What others supply - drivers, generators, oracles, corpora, transforms - and where the core finds it."""
