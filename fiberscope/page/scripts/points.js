/* Points that are runs: clicked, or reached by the keyboard as one list (arrows, Home, End, Enter). */
const Points = (() => {
  const MANY = 300; // points, from which on they are small
  const HELP =
    "Point at a run, or tab to the chart and use the arrow keys; " +
    "Enter looks at it, Shift+Enter takes it as the second run.";

  const value = (run, column) => `${column.label} ${Data.text(run, column)}`;

  /* The intervals of estimates of one measure, as a mark for Plot: a line through each dot. */
  function intervals(groups, column, line, place, ends) {
    const runs = groups.flatMap(({ runs, colour }) => runs.map((run) => ({ ...run, colour })));
    const from = (sign) => (run) => run[column.name] * (1 + sign * run.spread);
    const shown = runs.filter((run) => Data.spread(run, column) !== null);
    const look = { stroke: (run) => run.colour, strokeWidth: 1.5, ariaHidden: "true", pointerEvents: "none" };
    return shown.length ? [line(shown, { ...place, [ends[0]]: from(-1), [ends[1]]: from(1), ...look })] : [];
  }

  /* The dots of every group and the intervals of estimates, as a list of marks for Plot. */
  function dots(groups, x, y, faded = () => false) {
    const r = d3.sum(groups, (group) => group.runs.length) > MANY ? 3.5 : 5;
    const bars = [
      ...intervals(groups, y, Plot.ruleX, { x: x.name }, ["y1", "y2"]),
      ...intervals(groups, x, Plot.ruleY, { y: y.name }, ["x1", "x2"]),
    ];
    const dots = groups.map((group) =>
      Plot.dot(group.runs, {
        x: x.name,
        y: y.name,
        r,
        symbol: group.shape,
        fill: group.colour,
        stroke: group.colour,
        fillOpacity: (run) => (faded(run) ? 0 : 0.75),
        strokeOpacity: (run) => (faded(run) ? 0.55 : 1),
        ariaLabel: (run) => `${Data.name(run)}: ${value(run, x)}, ${value(run, y)}`,
      }),
    );
    return [...bars, ...dots];
  }

  const choose = (run, second) => View.set({ [second ? "other" : "run"]: run.id });

  function follow(node, run, readout) {
    const tell = () => {
      readout.textContent = `Run ${run.number}: ${node.getAttribute("aria-label")}`;
    };
    node.addEventListener("pointerenter", tell);
    node.addEventListener("focus", tell);
    node.addEventListener("click", (event) => choose(run, event.shiftKey));
  }

  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  function target(key, at, count) {
    if (key in STEPS) return Math.min(count - 1, Math.max(0, at + STEPS[key]));
    return { Home: 0, End: count - 1 }[key];
  }

  function keys(event, points) {
    const at = points.findIndex(({ node }) => node === event.target);
    const next = target(event.key, at, points.length);
    const enter = event.key === "Enter" || event.key === " ";
    if (next === undefined && !enter) return;
    event.preventDefault();
    if (enter) return choose(points[at].run, event.shiftKey);
    points.forEach(({ node }, which) => node.setAttribute("tabindex", which === next ? 0 : -1));
    points[next].node.focus();
  }

  /* The dots of a drawn chart as one list: the groups of marks that Plot made move into it. */
  function list(svg, marks, label) {
    const made = d3
      .create("svg:g")
      .attr("role", "listbox")
      .attr("aria-label", label)
      .attr("aria-orientation", "horizontal")
      .node();
    marks[0]?.before(made);
    for (const mark of marks) {
      mark.removeAttribute("aria-label");
      mark.setAttribute("role", "presentation");
      made.append(mark);
    }
    return made;
  }

  /* A dot as a choice in that list; the chosen ones lie over the others. */
  function option({ node, run }, prefix) {
    const [chosen, second] = ["run", "other"].map((key) => View.get(key) === run.id);
    d3.select(node)
      .attr("role", "option")
      .attr("id", `${prefix}-${run.id}`)
      .attr("tabindex", -1)
      .attr("aria-selected", String(chosen))
      .classed("point", true)
      .classed("selected", chosen)
      .classed("other", second);
    if (chosen || second) node.parentNode.append(node);
  }

  /* From left to right, once they are on the page; Tab leads to the chosen one, or to the first. */
  function order(points) {
    const place = ({ node }) => node.getBoundingClientRect().x;
    points.sort((a, b) => d3.ascending(place(a), place(b)));
    const first = points.find(({ run }) => run.id === View.get("run")) ?? points[0];
    first?.node.setAttribute("tabindex", 0);
  }

  /* Make the dots of a drawn chart a list of choices; returns the line that says which one is looked at. */
  function bind(svg, groups, label, prefix) {
    const readout = element("output", { class: "readout" }, HELP);
    const marks = [...svg.querySelectorAll("g[aria-label=dot]")];
    const points = marks.flatMap((mark, which) =>
      [...mark.children].map((node) => ({ node, run: groups[which].runs[d3.select(node).datum()] })),
    );
    const choices = list(svg, marks, label);
    for (const point of points) {
      option(point, prefix);
      follow(point.node, point.run, readout);
    }
    queueMicrotask(() => order(points));
    choices.addEventListener("keydown", (event) => keys(event, points));
    return readout;
  }

  return { dots, bind };
})();
