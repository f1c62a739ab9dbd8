"""Generator of C types (``.pxd`` files) from the annotations of Python modules.

Each attribute, method and local name of a compiled class gets the C type of its annotation, or of its
assigned value. If no annotation can express the type, a comment ``# C: TYPE`` at the statement does:

- at an attribute, a local name or a number: the C type. An attribute may also be ``public``, ``readonly`` or
  ``hidden``. A statement that assigns several names takes ``name=ctype`` for each. ``object`` leaves a name
  or a class to Python.
- at a class: ``final``, or ``open`` for a class that accepts undeclared attributes.
- at a method: see ``fiberscope.compiler.methods``.

The generator never changes a hand-written ``.pxd`` file.
"""
