"""What matrix instructions compute."""
