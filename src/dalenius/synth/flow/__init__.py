"""`flow`: categories by trees, smooth numbers by a stream that carries noise to them, learnt by boosted trees."""
