"""`agent-security demo`: the whole program against a scripted hostile model, judged by effect.

`stage` builds a temporary HOME and a sample project, `attacks` says what is tried and how to see
an effect, `play` is the model's part. `frontends/demo.py` runs and draws it.
"""
