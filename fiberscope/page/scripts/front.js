/* The Pareto front of any two measures: the runs that no other run of their workload beats in both. */
const Front = (() => {
  const cost = (column) => (run) => (column.better === "more" ? -run[column.name] : run[column.name]);

  /* The runs on the front, in the order of the first measure. */
  function front(runs, x, y) {
    const [first, second] = [cost(x), cost(y)];
    let least = Infinity;
    return [...runs]
      .sort((a, b) => first(a) - first(b) || second(a) - second(b))
      .filter((run) => {
        const better = second(run) < least;
        least = Math.min(least, second(run));
        return better;
      });
  }

  const wish = (column) => `${column.better === "more" ? "higher" : "lower"} ${column.label}`;

  function line(runs, x, y) {
    const curve = x.better === "more" ? "step-before" : "step-after";
    const look = { stroke: "var(--soft)", strokeWidth: 2, ariaHidden: "true" };
    return Plot.line(runs, { x: x.name, y: y.name, curve, ...look });
  }

  function table(groups, best, x, y) {
    const numbers = [x, y].map(({ label, unit }) => ({ text: label, number: true, unit }));
    const row = (run, group) => [
      `${run.number}: ${Data.name(run)}`,
      group.name,
      ...[x, y].map((column) => run[column.name]),
    ];
    const group = (run) => groups.find(({ runs }) => runs.includes(run));
    const rows = best.map((run) => row(run, group(run)));
    return tabular(`The front of ${wish(x)} and ${wish(y)}`, ["run", "group", ...numbers], rows);
  }

  function chart(runs, x, y, width) {
    const title = `${y.label} against ${x.label}`;
    const shown = runs.filter((run) => run[x.name] !== null && run[y.name] !== null);
    if (!shown.length) return Chart.nothing(title, "No run that is shown has both.");
    const groups = Chart.groups(Study.groupBy(), shown);
    const fronts = d3.groups(shown, (run) => run.workload).map(([, runs]) => front(runs, x, y));
    const best = new Set(fronts.flat());
    const axes = [x, y].map((column) => [column, Scale.of(column, Data.ends(shown, column))]);
    const svg = Chart.plot(title, width, 460, ...axes, [
      ...fronts.map((runs) => line(runs, x, y)),
      ...Points.dots(groups, x, y, (run) => !best.has(run)),
    ]);
    const readout = Points.bind(svg, groups, title, "trade");
    const caption =
      `Filled points are on the front${fronts.length > 1 ? " of their workload" : ""}: no other run ` +
      `${fronts.length > 1 ? "of the workload " : ""}has both ${wish(x)} and ${wish(y)}. ` +
      `${best.size} of ${shown.length} runs are on ${fronts.length > 1 ? "a" : "the"} front.`;
    const make = () => table(groups, [...best], x, y);
    return Chart.frame(title, svg, caption, make, Chart.legend(groups), readout);
  }

  function show(runs, width) {
    const numbers = Data.measures.filter(Data.numeric);
    const x = Data.column(View.get("x")) ?? numbers[0];
    const y = Data.column(View.get("y")) ?? numbers[1] ?? numbers[0];
    const controls = [
      chooser("Across", "x", Chart.columnsOf(numbers), x.name),
      chooser("Up", "y", Chart.columnsOf(numbers), y.name),
      Study.groupChooser(),
    ];
    return [element("div", { class: "controls" }, controls), chart(runs, x, y, Chart.width(width))];
  }

  return { show };
})();
