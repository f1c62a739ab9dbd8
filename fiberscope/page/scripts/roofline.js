/* The roofline: operations a second over operations a byte of traffic, under what memory and workers could do. */
const Roofline = (() => {
  const X = { name: "intensity", label: "operations a byte of traffic", unit: "", type: "number", role: "measure" };
  const Y = { name: "operations_per_second", label: "operations a second", unit: "ops/s", type: "number", role: "measure" };
  const BANDWIDTH = "memory_peak_bytes_per_second", WORKERS = "workers_peak_per_second";
  const MOST_ROOFS = 6;

  const known = (run) => run[X.name] > 0 && run[Y.name] > 0;

  const once = (roofs) => [...new Map(roofs.map((roof) => [roof.map((peak) => peak && peak.toPrecision(2)).join(), roof])).values()];

  /* The roofs over these runs, each once; of too many only the slopes, and all of the run that is looked at. */
  function roofs(runs) {
    const under = runs.filter((run) => run[BANDWIDTH]), pair = (run) => [run[BANDWIDTH], run[WORKERS] ?? null];
    const all = once(under.map(pair));
    if (all.length <= MOST_ROOFS) return { over: all, hidden: 0 };
    const chosen = under.filter((run) => run.id === View.get("run")).map(pair);
    const slopes = once(under.map((run) => [run[BANDWIDTH], null])).slice(0, MOST_ROOFS);
    return { over: [...slopes, ...chosen], hidden: all.length - chosen.length };
  }

  const height = (intensity, [bandwidth, workers]) => Math.min(intensity * bandwidth, workers ?? Infinity);

  function outline(roof, [least, most]) {
    const ridge = roof[1] ? roof[1] / roof[0] : most;
    return [least, ...(ridge > least && ridge < most ? [ridge] : []), most].map((intensity) => ({ intensity, height: height(intensity, roof) }));
  }

  function show(runs, width) {
    const shown = runs.filter(known);
    if (!shown.length) return Chart.nothing("Roofline", "No run that is shown has both operations and traffic.");
    const groups = Chart.groups(Study.groupBy(), shown);
    const { over, hidden } = roofs(shown);
    const [low, high] = d3.extent(shown, (run) => run[X.name]), across = [low / 2, high * 2];
    const lines = over.map((roof) => outline(roof, across));
    const x = Chart.scale(X, across, { logarithm: "always" }), y = Chart.scale(Y, [...shown.map((run) => run[Y.name]), ...lines.flat().map((point) => point.height)], { logarithm: "always" });
    const svg = Plot.plot({
      width: Chart.width(width), height: 440, marginLeft: 90, marginBottom: 44, style: Chart.style, ariaLabel: "Roofline", x, y,
      marks: [
        ...Chart.axes([X, x], [Y, y]),
        ...lines.map((line) => Plot.line(line, { x: "intensity", y: "height", stroke: "var(--soft)", strokeWidth: 2, ariaHidden: "true" })),
        ...Points.dots(groups, X, Y),
      ],
    });
    const readout = Points.bind(svg, groups, "Roofline", "roof");
    const rows = () => plainTable("Roofline", ["run", ...[X.label, Y.label, "roof there", "reached"].map((text) => ({ text, number: true }))], shown.map((run) => {
      const roof = run[BANDWIDTH] ? height(run[X.name], [run[BANDWIDTH], run[WORKERS] ?? null]) : null;
      return [`${run.number}: ${Data.name(run)}`, Format.value(run[X.name]), Format.value(run[Y.name], Y.unit), Format.value(roof, Y.unit), roof ? Format.value(run[Y.name] / roof, "share") : ""];
    }));
    return [element("div", { class: "controls" }, Study.groupChooser()), Chart.frame("Roofline", svg, caption(hidden), rows, Chart.legend(groups), readout)];
  }

  function caption(hidden) {
    const fewer = hidden ? ` The runs have ${hidden} more flat parts, too many to draw: look at a run to see its own.` : "";
    return `Operations are multiplications, or what else is the work. The slope is the memory's peak bandwidth; the flat part is what the workers would do at this run's rate if they were never without work.${fewer}`;
  }

  return { show };
})();
