cimport cython

from fiberscope.models.trace.line_table cimport LineTable
from fiberscope.models.trace.recorder cimport Buffet, Recorder

cdef class Instances(Recorder):
    cdef list recorders
    cdef long[::1] serials
    cdef long level
    cdef long number

    @cython.locals(recorder=Recorder)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1

cdef class Multicast(Instances):
    cdef readonly long lines_shared
    cdef long round
    cdef LineTable table

    @cython.locals(buffet=Buffet, serial=long, before=long)
    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
    @cython.locals(known=long)
    cdef int _share(self, long now, long line, long lines) except -1

cdef class Served(Recorder):
    cdef readonly long reads
    cdef readonly long writes

    cpdef int touch(self, long fiber, long position, bint write, long group) except -1

cdef class Work(Recorder):
    cdef readonly long[::1] bodies
    cdef long number

    cpdef int touch(self, long fiber, long position, bint write, long group) except -1
