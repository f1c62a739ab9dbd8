"""The table of standards: sources, agreement with the reference's figures, peak bandwidths, errors."""

import math
from fractions import Fraction

import pytest
from dram_rules import ROWS, figures, parameters
from pydantic import ValidationError

from fiberscope.hw.dram import DramChannel, DramSpecification, DramStandard, standard, standards

SAME = {
    "burst": "nBL",
    "cl": "nCL",
    "cwl": "nCWL",
    "rcd_read": "nRCDRD",
    "rcd_write": "nRCDWR",
    "rp": "nRP",
    "ras": "nRAS",
    "rc": "nRC",
    "ccd_s": "nCCDS",
    "ccd_l": "nCCDL",
    "rrd_s": "nRRDS",
    "rrd_l": "nRRDL",
    "faw": "nFAW",
    "wr": "nWR",
    "wtr_s": "nWTRS",
    "wtr_l": "nWTRL",
    "rfc": "nRFC",
    "refi": "nREFI",
}
SINGLE_BANKS = {"rfc_bank": "nRFCpb", "rrefd": "nRREFD"}


@pytest.mark.parametrize("name", standards())
def test_a_row_says_where_it_is_from_and_repeats_the_reference(name: str) -> None:
    row = standard(name)
    reference = figures(name)
    assert row.source
    timing = row.timing.model_dump()
    assert {key: timing[key] for key in SAME} == {key: reference[other] for key, other in SAME.items()}
    assert row.timing.rtp == reference.get("nRTPL", reference.get("nRTP"))
    assert row.timing.rtw == reference.get(
        "nRTW", reference["nCL"] + reference["nBL"] + 2 - reference["nCWL"]
    )


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("DDR")])
def test_refreshes_of_single_banks_repeat_the_reference(name: str) -> None:
    """Its interval is rounded up to a cycle; HBM3's is that of a bank of either pseudo-channel at once."""
    row, reference = standard(name), figures(name)
    timing = row.timing.model_dump()
    assert {key: timing[key] for key in SINGLE_BANKS} == {
        key: reference[other] for key, other in SINGLE_BANKS.items()
    }
    together = 2 if name.startswith("HBM3") else 1
    assert math.ceil(row.timing.refi / row.organisation.total_banks * together) == reference["nREFIpb"]


def test_ddr4_refreshes_no_bank_singly() -> None:
    message = r"refresh must be all_bank or off \(DDR4_2133 refreshes no bank singly\), not per_bank"
    with pytest.raises(ValueError, match=message):
        DramSpecification("DDR4_2133", refresh="per_bank")


def test_every_row_is_compared() -> None:
    assert set(ROWS) == set(standards())


@pytest.mark.parametrize("family", ["HBM1", "HBM2", "HBM3"])
def test_organisations_repeat_the_reference(family: str) -> None:
    of_family = {name: preset for name, (other, preset) in ROWS.items() if other == family and preset}
    assert of_family
    for name, preset in of_family.items():
        reference = parameters()[family]["org_presets"][preset.split("/")[0]]
        organisation = standard(name).organisation
        assert organisation.pseudo_channels == reference.get("pseudochannel", 1)
        assert (organisation.bank_groups, organisation.banks) == (reference["bankgroup"], reference["bank"])
        assert (organisation.rows, organisation.columns) == (reference["row"], reference["column"])
        assert organisation.width == reference["channel_width"]
        assert organisation.prefetch == parameters()[family]["internal_prefetch_size"]


def test_a_row_without_a_source_is_refused() -> None:
    row = standard("HBM2_2000").model_dump()
    with pytest.raises(ValidationError, match="source"):
        DramStandard(**{**row, "source": ""})
    del row["source"]
    with pytest.raises(ValidationError, match="source"):
        DramStandard(**row)


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("HBM1_1000", 16),
        ("HBM1_2000", 32),
        ("HBM2_1600", Fraction("25.6")),
        ("HBM2_2000", 32),
        ("HBM2_2400", Fraction("38.4")),
        ("HBM3_6400", Fraction("51.2")),
        ("DDR4_2133", Fraction("17.064")),
    ],
)
def test_peak_bandwidth(name: str, gigabytes: Fraction | int) -> None:
    assert standard(name).bytes_per_second == gigabytes * 10**9


def test_the_peak_of_a_gamma_channel_is_8_gib_a_second() -> None:
    channel = DramSpecification(standard="HBM1_1000", width=64, hertz=512 * 2**20, channels=16)
    assert channel.bytes_per_second == 8 * 2**30
    assert channel.bursts == 4


def test_on_a_faster_clock_the_array_takes_as_many_nanoseconds() -> None:
    slow = standard("HBM1_1000")
    fast = slow.at(512 * 2**20)
    assert (slow.timing.cl, fast.timing.cl) == (7, 8)  # 14 ns
    assert fast.timing.ccd_l == slow.timing.ccd_l
    assert fast.timing.refi == 2093  # 3.9 us, rounded down
    assert slow.at(slow.hertz) == slow


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="no DRAM standard HBM2; did you mean HBM2_"):
        DramSpecification(standard="HBM2")
    with pytest.raises(ValueError, match="no address map MOP4; did you mean MOP4CLXOR"):
        DramSpecification(address_map="MOP4")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("request_bytes", 48, "request_bytes must be a multiple or a divisor of a burst .32., not 48"),
        ("read_queue", 1, "read_queue must be at least the 2 bursts of a request, not 1"),
        ("width", 0, "width must be above 0, with whole bytes in a burst, not 0"),
        ("write_high", 0.1, "write_low, write_high must be 0 <= low < high <= 1"),
        ("interleave_bytes", 96, "interleave_bytes must be a multiple of 64, not 96"),
        ("scheduler", "random", "scheduler must be frfcfs, row_hit_first or fcfs, not random"),
        ("page_policy", "shut", "page_policy must be open or closed, not shut"),
        ("refresh", "never", "refresh must be all_bank, per_bank, per_bank_lookahead or off, not never"),
        ("channels", 0, "channels must be at least 1, not 0"),
    ],
)
def test_a_specification_that_cannot_be_built_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DramSpecification(**{field: value})  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(("field", "value"), [("columns", 2), ("columns", 12), ("banks", 3)])
def test_a_device_without_powers_of_two_is_refused(field: str, value: int) -> None:
    device = standard("HBM2_2000")
    organisation = device.organisation.model_copy(update={field: value})
    specification = DramSpecification(device.model_copy(update={"organisation": organisation}))
    with pytest.raises(ValueError, match="an address map needs a power of two of"):
        DramChannel("dram", specification)
