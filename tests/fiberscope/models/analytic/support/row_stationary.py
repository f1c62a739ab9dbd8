"""A small convolution on a grid of elements, as users of Timeloop and its front end write it."""

PROBLEM = """
problem:
  version: 0.4
  shape:
    name: Convolution
    dimensions: [C, M, R, P]
    coefficients: [{name: Stride, default: 1}]
    data_spaces:
      - {name: Weights, projection: [[[C]], [[M]], [[R]]]}
      - {name: Inputs, projection: [[[C]], [[R], [P, Stride]]]}
      - {name: Outputs, projection: [[[M]], [[P]]], read_write: True}
  instance:
    {C: 4, M: "8", R: 3, P: 010, Padding: 0, densities: {Inputs: {density: 0.5, workload_tensor_size: 0}}}
"""

MACHINE = """
architecture:
  version: 0.4
  nodes:
    - !Container {name: system, attributes: {technology: "45nm", datawidth: 8}}
    - !Component {name: Memory, class: DRAM, attributes: {width: 64}}
    - !Component
      name: Buffer
      class: storage
      subclass: smartbuffer_metadata
      attributes: {width: 64, depth: 512, read_bandwidth: "16", metadata_counter_width: 9}
      constraints: {dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}}
    - !Container
      name: Column
      spatial: {meshX: 4}
      constraints: {spatial: {factors: [C=1, R=1, P=4, M=1], permutation: [C, R, P, M], split: 4}}
    - !Container
      name: Element
      spatial: {meshY: 6}
      constraints: {spatial: {factors: [C=1, R=3, P=1, M=2], permutation: [C, P, R, M], split: 0}}
    - !Parallel
      nodes:
        - !Component
          name: InputPad
          class: storage
          attributes: {depth: 8, nports: 2}
          constraints: {dataspace: {keep: [Inputs]}}
        - !Component
          name: WeightPad
          class: storage
          attributes: {depth: 32, read_bandwidth: 2}
          constraints: {dataspace: {keep: [Weights]}}
          sparse_optimizations:
            action_optimization: [{type: gating, options: [{target: Weights, condition_on: [Inputs]}]}]
        - !Component
          name: SumPad
          class: storage
          attributes: {depth: 16}
          constraints: {dataspace: {keep: [Outputs]}}
    - !Component {name: mac, class: intmac, attributes: {multiplier_width: 8, adder_width: 16}}
"""

MAPPING = """
mapping:
  - {target: Memory, type: temporal, factors: [C=2, M=1, R=1, P=1], permutation: [C, M, R, P]}
  - {target: Buffer, type: temporal, factors: C=1 M=1 R=1 P=0, permutation: CMRP}
  - {target: Column, type: spatial, factors: [C=1, R=1, P=4, M=1], permutation: [C, R, P, M], split: 4}
  - {target: Element, type: spatial, factors: [C=1, R=0, P=1, M=2], permutation: [C, P, R, M], split: 0}
  - {target: WeightPad, type: temporal, factors: [C=2, M=1, R=1, P=1], permutation: [C, M, R, P]}
  - {target: SumPad, type: temporal, factors: [C=1, M=4, R=1, P=1], permutation: [C, R, P, M]}
"""


def _component(name: str, kind: str, mesh: tuple[int, int], attributes: str) -> str:
    count = mesh[0] * mesh[1]
    return (
        f'          - {{name: "{name}[1..{count}]", class: {kind}, enabled: true, required_actions: [read], '
        f"attributes: {{{attributes}, meshX: {mesh[0]}, meshY: {mesh[1]}, n_banks: 2, power_gated_at: null, "
        'has_power_gating: false, technology: "45nm"}}\n'
    )


_STORAGE = (
    "datawidth: 8, cluster_size: 1, multiple_buffering: 1, min_utilization: 0, reduction_supported: true"
)
_DUMMY = "width: 1, depth: 1, datawidth: 1, technology_: -1"
_ALL = "[Weights, Inputs, Outputs]"

PROCESSED = (
    """
dumped_by_timeloop_front_end: true
architecture:
    version: '0.4'
    subtree:
      - name: system_top_level
        attributes: {version: '0.4', technology: "45nm", global_cycle_seconds: 1e-9}
        local:
"""
    + _component("Memory", "DRAM", (1, 1), f"{_STORAGE}, width: 64")
    + _component(
        "Buffer",
        "storage",
        (1, 1),
        f"{_STORAGE}, width: 64, depth: 512, read_bandwidth: 16, write_bandwidth: 16",
    )
    + _component("inter_Column_spatial", "dummy_storage", (1, 1), _DUMMY)
    + _component("inter_Element_spatial", "dummy_storage", (4, 1), _DUMMY)
    + _component("InputPad", "storage", (4, 6), f"{_STORAGE}, depth: 8")
    + _component("WeightPad", "storage", (4, 6), f"{_STORAGE}, depth: 32, read_bandwidth: 2")
    + _component("SumPad", "storage", (4, 6), f"{_STORAGE}, depth: 16")
    + _component("mac", "intmac", (4, 6), "datawidth: 8, multiplier_width: 8")
    + f"""
architecture_constraints:
    targets:
      - {{target: Memory, type: temporal, factors: "C=2,M=1,R=1,P=1", permutation: CMRP}}
      - {{target: Buffer, type: bypass, keep: [Inputs, Outputs], bypass: [Weights]}}
      - {{target: Buffer, type: temporal, factors: "C=1,M=1,R=1,P=0", permutation: CMRP}}
      - {{target: inter_Column_spatial, type: spatial, factors: "C=1,P=4,M=1", permutation: CRPM, split: 4}}
      - {{target: inter_Column_spatial, type: temporal, factors: "C=1,M=1,R=1,P=1", permutation: CMRP}}
      - {{target: inter_Column_spatial, type: bypass, bypass: {_ALL}}}
      - {{target: inter_Element_spatial, type: spatial, factors: "R=0,P=1,M=2", permutation: CPRM, split: 0}}
      - {{target: inter_Element_spatial, type: bypass, bypass: {_ALL}}}
      - {{target: InputPad, type: bypass, keep: [Inputs], bypass: [Weights, Outputs]}}
      - {{target: WeightPad, type: bypass, keep: [Weights], bypass: [Inputs, Outputs]}}
      - {{target: WeightPad, type: temporal, factors: "C=2,M=1,R=1,P=1", permutation: CMRP}}
      - {{target: SumPad, type: bypass, keep: [Outputs], bypass: [Weights, Inputs]}}
      - {{target: SumPad, type: temporal, factors: "C=1,M=4,R=1,P=1", permutation: CRPM}}
compound_components: {{version: '0.4', classes: [{{name: intmac, attributes: {{technology: must_specify}}}}]}}
mapping: []
sparse_optimizations:
    targets:
      - name: WeightPad
        action_optimization: [{{type: gating, options: [{{target: Weights, condition_on: [Inputs]}}]}}]
mapper: {{version: '0.4', algorithm: random, search_size: null}}
mapspace: {{version: '0.4', template: uber}}
globals: {{version: '0.4', environment_variables: {{}}}}
"""
    + PROBLEM
)
