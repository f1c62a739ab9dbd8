"""C types for the compiler, from a module's Python annotations: what a ``.pxd`` beside it would say.

What follows from the source is never stated again. Of a compiled class each attribute, method and local name
gets the C type of its annotation, or of what it is given. Where these cannot say it, a comment at the
statement does, which begins with ``# C:``. At an attribute, a local name or a number it holds the C type, and
of an attribute perhaps ``public``, ``readonly`` or ``hidden``; where the statement gives values to several,
``name=ctype`` of each; ``object`` leaves a name, or a class, to Python. At a class it is ``final``, or
``open`` to attributes that nobody declares; at a method what ``fiberscope.compiler.methods`` tells. A ``.pxd``
that stands beside a module already is left as it is: what it puts in place of calls nothing else tells.
"""
