"""How problems are mended: from a norm and the syntax around it to small edits of the text."""
