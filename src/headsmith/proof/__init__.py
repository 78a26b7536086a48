"""How every error is proved: balls, Taylor cells, the rounding model, composition, the certificate and its checker."""
