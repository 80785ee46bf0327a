"""Bytes that move and are not computed with: copies, and rows picked by an index."""
