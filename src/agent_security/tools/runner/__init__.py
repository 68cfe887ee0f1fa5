"""What runs inside the sandbox: the standard library alone, one file a tool, nothing of the package.

The files are handed into the sandbox as data and started there as the package `runner`.
"""
