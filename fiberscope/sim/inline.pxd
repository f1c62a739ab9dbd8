# Written by hand: casts and host prefetches, which Python lacks.
from cpython.list cimport PyList_GET_ITEM

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.clock cimport Clock
from fiberscope.sim.component cimport Component

cdef extern from *:
    """
    #define fiberscope_fetch(number) __builtin_prefetch(&(number))
    """
    void fetch "fiberscope_fetch"(...) noexcept

cdef inline Component component(object listed) noexcept:
    return <Component>listed

cdef inline Clock clock(object listed) noexcept:
    return <Clock>listed

cdef inline Channel channel(object listed) noexcept:
    return <Channel>listed

cdef inline bint shows(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).can_pop()

cdef inline long control(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).control()

cdef inline long coordinate(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).coordinate()

cdef inline long reference(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).reference()

cdef inline double value(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).value()

cdef inline int pop(list channels, long place) except -1:
    return (<Channel>PyList_GET_ITEM(channels, place)).pop()

cdef inline int push(list channels, long place, long control, long coordinate, double value) except -1:
    return (<Channel>PyList_GET_ITEM(channels, place)).push(control, coordinate, 0, value)

cdef inline bint fits(list channels, long place, long tokens) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).fits(tokens)

cdef inline bint takes(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).can_push()

cdef inline bint empty(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).occupancy == 0

cdef inline bint full(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place)).occupancy == (<Channel>PyList_GET_ITEM(channels, place)).capacity

cdef inline long seen_from(list channels, long place) noexcept:
    return (<Channel>PyList_GET_ITEM(channels, place))._seen_from
