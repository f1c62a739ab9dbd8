/* Bars of components: what share of their cycles they were busy, waited for input, for output, were idle. */
const Bars = (() => {
  const STATES = [
    ["busy", "var(--busy)"],
    ["waiting for input", "var(--input-stall)"],
    ["waiting for output", "var(--output-stall)"],
    ["idle", "var(--idle)"],
  ];

  /* Pixels for the names of components, fewer where there is little room. */
  const margin = (width) => Math.min(195, width / 2);

  const legend = () =>
    element(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      STATES.map(([state, colour]) => {
        const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("aria-hidden", "true");
        svg
          .append("rect")
          .attr("width", 14)
          .attr("height", 14)
          .attr("fill", colour)
          .attr("stroke", "var(--soft)");
        return element("li", {}, svg.node(), state);
      }),
    );

  /* `bars` are { key, label, shares }; a bar's label may stand for several bars, its key for one. */
  function draw(bars, width, marginLeft) {
    const pieces = bars.flatMap((bar) => bar.shares.map((share, state) => ({ ...bar, share, state })));
    const labels = new Map(bars.map((bar) => [bar.key, bar.label]));
    return Plot.plot({
      width,
      height: 52 + 22 * bars.length,
      marginLeft,
      marginTop: 6,
      marginRight: 24,
      marginBottom: 42,
      style: Chart.style,
      ariaLabel: "Where the cycles went, a bar each",
      x: {
        domain: [0, 1],
        tickFormat: "%",
        ticks: width - marginLeft < 260 ? 2 : 5,
        label: "share of the cycles",
        labelAnchor: "right",
      },
      y: {
        domain: bars.map((bar) => bar.key),
        tickFormat: (key) => labels.get(key),
        label: null,
        tickSize: 0,
        padding: 0.2,
      },
      marks: [
        Plot.barX(pieces, {
          x: "share",
          y: "key",
          fill: (piece) => STATES[piece.state][1],
          stroke: "var(--ground)",
          strokeWidth: 0.7,
          insetLeft: 0.5,
          order: null,
          title: (piece) => `${piece.label}: ${STATES[piece.state][0]} ${Format.value(piece.share, "share")}`,
        }),
      ],
    });
  }

  const SHARES = STATES.map(([text]) => ({ text, number: true, unit: "share" }));

  const table = (bars, first) =>
    tabular(
      "",
      [first, ...SHARES],
      bars.map((bar) => [bar.label, ...bar.shares]),
    );

  /* A bar a kind of component of one run; nothing where it counts no cycles of components. */
  function ofRun(run, title, width, ...more) {
    const bars = Data.families(run).map(({ name, count, shares }) => ({
      key: name,
      label: count > 1 ? `${name} x${count}` : name,
      shares,
    }));
    if (!bars.length) return Chart.nothing(title, run.reason || "It counts no cycles of components.");
    return Chart.frame(title, draw(bars, width, margin(width)), "", () => table(bars, "components"), ...more);
  }

  return { STATES, SHARES, legend, draw, margin, table, ofRun };
})();
