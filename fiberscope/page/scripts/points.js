/* Points that are runs: clicked, or reached by the keyboard as one list (arrows, Home, End, Enter). */
const Points = (() => {
  const MANY = 300;  // points, from which on they are small

  const mark = (runs, column) => runs.map((run) => `${Data.name(run)}: ${column.map((each) => `${each.label} ${Format.value(run[each.name], each.unit)}`).join(", ")}`);

  /* The dots of every group, as a list of marks for Plot. */
  function dots(groups, x, y, faded = () => false) {
    const r = d3.sum(groups, (group) => group.runs.length) > MANY ? 3.5 : 5;
    return groups.map((group) => Plot.dot(group.runs, {
      x: x.name, y: y.name, r, symbol: group.shape, fill: group.colour, stroke: group.colour,
      fillOpacity: (run) => (faded(run) ? 0 : 0.75), strokeOpacity: (run) => (faded(run) ? 0.55 : 1),
      ariaLabel: (run) => mark([run], [x, y])[0], className: "dots",
    }));
  }

  function choose(run, second) {
    View.set(second ? { other: run.id } : { run: run.id });
  }

  function follow(node, run, readout) {
    const tell = () => { readout.textContent = `Run ${run.number}: ${node.getAttribute("aria-label")}`; };
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
    if (event.key === "Enter" || event.key === " ") choose(points[at].run, event.shiftKey);
    const next = target(event.key, at, points.length);
    if (next !== undefined) {
      points.forEach(({ node }, which) => node.setAttribute("tabindex", which === next ? 0 : -1));
      points[next].node.focus();
    }
    if (next !== undefined || event.key === "Enter" || event.key === " ") event.preventDefault();
  }

  /* Make the dots of a drawn chart a list of choices; returns the line that says which one is looked at. */
  function bind(svg, groups, label, prefix) {
    const readout = element("output", { class: "readout" }, "Point at a run, or tab to the chart and use the arrow keys; Enter looks at it, Shift+Enter takes it as the second run.");
    const found = [...svg.querySelectorAll("g[aria-label=dot]")];
    const list = d3.create("svg:g").attr("role", "listbox").attr("aria-label", label).attr("aria-orientation", "horizontal").node();
    found[0]?.before(list);
    const points = found.flatMap((group, which) => [...group.children].map((node) => ({ node, run: groups[which].runs[d3.select(node).datum()] })));
    found.forEach((group) => { group.removeAttribute("aria-label"); group.setAttribute("role", "presentation"); list.append(group); });
    const place = ({ node }) => node.getBoundingClientRect().x;
    const chosen = [View.get("run"), View.get("other")];
    for (const { node, run } of points) {
      d3.select(node).attr("role", "option").attr("id", `${prefix}-${run.id}`).attr("tabindex", -1).attr("aria-selected", String(run.id === chosen[0]))
        .classed("point", true).classed("selected", run.id === chosen[0]).classed("other", run.id === chosen[1]);
      follow(node, run, readout);
    }
    queueMicrotask(() => {
      points.sort((a, b) => d3.ascending(place(a), place(b)));
      (points.find(({ run }) => run.id === chosen[0]) ?? points[0])?.node.setAttribute("tabindex", 0);
    });
    for (const { node, run } of points) if (chosen.includes(run.id)) node.parentNode.append(node);  // over the others
    list.addEventListener("keydown", (event) => keys(event, points));
    return readout;
  }

  return { dots, bind };
})();
