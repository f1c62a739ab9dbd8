/* What a run cost: energy and area, a bar a component, and what neither covers. */
const Costs = (() => {
  const KINDS = [
    ["energy", "pJ", "Energy"],
    ["area", "um2", "Area"],
  ];

  /* The whole of a component's energy is that of its actions. */
  const whole = ([name, cost]) => [name, typeof cost === "number" ? cost : d3.sum(Object.values(cost))];

  /* `most` is where the axis ends, that two charts beside one another have the same. */
  function draw(bars, unit, width, most, label) {
    return Plot.plot({
      width,
      height: 52 + 22 * bars.length,
      marginLeft: Bars.margin(width),
      marginTop: 6,
      marginRight: 80,
      marginBottom: 42,
      style: Chart.style,
      ariaLabel: label,
      x: { domain: [0, most], ticks: 2, tickFormat: Format.tick(unit), label: null, grid: true },
      y: { domain: bars.map(([name]) => name), label: null, tickSize: 0, padding: 0.2 },
      marks: [
        Plot.barX(bars, { x: "1", y: "0", fill: Chart.SERIES[0], ariaHidden: "true" }),
        Plot.text(bars, {
          x: "1",
          y: "0",
          text: ([, cost]) => Format.value(cost, unit),
          textAnchor: "start",
          dx: 5,
        }),
      ],
    });
  }

  function table(rows, unit, all) {
    const lines = rows.flatMap(([name, cost]) =>
      typeof cost === "number" ? [[name, "", cost]] : Object.entries(cost).map((one) => [name, ...one]),
    );
    const numbers = [
      { text: "cost", number: true, unit },
      { text: "of all", number: true, unit: "share" },
    ];
    return tabular(
      "",
      ["component", "action", ...numbers],
      lines.map((line) => [...line, line[2] / all]),
    );
  }

  const sums = (told, kind) => (told[kind] ?? []).map(whole);

  function chart(told, [kind, unit, title], which, width, most) {
    const name = `${title} by component${which}`;
    const bars = sums(told, kind);
    if (!bars.length) return Chart.nothing(name, `The report has none. ${told.unpriced}`);
    const all = d3.sum(bars, ([, cost]) => cost);
    const without = told[`${kind}_without`];
    const caption = `${Format.value(all, unit)} in all${without.length ? `, a lower bound: without ${without.join(", ")}` : ""}.`;
    const make = () => table(told[kind], unit, all);
    return Chart.frame(name, draw(bars, unit, width, most, name), caption, make);
  }

  /* Charts of these runs, [which it is, its costs], energy before area; those of a kind end at the same value. */
  function show(runs, place) {
    const width = Chart.width(place > 880 ? (place - 16) / 2 : place);
    const charts = KINDS.map((kind) => {
      const most = d3.max(runs, ([, told]) => d3.max(sums(told, kind[0]), ([, cost]) => cost));
      return runs.map(([which, told]) => chart(told, kind, which, width, most));
    });
    return element("div", { class: "pair" }, charts);
  }

  return { show };
})();
