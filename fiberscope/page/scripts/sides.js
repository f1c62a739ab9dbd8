/* Two runs side by side. */
const Sides = (() => {
  function ratio(column, [first, second]) {
    if (!Data.numeric(column) || typeof first[column.name] !== "number" || !first[column.name] || typeof second[column.name] !== "number") return "";
    return `x ${Format.value(second[column.name] / first[column.name])}`;
  }

  function differences(pair) {
    const [first, second] = pair.map((run) => ({ ...Object.fromEntries(Data.identities.map((column) => [column.label, run[column.name]])), ...Data.settings(run) }));
    return [...new Set([...Object.keys(first), ...Object.keys(second)])].filter((key) => first[key] !== second[key])
      .map((key) => [key, ...[first, second].map((each) => Format.value(each[key] ?? "", Data.unitOf(key)))]);
  }

  const measured = (pair) => Data.measures.filter((column) => pair.some((run) => run[column.name] !== null))
    .map((column) => [column.label, ...pair.map((run) => Format.value(run[column.name], column.unit)), ratio(column, pair)]);

  const heads = (what, pair) => [what, ...pair.map((run) => ({ text: `run ${run.number}`, number: true })), { text: "second / first", number: true }];

  function bars(run, width) {
    const families = Data.families(run).map((family) => ({ key: family.name, label: family.name, shares: family.shares }));
    if (!families.length) return Chart.nothing(`Run ${run.number}`, run.reason || "It counts no cycles of components.");
    return Chart.frame(`Run ${run.number}: where the cycles went`, Bars.draw(families, Chart.width(width), 190), run.bottleneck, () => Bars.table(families, "components"));
  }

  function show(runs, width) {
    const pair = ["run", "other"].map((key) => Data.byId.get(View.get(key))).filter(Boolean);
    const pickers = element("div", { class: "controls" }, [["First run", "run"], ["Second run", "other"]].map(([label, key]) =>
      chooser(label, key, [["", "choose a run"], ...pickable(runs, key).map((run) => [run.id, `${run.number}: ${Data.name(run)}`])], View.get(key))));
    if (pair.length < 2) return [pickers, element("p", { class: "soft" }, "Choose two runs here, or in the table below: a run's number looks at it, its button “2nd” takes it as the second run.")];
    const across = width > 880 ? (width - 16) / 2 : width, differing = differences(pair);
    return [
      pickers,
      element("div", { class: "pair" }, pair.map((run) => bars(run, across))), Bars.legend(),
      element("div", { class: "wide" }, differing.length ? plainTable("What they were given that differs", heads("setting", pair).slice(0, 3), differing) : "They were given the same."),
      element("div", { class: "wide" }, plainTable("What was measured", heads("measure", pair), measured(pair))),
    ];
  }

  /* Those that the filter leaves, and the one that is chosen even if the filter hides it. */
  function pickable(runs, key) {
    const chosen = Data.byId.get(View.get(key));
    return chosen && !runs.includes(chosen) ? [chosen, ...runs] : runs;
  }

  return { show };
})();
