"""What the seeds of the stream machine's blocks reach; see ``coverage``."""

from typing import Any

from fiberscope.hw.rtl.kit.sram import MEMORY_KINDS
from fiberscope.hw.streams.absent_values_rtl import KNOWN, NEEDS


def _missing(port: str) -> Any:
    return lambda run: any(
        name.partition("[")[0] == port for name, cycles in run.block.input_stall.items() if cycles
    )


def _full(port: str) -> Any:
    return lambda run: any(cycles for name, cycles in run.block.output_stall.items() if name == f"{port}[0]")


def _joins(counter: str) -> dict[str, Any]:
    return {
        f"{ways} operands": lambda run, ways=ways: run.given.ways == ways and run.counted(counter) > 5
        for ways in (2, 3, 4, 8)
    } | {
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55 and run.counted(counter) > 5,
        "coordinates missing": _missing("in_crd"),
        "references missing": _missing("in_ref"),
        "no space for coordinates": _full("out_crd"),
        "no space for the second references": _full("out_ref1"),
    }


STREAM_BINS = {
    "compressed_scanner": {
        "all 40 fibers": lambda run: run.given.fibers == 40 and run.counted("fibers") == 40,
        **{
            f"{memory} memory": lambda run, memory=memory: (
                run.given.memory == memory and run.counted("out_crd_data") > 100
            )
            for memory in MEMORY_KINDS
        },
        "positions above 1023": lambda run: run.most["position"] > 1023,
        "one element": lambda run: run.given.elements == 1 and run.counted("out_crd_data") > 0,
        "coordinates of 55 bits": lambda run: (
            run.given.coordinate_bits == 55 and run.counted("out_crd_data") > 0
        ),
        "a reference missing": _missing("in_ref"),
        "no space for coordinates": _full("out_crd"),
        "no space for references": _full("out_ref"),
    },
    "dense_scanner": {
        "no coordinates": lambda run: run.given.size == 0 and run.counted("out_crd_stops") > 10,
        "one coordinate": lambda run: run.given.size == 1 and run.counted("out_crd_data") > 10,
        "1000 coordinates": lambda run: run.given.size == 1000 and run.counted("out_crd_data") > 1000,
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55,
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "a reference missing": _missing("in_ref"),
        "no space for coordinates": _full("out_crd"),
        "no space for references": _full("out_ref"),
    },
    "coordinate_hold": {
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55,
        "empty tokens": lambda run: run.counted("out_outer_empties") > 10,
        "lists of lists": lambda run: run.counted("out_outer_stops") > 10,
        "an outer token missing": _missing("in_outer"),
        "an inner token missing": _missing("in_inner"),
        "no space for outer tokens": _full("out_outer"),
        "no space for inner tokens": _full("out_inner"),
    },
    "repeat_signal": {
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55,
        "long fibers": lambda run: run.counted("longest_fiber") > 10,
        "a coordinate missing": _missing("in_crd"),
        "no space behind": _full("out_repsig"),
    },
    "repeater": {
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "empty references": lambda run: run.counted("out_ref_empties") > 10,
        "a reference missing": _missing("in_ref"),
        "a signal missing": _missing("in_repsig"),
        "no space behind": _full("out_ref"),
    },
    "array": {
        "values of 53 bits": lambda run: run.given.value_bits == 53 and run.counted("loads") > 100,
        "more than 200 addresses": lambda run: run.counted("addresses") > 200,
        "one entry": lambda run: run.given.entries == 1 and run.counted("loads") > 1,
        **{
            f"{memory} memory": lambda run, memory=memory: (
                run.given.memory == memory and run.counted("loads") > 100
            )
            for memory in MEMORY_KINDS
        },
        "a reference missing": _missing("in_ref"),
        "no space behind": _full("out_val"),
    },
    "marked_array": {
        "an infinite value": lambda run: run.given.infinite and run.counted("loads") > 10,
        "a whole number": lambda run: run.given.values == "integer" and run.given.empty < 0,
        "more than 200 addresses": lambda run: run.counted("addresses") > 200,
        "a reference missing": _missing("in_ref"),
        "no space behind": _full("out_val"),
    },
    "filling_alu": {
        operation: lambda run, operation=operation: (
            run.given.operation == operation and run.counted("operations") > 100
        )
        for operation in KNOWN
    }
    | {
        f"results that need {needs}, {values}": lambda run, needs=needs, values=values: (
            (run.given.needs, run.given.values) == (needs, values) and run.counted("operations") > 50
        )
        for needs in NEEDS
        for values in ("integer", "float32")
    }
    | {
        "an infinite value": lambda run: run.given.infinite and run.counted("operations") > 50,
        "an operand missing": _missing("in_val"),
        "no space behind": _full("out_val"),
    },
    "fiber_intersect": _joins("matches") | {"long runs": lambda run: run.counted("longest_run") > 10},
    "fiber_union": _joins("partial")
    | {
        "all have it": lambda run: run.counted("common") > 5,
        "empty references": lambda run: run.counted("out_ref0_empties") > 20,
    },
    "alu": {
        operation: lambda run, operation=operation: (
            run.given.operation == operation and run.counted("operations") > 100
        )
        for operation in ("mul", "add", "sub", "max", "min", "take")
    }
    | {
        "results of 52 bits": lambda run: run.given.result_bits == 52 and run.counted("operations") > 100,
        "an operand missing": _missing("in_val"),
        "no space behind": _full("out_val"),
    },
    "scalar_reducer": {
        f"{operation}, empty fibers: {fibers}": lambda run, operation=operation, fibers=fibers: (
            (run.given.operation, run.given.empty_fibers) == (operation, fibers)
            and run.counted("nonzeros") > 10
        )
        for operation in ("sum", "max", "min")
        for fibers in ("keep", "drop", "mark")
    }
    | {
        "results of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("nonzeros") > 10,
        "zeros": lambda run: run.counted("zeros") > 10,
        "a value missing": _missing("in_val"),
        "no space behind": _full("out_val"),
    },
    "fiber_reducer": {
        "coordinates of 55 bits": lambda run: (
            run.given.coordinate_bits == 55 and run.counted("nonzeros") > 10
        ),
        "results of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("nonzeros") > 10,
        "empty fibers": lambda run: run.counted("zeros") > 10,
        "lists of lists": lambda run: run.counted("out_val_stops") > 10,
        "a coordinate missing": _missing("in_crd"),
        "a value missing": _missing("in_val"),
        "no space behind": _full("out_val"),
    },
    "sparse_accumulator": {
        f"sums of order {order}": lambda run, order=order: (
            run.given.order == order and run.counted("merged") > 8
        )
        for order in (1, 2)
    }
    | {
        "all places": lambda run: run.counted("elements") == run.given.points > 1,
        "many values of a point": lambda run: run.counted("most_points") > 20,
        "rows": lambda run: run.given.order == 1 and run.counted("out_crd_inner_stops") > 5,
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55 and run.counted("merged") > 5,
        "sums of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("merged") > 10,
        "an outer coordinate missing": _missing("in_crd_outer"),
        "an inner coordinate missing": _missing("in_crd_inner"),
        "a value missing": _missing("in_val"),
        "no space for outer coordinates": _full("out_crd_outer"),
        "no space for inner coordinates": _full("out_crd_inner"),
        "no space for values": _full("out_val"),
    },
    "tensor_accumulator": {
        f"{ways} coordinates": lambda run, ways=ways: run.given.ways == ways and run.counted("elements") > 2
        for ways in (1, 2, 3, 4, 8)
    }
    | {
        "all places": lambda run: run.counted("elements") == run.given.points > 1,
        "tasks": lambda run: run.given.flushes == 1 and run.counted("out_crd0_stops") > 10,
        "three sorted": lambda run: run.given.kept == 3 and run.counted("elements") > 3,
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55 and run.counted("elements") > 5,
        "sums of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("elements") > 10,
        "a coordinate missing": _missing("in_crd"),
        "a value missing": _missing("in_val"),
        "no space for coordinates": _full("out_crd0"),
        "no space for values": _full("out_val"),
    },
    "stop_dropper": {
        f"stops of {carries}": lambda run, carries=carries: (
            run.given.carries == carries and run.counted("dropped") > 10
        )
        for carries in ("coordinates", "values")
    }
    | {
        "some stops stay": lambda run: run.counted("dropped") > 5 and run.counted("out_stream_stops") > 5,
        "empty tokens": lambda run: run.counted("out_stream_empties") > 10,
        "a token missing": _missing("in_stream"),
        "no space behind": _full("out_stream"),
    },
    "locator": {
        "in fibers": lambda run: run.given.bases == 1 and run.counted("found") > 10,
        "in one fiber": lambda run: run.given.bases == 0 and run.counted("found") > 10,
        "no coordinates": lambda run: run.given.size == 0 and run.counted("missed") > 10,
        "1000 coordinates": lambda run: run.given.size == 1000 and run.counted("found") > 10,
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55 and run.counted("found") > 10,
        "a coordinate missing": _missing("in_crd"),
        "a reference missing": _missing("in_ref"),
        "a fiber missing": _missing("in_base"),
        "no space for coordinates": _full("out_crd"),
        "no space for what is found": _full("out_ref2"),
    },
    "counter": {
        "no coordinates": lambda run: run.given.size == 0 and run.counted("out_crd_stops") > 10,
        "pieces": lambda run: run.given.piece > 1 and run.counted("out_crd_data") > 10,
        "pieces with steps": lambda run: (
            run.given.piece > run.given.step > 1 and run.counted("out_crd_data") > 10
        ),
        "1000 coordinates": lambda run: run.given.size == 1000 and run.counted("out_crd_data") > 300,
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "a reference missing": _missing("in_ref"),
        "no space for coordinates": _full("out_crd"),
        "no space for references": _full("out_ref"),
    },
    "projection": {
        f"{ways} coordinates": lambda run, ways=ways: (
            run.given.ways == ways and run.counted("out_crd_data") > 9
        )
        for ways in (1, 2, 3)
    }
    | {
        "a remainder of no power of two": lambda run: any(
            factor and divisor in (3, 7) and size == 5 for factor, divisor, size in run.given.terms
        ),
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55,
        "a coordinate missing": _missing("in_crd"),
        "no space for coordinates": _full("out_crd"),
    },
    "seek": {
        f"{along} along": lambda run, along=along: run.given.along == along and run.counted("hits") > 10
        for along in (0, 1, 2, 3, 6)
    }
    | {
        "misses": lambda run: run.counted("misses") > 20,
        "1000 words": lambda run: run.given.entries >= 1000 and run.counted("hits") > 5,
        "a coordinate missing": _missing("in_crd"),
        "a fiber missing": _missing("in_base"),
        "what travels along missing": _missing("in_carried0"),
        "no space for positions": _full("out_located"),
        "no space for what travels along": _full("out_carried0"),
    },
    "fiber_pairs": {
        "steps that skip": lambda run: run.counted("steps") > 2 * run.counted("matches") > 20,
        "several pairs of a list": lambda run: (
            run.counted("pairs") > 2 * run.counted("out_outer_stops") and run.counted("pairs") > 20
        ),
        "several matches of a pair": lambda run: run.counted("matches") > 2 * run.counted("pairs") > 20,
        "lists without a match": lambda run: 0 < run.counted("pairs") < run.counted("out_outer_stops"),
        "100 coordinates": lambda run: run.given.size >= 100 and run.counted("matches") > 10,
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "a row list missing": _missing("in_ref0"),
        "a column list missing": _missing("in_ref1"),
        "no space for rows": _full("out_outer"),
        "no space for columns": _full("out_inner"),
        "no space for positions": _full("out_ref0"),
        "no space for positions of columns": _full("out_ref1"),
    },
    "lanes": {
        f"{lanes} lanes": lambda run, lanes=lanes: run.given.lanes == lanes and run.counted("steps") > 4
        for lanes in (1, 2, 3, 8, 20, 1000)
    }
    | {
        f"{'' if sized else 'un'}sized steps": lambda run, sized=sized: (
            run.given.sized == sized and run.counted("elements") > 50
        )
        for sized in (0, 1)
    }
    | {
        "steps of several loops": lambda run: run.given.level == 2 and run.counted("steps") > 9,
        "several clock cycles": lambda run: run.given.ticks == 7 and run.counted("steps") > 9,
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "an element missing": _missing("in_stream"),
        "a size missing": _missing("in_sizes"),
        "no space": _full("out_stream"),
    },
    "lane_seek": {
        "elements without a match": lambda run: run.counted("matches") > 20 < run.counted("out_crd_stops"),
        "held fibers that stay": lambda run: 3 < run.counted("folds") < run.counted("out_crd_stops") // 3,
        "a negative factor": lambda run: run.given.factor < 0 < run.counted("matches"),
        "a part of a coordinate": lambda run: (
            run.given.divisor == 3 and run.given.modulus == 5 and run.counted("matches") > 5
        ),
        "64 banks": lambda run: run.given.banks >= 64 and run.counted("matches") > 50,
        "references of 62 bits": lambda run: run.given.reference_bits == 62,
        "a held fiber missing": _missing("in_ref0"),
        "a searched fiber missing": _missing("in_ref1"),
        "no space for coordinates": _full("out_crd"),
        "no space for held positions": _full("out_ref0"),
        "no space for positions": _full("out_ref1"),
        "no space for sizes": _full("out_sizes"),
    },
    "run_sum": {
        "many additions": lambda run: run.counted("additions") > 50,
        "runs of one": lambda run: run.counted("out_crd_data") > 50,
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55,
        "sums of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("additions") > 10,
        "a coordinate missing": _missing("in_crd"),
        "a value missing": _missing("in_val"),
        "no space for coordinates": _full("out_crd"),
        "no space for sums": _full("out_val"),
    },
    "coordinate_dropper": {
        f"{inner} within, some dropped": lambda run, inner=inner: (
            run.given.inner == inner and run.counted("dropped") > 10 and run.counted("out_inner_data") > 10
        )
        for inner in ("coordinates", "values")
    }
    | {
        "an outer token missing": _missing("in_outer"),
        "an inner token missing": _missing("in_inner"),
        "no space for outer tokens": _full("out_outer"),
        "no space for inner tokens": _full("out_inner"),
    },
    "compressed_writer": {
        "coordinates of 55 bits": lambda run: run.given.coordinate_bits == 55 and run.counted("stored") > 100,
        "a coordinate missing": _missing("in_crd"),
    },
    "values_writer": {
        "values of 53 bits": lambda run: run.given.value_bits == 53 and run.counted("stored") > 100,
        "a value missing": _missing("in_val"),
    },
}
