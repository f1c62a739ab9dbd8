/* Two measures by any parameter: a point a run, and a line through the medians of each group. */
const ByParameter = (() => {
  /* A point a value of the parameter and group, with the runs that it stands for. */
  function medians(groups, x, y) {
    const point = (group, [value, runs]) => ({
      group,
      runs,
      x: value,
      y: d3.median(runs, (run) => run[y.name]),
    });
    return groups.flatMap((group) =>
      d3
        .sort(
          d3.groups(group.runs, (run) => run[x.name]),
          ([value]) => value,
        )
        .map((each) => point(group, each)),
    );
  }

  /* A line a group, and a wider one below in the colour of the ground, so that it is seen among the points. */
  function lines(middle) {
    const common = {
      x: "x",
      y: "y",
      z: (each) => each.group.name,
      ariaHidden: "true",
      pointerEvents: "none",
    };
    return [
      Plot.lineY(middle, { ...common, stroke: "var(--ground)", strokeWidth: 5 }),
      Plot.lineY(middle, { ...common, stroke: (each) => each.group.colour, strokeWidth: 2.5 }),
    ];
  }

  function table(title, middle, x, y) {
    const values = [`median ${y.label}`, "least", "most"].map((text) => ({ text, number: true, unit: y.unit }));
    const numbers = [{ text: "runs", number: true }, ...values];
    const rows = middle.map((each) => {
      const range = d3.extent(each.runs, (run) => run[y.name]);
      return [each.x, each.group.name, each.runs.length, each.y, ...range];
    });
    return tabular(title, [{ text: x.label, unit: x.unit }, "group", ...numbers], rows);
  }

  function chart(runs, x, y, width, prefix) {
    const title = `${y.label} by ${x.label}`;
    const shown = runs.filter((run) => run[x.name] !== null && run[y.name] !== null);
    if (!shown.length) return Chart.nothing(title, "No run that is shown has both.");
    const groups = Chart.groups(Study.groupBy(), shown);
    const middle = medians(groups, x, y);
    const axes = [x, y].map((column) => [
      column,
      Scale.of(column, Data.ends(shown, column), false, width - 100),
    ]);
    const svg = Chart.plot(title, width, 330, ...axes, [...Points.dots(groups, x, y), ...lines(middle)]);
    const readout = Points.bind(svg, groups, title, prefix);
    const caption = "A point is a run; lines join the medians.";
    const make = () => table(title, middle, x, y);
    return Chart.frame(title, svg, caption, make, Chart.legend(groups), readout);
  }

  function show(runs, width) {
    const numbers = Data.measures.filter(Data.numeric);
    const x = Study.across();
    const y = ["upper", "lower"].map((key, at) => Data.column(View.get(key)) ?? numbers[at] ?? numbers[0]);
    const across = Chart.width(width > 880 ? (width - 16) / 2 : width);
    const all = [...Data.parameters, ...Data.identities, ...numbers];
    const controls = [
      chooser("By", "by", Chart.columnsOf(all), x.name),
      chooser("First measure", "upper", Chart.columnsOf(numbers), y[0].name),
      chooser("Second measure", "lower", Chart.columnsOf(numbers), y[1].name),
      Study.groupChooser(),
    ];
    const charts = y.map((each, at) => chart(runs, x, each, across, `dot${at}`));
    return [element("div", { class: "controls" }, controls), element("div", { class: "pair" }, charts)];
  }

  return { show };
})();
