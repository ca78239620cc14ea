"""The tests of normlint."""
