"""A bench whose only test is skipped, which must count as a failure."""

import cocotb


@cocotb.test(skip=True)
async def skipped(_dut):
    pass
