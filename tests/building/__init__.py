"""Norms in every shape that a constructor, a forward and a function have; what each takes and is meant to compute."""
