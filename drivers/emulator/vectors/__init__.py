"""Programs of cooperative vectors: one vector per invocation, control flow that diverges, opaque layouts."""
