/* Where the cycles went: a bar a run, of the kind of component that is chosen; in the order of the table. */
const Cycles = (() => {
  const MOST_BARS = 40;
  const TITLE = "Where the cycles went";

  const LETTER = 7.3; // pixels, about

  /* The kind of component that is asked for, or the one that does the work. */
  function wanted(names, runs) {
    const asked = View.get("part");
    if (names.includes(asked)) return asked;
    return names.find((name) => runs.some((run) => run.worker_kind === name)) ?? names[0];
  }

  const shortened = (label, most) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);

  function draw(bars, width) {
    const longest = d3.max(bars, (bar) => bar.label.length);
    const margin = Math.min(width / 2, 24 + LETTER * longest);
    const most = Math.floor((margin - 20) / LETTER);
    return Bars.draw(
      bars.map((bar) => ({ ...bar, label: shortened(bar.label, most) })),
      width,
      margin,
    );
  }

  function chart(all, part, width) {
    const bars = all.slice(0, MOST_BARS);
    const more = all.length > bars.length ? `; the first ${bars.length} of ${all.length}` : "";
    const caption =
      `A bar is a run, in the order of the table below${more}. ` +
      "Cycles of all components of the kind are added up.";
    const make = () => Bars.table(bars, "run");
    return Chart.frame(`${TITLE}: ${part}`, draw(bars, width), caption, make, Bars.legend());
  }

  function show(runs, width) {
    const told = runs.map((run) => [run, Data.families(run)]);
    const names = [...new Set(told.flatMap(([, families]) => families.map((family) => family.name)))];
    if (!names.length)
      return Chart.nothing(TITLE, "No run that is shown counts the cycles of its components.");
    const part = wanted(names, runs);
    const bars = told.flatMap(([run, families]) => {
      const found = families.find((family) => family.name === part);
      return found ? [{ key: run.id, label: `${run.number}: ${Data.name(run)}`, shares: found.shares }] : [];
    });
    const choice = chooser(
      "Components",
      "part",
      names.map((name) => [name, name]),
      part,
    );
    return [element("div", { class: "controls" }, choice), chart(bars, part, Chart.width(width))];
  }

  return { show };
})();
