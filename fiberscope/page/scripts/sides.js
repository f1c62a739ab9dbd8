/* Two runs side by side. */
const Sides = (() => {
  function ratio(column, pair) {
    const [first, second] = pair.map((run) => run[column.name]);
    const known = Data.numeric(column) && first && second !== null;
    const error = Math.hypot(...pair.map((run) => Data.spread(run, column) ?? 0));
    return known ? `x ${Format.value(second / first)}${error ? ` ± ${Format.value(error, "share")}` : ""}` : "";
  }

  function differences(pair) {
    const [first, second] = pair.map((run) => ({
      ...Object.fromEntries(Data.identities.map((column) => [column.label, run[column.name]])),
      ...Data.settings(run),
    }));
    return [...new Set([...Object.keys(first), ...Object.keys(second)])]
      .filter((key) => first[key] !== second[key])
      .map((key) => [key, ...[first, second].map((each) => Format.value(each[key] ?? "", Data.unitOf(key)))]);
  }

  const measured = (pair) =>
    Data.measures
      .filter((column) => pair.some((run) => run[column.name] !== null))
      .map((column) => [
        column.label,
        ...pair.map((run) => Data.text(run, column)),
        ratio(column, pair),
      ]);

  const heads = (what, pair) => [
    what,
    ...pair.map((run) => ({ text: `run ${run.number}`, number: true })),
    { text: "second / first", number: true },
  ];

  function picker(label, key, runs) {
    const options = pickable(runs, key).map((run) => [run.id, `${run.number}: ${Data.name(run)}`]);
    return chooser(label, key, [["", "choose a run"], ...options], View.get(key));
  }

  const HELP =
    "Choose two runs here, or in the table below: a run's number looks at it, " +
    "its button 2nd takes it as the second run.";

  function beside(pair, width) {
    const across = Chart.width(width > 880 ? (width - 16) / 2 : width);
    return element(
      "div",
      { class: "pair" },
      pair.map((run) => {
        const title = `Run ${run.number}: where the cycles went`;
        return Bars.ofRun(run, title, across, element("p", {}, run.bottleneck ?? ""));
      }),
    );
  }

  /* Of two reports; a study carries only the sums of its runs. */
  const cost = (pair, width) =>
    Data.costs ? Costs.show(pair.map((run) => [`, run ${run.number}`, Data.costs[run.id]]), width) : null;

  function tables(pair) {
    const differing = differences(pair);
    const title = differing.length ? "Settings that differ" : "The settings are equal";
    return [
      tabular(title, heads("setting", pair).slice(0, 3), differing),
      tabular("What was measured", heads("measure", pair), measured(pair)),
    ].map((table) => wide(table.caption, plainTable(table)));
  }

  function show(runs, width) {
    const pair = ["run", "other"].map((key) => Data.byId.get(View.get(key))).filter(Boolean);
    const pickers = [picker("First run", "run", runs), picker("Second run", "other", runs)];
    const controls = element("div", { class: "controls" }, pickers);
    if (pair.length < 2) return [controls, element("p", { class: "soft" }, HELP)];
    return [controls, Bars.legend(), beside(pair, width), cost(pair, width), ...tables(pair)];
  }

  /* Those that the filter leaves, and the one that is chosen even if the filter hides it. */
  function pickable(runs, key) {
    const chosen = Data.byId.get(View.get(key));
    return chosen && !runs.includes(chosen) ? [chosen, ...runs] : runs;
  }

  return { show };
})();
