"""RF2xx: products and pipes, and room below every roof."""
