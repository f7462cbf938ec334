"""The page in the browser: ``dalenius app`` serves it on this machine only."""
