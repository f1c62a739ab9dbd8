/* The roofline: operations a second over operations a byte of traffic, under what memory and workers could do. */
const Roofline = (() => {
  const number = (name, label, unit) => ({ name, label, unit, type: "number", role: "measure" });
  const X = number("intensity", "operations a byte of traffic", "");
  const Y = number("operations_per_second", "operations a second", "ops/s");
  const BANDWIDTH = "memory_peak_bytes_per_second";
  const WORKERS = "workers_peak_per_second";
  const MOST_ROOFS = 6;

  const known = (run) => run[X.name] > 0 && run[Y.name] > 0;

  const roofOf = (run) => ({ bandwidth: run[BANDWIDTH], peak: run[WORKERS] ?? null });

  const once = (roofs) => [
    ...new Map(
      roofs.map((roof) => [[roof.bandwidth, roof.peak].map((each) => each?.toPrecision(2)).join(), roof]),
    ).values(),
  ];

  /* The roofs over these runs, each once; of too many only the slopes, and all of the run that is looked at. */
  function roofs(runs) {
    const under = runs.filter((run) => run[BANDWIDTH]);
    const all = once(under.map(roofOf));
    if (all.length <= MOST_ROOFS) return { over: all, hidden: 0 };
    const chosen = under.filter((run) => run.id === View.get("run")).map(roofOf);
    const slopes = once(under.map((run) => ({ ...roofOf(run), peak: null }))).slice(0, MOST_ROOFS);
    return { over: [...slopes, ...chosen], hidden: all.length - chosen.length };
  }

  function show(runs, width) {
    const shown = runs.filter(known);
    if (!shown.length)
      return Chart.nothing("Roofline", "No run that is shown has both operations and traffic.");
    const groups = Chart.groups(Study.groupBy(), shown);
    const { over, hidden } = roofs(shown);
    const [low, high] = d3.extent(shown, (run) => run[X.name]);
    const across = [low / 2, high * 2];
    const lines = over.map((roof) => Roof.outline(roof, across));
    const reached = [...Data.ends(shown, Y), ...lines.flat().map((point) => point.height)];
    const x = Scale.of(X, across, true);
    const y = Scale.of(Y, reached, true);
    const svg = Chart.plot(
      "Roofline",
      Chart.width(width),
      440,
      [X, x],
      [Y, y],
      [...lines.map(Roof.line), ...Points.dots(groups, X, Y)],
    );
    const readout = Points.bind(svg, groups, "Roofline", "roof");
    return [
      element("div", { class: "controls" }, Study.groupChooser()),
      Chart.frame("Roofline", svg, caption(hidden), () => table(shown), Chart.legend(groups), readout),
    ];
  }

  function table(runs) {
    const numbers = [X, Y, { label: "roof there", unit: Y.unit }, { label: "reached", unit: "share" }].map(
      ({ label, unit }) => ({ text: label, number: true, unit }),
    );
    const row = (run) => {
      const roof = run[BANDWIDTH] ? Roof.height(run[X.name], roofOf(run)) : null;
      const reached = roof ? run[Y.name] / roof : null;
      return [`${run.number}: ${Data.name(run)}`, run[X.name], run[Y.name], roof, reached];
    };
    return tabular("Roofline", ["run", ...numbers], runs.map(row));
  }

  function caption(hidden) {
    const fewer = ` The runs have ${hidden} more flat parts, too many to draw: select a run to see its own.`;
    return (
      "Operations are useful multiplications; for a run without multiplications, the most frequent operation. " +
      "The slope is the memory's peak bandwidth; the flat part is what the workers would do " +
      `at the rate of the run if they were never without work, useless operations included.${hidden ? fewer : ""}`
    );
  }

  return { show };
})();
