"""Write the C types that the compiler needs (a ``.pxd`` file) from the annotations of a Python module.

Each attribute, method and local name of a compiled class gets the C type of its annotation, or of the value
that is assigned to it. Where an annotation cannot express the type, a comment ``# C: TYPE`` at the statement
does. Its forms:

- at an attribute, a local name or a number: the C type; an attribute may also be ``public``, ``readonly`` or
  ``hidden``; a statement that assigns several names takes ``name=ctype`` for each; ``object`` leaves a name
  or a class to Python.
- at a class: ``final``, or ``open`` for a class that accepts undeclared attributes.
- at a method: see ``fiberscope.compiler.methods``.

A ``.pxd`` file that was written by hand is never changed.
"""
