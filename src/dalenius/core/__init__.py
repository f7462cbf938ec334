"""What every room shares: errors, results, the registry of methods, seeds and cost forecasts."""
