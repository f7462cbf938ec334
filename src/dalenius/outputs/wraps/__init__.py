"""The border to pandas, Polars, statsmodels, SciPy, Altair and scikit-learn: nothing else in this room knows them."""
