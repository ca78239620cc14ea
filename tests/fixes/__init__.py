"""The proof of the repairs: every defect of the grid, and every pair of them, fixed and run.

`fixing` makes fixes in rounds, `judge` says what is wrong with what came of it, `pairs` puts two defects into one norm,
`dress` changes a text's look without its meaning, `grid` runs it all and writes docs/fixes.md.
"""
