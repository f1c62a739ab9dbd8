/* Two measures by any parameter: a point a run, and a line through the medians of each group. */
const ByParameter = (() => {
  function medians(groups, x, y) {
    return groups.flatMap((group) => {
      const by = d3.rollups(group.runs, (runs) => d3.median(runs, (run) => run[y.name]), (run) => run[x.name]);
      return by.map(([value, median]) => ({ group, x: value, y: median, runs: group.runs.filter((run) => run[x.name] === value) }))
        .sort((a, b) => d3.ascending(a.x, b.x));
    });
  }

  function chart(runs, x, y, groupBy, width, prefix) {
    const shown = runs.filter((run) => run[x.name] !== null && run[y.name] !== null);
    const title = `${y.label} by ${x.label}`;
    if (!shown.length) return Chart.nothing(title, "No run that is shown has both.");
    const groups = Chart.groups(groupBy, shown), middle = medians(groups, x, y);
    const [across, up] = [x, y].map((column) => Chart.scale(column, shown.map((run) => run[column.name])));
    const svg = Plot.plot({
      width, height: 330, marginLeft: 74, marginBottom: 44, style: Chart.style, ariaLabel: title, x: across, y: up,
      marks: [
        ...Chart.axes([x, across], [y, up]),
        ...Points.dots(groups, x, y),
        ...[["var(--ground)", 5], [(each) => each.group.colour, 2.5]].map(([stroke, strokeWidth]) => Plot.lineY(middle, { x: "x", y: "y", z: (each) => each.group.name, stroke, strokeWidth, ariaHidden: "true", pointerEvents: "none" })),
      ],
    });
    const readout = Points.bind(svg, groups, title, prefix);
    const rows = () => plainTable(title, [x.label, "group", { text: "runs", number: true }, { text: `median ${y.label}`, number: true }, { text: "least", number: true }, { text: "most", number: true }],
      middle.map((each) => [Format.value(each.x, x.unit), each.group.name, each.runs.length, ...[each.y, ...d3.extent(each.runs, (run) => run[y.name])].map((number) => Format.value(number, y.unit))]));
    return Chart.frame(title, svg, "A point is a run; lines join the medians.", rows, Chart.legend(groups), readout);
  }

  function show(runs, width) {
    const numbers = Data.measures.filter(Data.numeric);
    const x = Data.column(View.get("by")) ?? Data.parameters[0] ?? Data.column("workload");
    const y = ["upper", "lower"].map((key, at) => Data.column(View.get(key)) ?? numbers[at] ?? numbers[0]);
    const groupBy = Study.groupBy();
    const across = width > 880 ? (width - 16) / 2 : width;
    return [
      element("div", { class: "controls" },
        chooser("By", "by", Chart.columnsOf([...Data.parameters, ...Data.identities, ...numbers]), x.name),
        chooser("First measure", "upper", Chart.columnsOf(numbers), y[0].name),
        chooser("Second measure", "lower", Chart.columnsOf(numbers), y[1].name),
        Study.groupChooser()),
      element("div", { class: "pair" }, y.map((each, at) => chart(runs, x, each, groupBy, Chart.width(across), `dot${at}`))),
    ];
  }

  return { show };
})();
