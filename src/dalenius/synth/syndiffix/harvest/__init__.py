"""From nodes to buckets."""
