/* What a run cost: energy and area, a bar a component with a line to its upper end, and what neither covers. */
const Costs = (() => {
  const KINDS = [
    ["energy", "pJ", "Energy"],
    ["area", "um2", "Area"],
  ];

  /* The sum of some parts, [component, part, known, upper, basis]; its upper end is null if a part has none. */
  const sum = (parts) => ({
    known: d3.sum(parts, (part) => part[2]),
    upper: parts.some((part) => part[3] === null) ? null : d3.sum(parts, (part) => part[3]),
  });

  const sums = (told, kind) =>
    d3.groups(told[kind]?.parts ?? [], (part) => part[0]).map(([name, parts]) => ({ name, ...sum(parts) }));

  const WIDE = 480; // from which a label has both ends

  /* What is known of a cost and its upper end; `+` is behind a lower bound. */
  function interval({ known, upper }, unit, width) {
    if (upper === null) return `${Format.value(known, unit)}+`;
    const end = Format.value(upper, unit);
    if (known === upper) return end;
    return width < WIDE ? `to ${end}` : `${Format.value(known, unit)} to ${end}`;
  }

  /* `most` is where the axis ends, that two charts beside one another have the same. */
  function draw(bars, unit, width, most, label) {
    // A narrow chart has space for two labels.
    const ticks = d3.ticks(0, most, 2).filter((_, at, all) => width >= WIDE || at === 0 || at === all.length - 1);
    const bounded = bars.filter(({ upper }) => upper !== null);
    return Plot.plot({
      width,
      height: 52 + 22 * bars.length,
      marginLeft: Bars.margin(width),
      marginTop: 6,
      marginRight: width < WIDE ? 100 : 170,
      marginBottom: 42,
      style: Chart.style,
      ariaLabel: label,
      x: { domain: [0, most], ticks, tickFormat: Format.tick(unit), label: null, grid: true },
      y: { domain: bars.map(({ name }) => name), label: null, tickSize: 0, padding: 0.2 },
      marks: [
        Plot.barX(bars, { x: "known", y: "name", fill: Chart.SERIES[0], ariaHidden: "true" }),
        Plot.ruleY(bounded, { x1: "known", x2: "upper", y: "name", stroke: "currentColor", ariaHidden: "true" }),
        Plot.tickX(bounded, { x: "upper", y: "name", inset: 5, stroke: "currentColor", ariaHidden: "true" }),
        Plot.text(bars, {
          x: ({ known, upper }) => upper ?? known,
          y: "name",
          text: (bar) => interval(bar, unit, width),
          textAnchor: "start",
          dx: 5,
        }),
      ],
    });
  }

  function table(parts, unit, all) {
    const heads = [
      { text: "cost", number: true, unit },
      { text: "up to", number: true, unit },
      { text: "of all", number: true, unit: "share" },
      { text: "basis" },
    ];
    const row = ([name, part, known, upper, basis]) => [name, part, known, upper ?? "", known / all, basis];
    return tabular("", ["component", "part", ...heads], parts.map(row));
  }

  function chart(told, [kind, unit, title], which, width, most) {
    const name = `${title} by component${which}`;
    const bars = sums(told, kind);
    if (!bars.length) return Chart.nothing(name, `The report has none. ${told.unpriced}`);
    const { parts, upper, without } = told[kind];
    const { known } = sum(parts);
    const end = upper === null ? " in all, a lower bound" : ` to ${Format.value(upper, unit)} in all`;
    const lacking = without.length ? `: without ${without.join(", ")}` : "";
    const caption = `${Format.value(known, unit)}${end}${lacking}.`;
    const make = () => table(parts, unit, known);
    return Chart.frame(name, draw(bars, unit, width, most, name), caption, make);
  }

  /* Charts of these runs, [which it is, its costs], energy before area; those of a kind end at the same value. */
  function show(runs, place) {
    const width = Chart.width(place > 880 ? (place - 16) / 2 : place);
    const charts = KINDS.map((kind) => {
      const most = d3.max(runs, ([, told]) => d3.max(sums(told, kind[0]), ({ known, upper }) => upper ?? known));
      return runs.map(([which, told]) => chart(told, kind, which, width, most));
    });
    return element("div", { class: "pair" }, charts);
  }

  return { show };
})();
