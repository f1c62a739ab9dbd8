/* The Pareto front of any two measures: the runs that no other run beats in both. */
const Front = (() => {
  const cost = (column) => (run) => (column.better === "more" ? -run[column.name] : run[column.name]);

  /* The runs on the front, in the order of the first measure. */
  function front(runs, x, y) {
    const [first, second] = [cost(x), cost(y)];
    let least = Infinity;
    return [...runs].sort((a, b) => first(a) - first(b) || second(a) - second(b)).filter((run) => {
      const better = second(run) < least;
      least = Math.min(least, second(run));
      return better;
    });
  }

  const wish = (column) => `${column.better === "more" ? "higher" : "lower"} ${column.label}`;

  function chart(runs, x, y, groupBy, width) {
    const title = `${y.label} against ${x.label}`;
    const shown = runs.filter((run) => run[x.name] !== null && run[y.name] !== null);
    if (!shown.length) return Chart.nothing(title, "No run that is shown has both.");
    const groups = Chart.groups(groupBy, shown);
    const fronts = groups.map((group) => front(group.runs, x, y)), best = new Set(fronts.flat());
    const [across, up] = [x, y].map((column) => Chart.scale(column, shown.map((run) => run[column.name])));
    const svg = Plot.plot({
      width, height: 460, marginLeft: 74, marginBottom: 44, style: Chart.style, ariaLabel: title, x: across, y: up,
      marks: [
        ...Chart.axes([x, across], [y, up]),
        ...fronts.map((runs, at) => Plot.line(runs, { x: x.name, y: y.name, curve: x.better === "more" ? "step-before" : "step-after", stroke: groups[at].colour, strokeWidth: 2, ariaHidden: "true" })),
        ...Points.dots(groups, x, y, (run) => !best.has(run)),
      ],
    });
    const readout = Points.bind(svg, groups, title, "trade");
    const rows = () => plainTable(`The front: ${wish(x)} and ${wish(y)} is better`, ["run", "group", { text: x.label, number: true }, { text: y.label, number: true }],
      fronts.flatMap((runs, at) => runs.map((run) => [`${run.number}: ${Data.name(run)}`, groups[at].name, Format.value(run[x.name], x.unit), Format.value(run[y.name], y.unit)])));
    return Chart.frame(title, svg, `Filled points are on the front of their group: no other run of the group has both ${wish(x)} and ${wish(y)}. ${best.size} of ${shown.length} runs are on a front.`, rows, Chart.legend(groups), readout);
  }

  function show(runs, width) {
    const numbers = Data.measures.filter(Data.numeric);
    const x = Data.column(View.get("x")) ?? numbers[0], y = Data.column(View.get("y")) ?? numbers[1] ?? numbers[0];
    return [
      element("div", { class: "controls" },
        chooser("Across", "x", Chart.columnsOf(numbers), x.name), chooser("Up", "y", Chart.columnsOf(numbers), y.name), Study.groupChooser()),
      chart(runs, x, y, Study.groupBy(), Chart.width(width)),
    ];
  }

  return { front, show };
})();
