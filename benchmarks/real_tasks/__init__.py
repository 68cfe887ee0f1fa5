"""Real tasks on small real projects: what a person would be asked while an agent does ordinary work.

projects    the projects, made in temporary folders
tasks       what is done on them, as lists of tool calls
play        plays one task in one mode on the real road, and bare, and tells what stood in the way
"""
