"""Build the norm of a program in any size: find constructor arguments, further inputs and the layout."""
