/* The roofline of a single run: operations per cycle over operations per byte of traffic, below the roofs that the report has. */
const Reached = (() => {
  const TITLE = "Roofline";
  const AROUND = 8; // times the run's own operations per byte, to both sides

  const number = (label) => ({ label, unit: "", type: "number", role: "measure" });

  function plot(told, lines, width) {
    const [X, Y] = [number(`${told.work} per byte of traffic`), number(`${told.work} per cycle`)];
    const across = [told.intensity / AROUND, told.intensity * AROUND];
    const drawn = lines(across);
    const x = Scale.of(X, across, true);
    const y = Scale.of(Y, [told.rate / 2, told.rate * 2, ...drawn.flat().map((point) => point.height)], true);
    const said = `${X.label} ${Format.value(told.intensity)}, ${Y.label} ${Format.value(told.rate)}`;
    const look = { r: 6, fill: Chart.SERIES[0], stroke: Chart.SERIES[0], ariaLabel: said, title: () => said };
    const point = Plot.dot([told], { x: "intensity", y: "rate", ...look });
    return Chart.plot(TITLE, width, 320, [X, x], [Y, y], [...drawn.map(Roof.line), point]);
  }

  function reached(told, roof) {
    if (!Number.isFinite(roof)) return "";
    const memory = told.bandwidth && told.intensity * told.bandwidth <= (told.peak ?? Infinity);
    const sets = memory ? "the memory's bandwidth" : told.workers;
    const part = Format.value(told.rate / roof, "share");
    return ` That is ${part} of the ${Format.value(roof)} that ${sets} allows there.`;
  }

  function caption(told, roof) {
    const slope = told.bandwidth
      ? `The slope is the memory's peak of ${Format.value(told.bandwidth)} bytes per cycle.`
      : "The memory's peak is not known, so there is no slope.";
    const flat = told.peak
      ? `The flat part is what ${told.workers} would do at the rate of this run if they were never without work: ${Format.value(told.peak)} per cycle, useless operations included.`
      : `No component counts ${told.work} by itself, so their peak is not known and there is no flat part.`;
    const point = `${Format.value(told.rate)} ${told.work} per cycle, ${Format.value(told.intensity)} per byte of traffic.`;
    return `${point}${reached(told, roof)} ${slope} ${flat}`;
  }

  function table(told, roof) {
    const rows = [
      [`${told.work} per byte of traffic`, told.intensity],
      [`${told.work} per cycle`, told.rate],
      ["memory's peak in bytes per cycle", told.bandwidth ?? "not known"],
      ["workers' peak per cycle, useless operations included", told.peak ?? "not known"],
      ["roof there", Number.isFinite(roof) ? roof : "not known"],
    ];
    return tabular("", ["measure", { text: "value", number: true }], rows);
  }

  function show(width) {
    const told = Data.roofline;
    if (!told) return Chart.nothing(TITLE, "The report has no operations, or no traffic.");
    const roof = Roof.height(told.intensity, told);
    const lines = (across) => (Number.isFinite(roof) ? [Roof.outline(told, across)] : []);
    return Chart.frame(TITLE, plot(told, lines, width), caption(told, roof), () => table(told, roof));
  }

  return { show };
})();
