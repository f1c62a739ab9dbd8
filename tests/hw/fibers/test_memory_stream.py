"""The stream of lines of a memory: a job is done with the line of its last byte, after all jobs before it."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from memory_stub import MemoryStub

from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.memory.protocol import READ
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource

LINE = 64


@given(
    jobs=st.lists(st.sampled_from([0, 1, 8, 63, 64, 65, 100, 128, 300]), min_size=1, max_size=8),
    lines=st.integers(1, 4),
    most_jobs=st.integers(1, 3),
    latencies=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    slow=st.lists(st.integers(0, 5), min_size=1, max_size=3),
)
def test_a_job_is_done_when_the_line_of_its_last_byte_has_arrived(jobs, lines, most_jobs, latencies, slow):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    stream = kernel.add(
        MemoryStream("stream", READ, 1, 0, 0, line_bytes=LINE, lines=lines, most_jobs=most_jobs)
    )
    source = kernel.add(StreamSource("source", [(0, size, 0, 0.0) for size in jobs]))
    memory, sink = kernel.add(MemoryStub("memory", latencies)), kernel.add(StreamSink("sink", slow))
    kernel.connect(source, "out", stream, "jobs", capacity=2)
    kernel.connect(stream, "requests", memory, "requests", capacity=2)
    kernel.connect(memory, "replies", stream, "replies", capacity=2)
    kernel.connect(stream, "done", sink, "in", capacity=2)
    kernel.build()
    done, replies = stream.channel("done"), stream.channel("replies")
    needed = [-(-size // LINE) for size in accumulate(jobs)]  # lines, by job
    while kernel.step():
        assert all(lines_before <= replies.pops for lines_before in needed[: done.pushes])
    assert done.pushes == len(jobs)
    assert replies.pops == needed[-1]
