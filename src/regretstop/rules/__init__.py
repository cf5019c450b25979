"""The stopping rules: small frozen objects that turn a snapshot into a certificate."""
