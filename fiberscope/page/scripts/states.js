/* States of the families of a running machine over time: counts at some cycles, as areas one above the other. */
const States = (() => {
  const MOST_POINTS = 120; // as the server keeps: where there are more, every second one goes
  const LETTER = 7.3; // pixels, about
  const KINDS = Bars.STATES.length;

  /* Adds a point { cycle, counts } in the place of all that are not before it. */
  function add(points, cycle, counts) {
    const all = [...points.filter((point) => point.cycle < cycle), { cycle, counts }];
    const last = all.length - 1;
    return all.length > MOST_POINTS ? all.filter((_, at) => (last - at) % 2 === 0) : all;
  }

  /* The share of each state of a family between two points; none where nothing has passed. */
  function shares(family, from, to) {
    const spent = d3.range(KINDS).map((kind) => to[family * KINDS + kind] - (from?.[family * KINDS + kind] ?? 0));
    const all = d3.sum(spent);
    return all > 0 ? spent.map((cycles) => cycles / all) : spent.map(() => 0);
  }

  /* Of each family the upper and lower edge of each state, at both ends of each stretch between two points. */
  const edges = (families, points) =>
    families.flatMap((name, family) =>
      points.flatMap(({ cycle, counts }, at) => {
        const before = points[at - 1];
        const part = shares(family, before?.counts, counts);
        return part.flatMap((share, kind) => {
          const below = d3.sum(part.slice(0, kind));
          const edge = { name, kind, below, above: below + share };
          return [before?.cycle ?? 0, cycle].map((x) => ({ ...edge, x }));
        });
      }),
    );

  function draw(families, points, width) {
    const margin = Bars.margin(width);
    const most = Math.floor((margin - 12) / LETTER);
    return Plot.plot({
      width,
      height: 50 + 30 * families.length,
      marginLeft: margin,
      marginRight: 24,
      marginTop: 4,
      marginBottom: 42,
      style: Chart.style,
      ariaLabel: "States of the families of components over time",
      x: {
        label: "cycle",
        ticks: width / 130,
        domain: [0, points.at(-1)?.cycle || 1],
        tickFormat: Format.tick(""),
      },
      y: { axis: null, domain: [0, 1] },
      fy: { domain: families, padding: 0.12 },
      marks: [
        Plot.areaY(edges(families, points), {
          x: "x",
          y1: "below",
          y2: "above",
          fy: "name",
          z: "kind",
          fill: (edge) => Bars.STATES[edge.kind][1],
          ariaHidden: "true",
        }),
        Plot.axisFy({
          anchor: "left",
          tickSize: 0,
          label: null,
          text: (name) => (name.length > most ? `…${name.slice(1 - most)}` : name),
        }),
      ],
    });
  }

  function table(families, points) {
    const rows = families.map((name, family) => [name, ...shares(family, null, points.at(-1)?.counts ?? [])]);
    return tabular("Shares of the cycles so far", ["components", ...Bars.SHARES], rows);
  }

  return { add, edges, draw, table };
})();
