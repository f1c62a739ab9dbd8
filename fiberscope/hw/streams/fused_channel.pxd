# Written by hand: C inlines the functions, which the modules of a fused chain call for each token.

cdef inline long slot(long* words, long channel, long number) noexcept:
    return words[channel + 3] + ((number & words[channel + 4]) << 2)

cdef inline long head(long* words, long channel) noexcept:
    return slot(words, channel, words[channel + 1])

cdef inline bint is_empty(long* words, long channel) noexcept:
    return words[channel] == words[channel + 1]

cdef inline long arrival(long* words, long channel) noexcept:
    return 1152921504606846976 if is_empty(words, channel) else words[head(words, channel) + 1]

cdef inline long token(long* words, long channel) noexcept:
    return words[head(words, channel)]

cdef inline double value(long* words, double* values, long channel) noexcept:
    return values[head(words, channel) + 2]

cdef inline void pop(long* words, long channel, long cycle) noexcept:
    words[head(words, channel) + 3] = cycle
    words[channel + 1] += 1

cdef inline void push(long* words, double* values, long channel, long cycle, long pushed, double number) noexcept:
    cdef long start = slot(words, channel, words[channel])
    words[start] = pushed
    words[start + 1] = cycle + words[channel + 5]
    values[start + 2] = number
    words[channel] += 1

cdef inline long free_from(long* words, long channel) noexcept:
    cdef long number = words[channel] - words[channel + 2]
    if number < 0:
        return 0
    if number >= words[channel + 1]:
        return 1152921504606846976
    return words[slot(words, channel, number) + 3] + 1
