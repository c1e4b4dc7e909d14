"""What `tests/guest/run` and `tests/guest/build-modules` are made of.

Standard library only: it runs from a clean clone, before anything has been installed.
"""
