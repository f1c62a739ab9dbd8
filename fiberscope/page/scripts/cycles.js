/* Where the cycles went: a bar a run, of the kind of component that is chosen; in the order of the table. */
const Cycles = (() => {
  const MOST_BARS = 40;

  function show(runs, width) {
    const told = runs.map((run) => [run, Data.families(run)]).filter(([, families]) => families.length);
    const title = "Where the cycles went";
    if (!told.length) return Chart.nothing(title, "No run that is shown counts the cycles of its components.");
    const names = [...new Set(told.flatMap(([, families]) => families.map((family) => family.name)))];
    const wanted = names.includes(View.get("part")) ? View.get("part") : names.find((name) => told.some(([run]) => run.workers === name)) ?? names[0];
    const having = told.flatMap(([run, families]) => families.filter((family) => family.name === wanted).map((family) => ({
      key: run.id, label: `${run.number}: ${Data.name(run)}`, shares: family.shares,
    })));
    const bars = having.slice(0, MOST_BARS), more = having.length - bars.length;
    const margin = Math.min(width * 0.5, 24 + 7.3 * d3.max(bars, (bar) => bar.label.length));
    return [
      element("div", { class: "controls" }, chooser("Components", "part", names.map((name) => [name, name]), wanted)),
      Chart.frame(`${title}: ${wanted}`, Bars.draw(bars.map((bar) => ({ ...bar, label: shortened(bar.label, margin) })), Chart.width(width), margin),
        `A bar is a run, in the order of the table below${more ? `; the first ${bars.length} of ${having.length}` : ""}. Cycles of all components of the kind are added up.`,
        () => Bars.table(bars, "run"), Bars.legend()),
    ];
  }

  const shortened = (label, margin) => { const most = Math.floor((margin - 20) / 7.3); return label.length > most ? `${label.slice(0, most - 1)}…` : label; };

  return { show };
})();
