"""A specification that has something of every section, for tests to break."""

WHOLE = """\
symbols:
  K1: 64
einsum:
  declaration:
    A: [K, M]
    B: [K, N]
    Z: [M, N]
  expressions:
    - Z[m, n] = A[k, m] * B[k, n]
mapping:
  partitioning:
    Z:
      K: [uniform_shape(K1), uniform_occupancy(A.16)]
  loop-order:
    Z: [K2, M, N, K1, K0]
  spacetime:
    Z:
      space: [M]
      time: [K2, N, K1, K0]
format:
  A:
    default:
      rank-order: [K2, M, K1, K0]
      M: {format: C, cbits: 32, pbits: 32}
      K0: {format: C, layout: interleaved, cbits: 32, pbits: 64}
architecture:
  Machine:
    - name: Chip
      attributes:
        clock_frequency: 1 GHz
      local:
        - name: Memory
          class: DRAM
          attributes: {bandwidth: 8 GB/s}
      subtree:
        - name: PE[0..3]
          local:
            - name: Buffer
              class: Buffet
              attributes: {width: 128}
            - name: ALU
              class: Compute
              attributes: {type: [mul, add]}
            - name: Meet
              class: Intersector
              attributes: {type: leader-follower}
bindings:
  Z:
    - config: Machine
    - component: Memory
      bindings:
        - {tensor: A, rank: K0, type: elem, format: default}
    - component: Buffer
      bindings:
        - {tensor: A, rank: K0, type: elem, format: default, evict-on: M}
    - component: ALU
      bindings:
        - op: mul
        - op: add
    - component: Meet
      bindings:
        - {rank: K0, leader: A}
"""
