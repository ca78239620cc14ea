"""normlint finds hand-written RMSNorm and LayerNorm code that computes something else."""

__version__ = "0.1.0"
