"""What cooperative vector instructions compute, load, store and accumulate."""
