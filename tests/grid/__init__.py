"""The grid: every way we know to spell a norm, crossed with every way we know to get it wrong.

`spellings` holds the choices, `recipe` which of them go together, `compose` writes a recipe down as source text,
`defects` changes one choice for the worse, `cases` lists what results, `confirm` runs a case against a reference.
"""
