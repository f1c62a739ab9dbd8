cimport cython

from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, READ, PORT_SHIFT, TAG_MASK, FIELD_SHIFT, SLOT_MASK, LINE_BITS, LINE_BYTES

@cython.final
cdef class StreamField:
    cdef readonly long[::1] items
    cdef readonly long width
    cdef readonly long[::1] ends
    cdef readonly long shift
    cdef readonly long address
    cdef readonly long count
    cdef readonly long lines
    cdef readonly long room
    cdef readonly ReorderWindow window
    cdef readonly long used
    cdef readonly long here

    cdef int begin(self) except -1
    cdef bint wants(self) noexcept
    cdef bint lags(self, StreamField other) noexcept
    @cython.locals(bits=long)
    cdef int receive(self, long slot) except -1
    cdef long use(self, long item) noexcept

@cython.final
cdef class ItemStream:
    cdef readonly list fields
    cdef readonly StreamField values
    cdef readonly list all
    cdef readonly long lanes
    cdef readonly long count
    cdef readonly long times
    cdef readonly long gated
    cdef readonly long turn
    cdef readonly long time
    cdef readonly long sent
    cdef public bint shut

    cdef bint active(self) noexcept
    @cython.locals(word=long, field=StreamField)
    cdef long word(self, long item) except? -1
    @cython.locals(least=long, field=StreamField)
    cdef long here(self) except? -1
    @cython.locals(field=StreamField)
    cdef int finish(self) except -1

cdef class Reader(Component):
    cdef readonly list sources
    cdef readonly list fields
    cdef readonly list owners
    cdef long tag
    cdef readonly long lines
    cdef readonly long sent
    cdef long blocked
    cdef public list streams
    cdef public Channel requests
    cdef public Channel replies
    cdef public Channel gate

    @cython.locals(moved=bint, i=long)
    cpdef long tick(self, long now) except? -2
    @cython.final
    @cython.locals(field=StreamField)
    cdef long _wait(self) except? -2
    @cython.final
    @cython.locals(tag=long, field=StreamField)
    cdef bint _receive(self) except -1
    @cython.final
    @cython.locals(number=long, slot=long, address=long, field=StreamField)
    cdef bint _ask(self) except -1
    @cython.final
    @cython.locals(found=long, turn=long, number=long, owner=ItemStream, field=StreamField)
    cdef long _next_field(self) except? -2
    @cython.final
    @cython.locals(stream=ItemStream, output=Channel, last=long)
    cdef bint _send(self, long number) except -1
    @cython.final
    @cython.locals(values=StreamField, item=long, word=long, value=double)
    cdef int _push(self, ItemStream stream, Channel output, long last) except -1
    @cython.final
    @cython.locals(stream=ItemStream)
    cdef bint _open(self) except -1
