/* A single run: its machine, where the cycles went, traffic, its course over time, and who waited for whom. */
const Run = (() => {
  /* The drawing comes as text; colours are the page's, so its own styles are left out. */
  function machine() {
    if (!Data.machine) return element("p", { class: "soft" }, Data.undrawn);
    const svg = document.importNode(
      new DOMParser().parseFromString(Data.machine, "image/svg+xml").documentElement,
      true,
    );
    svg.querySelectorAll("style").forEach((style) => style.remove());
    return element("div", { class: "machine wide" }, svg);
  }

  const families = () =>
    Data.families.map(([name, count, ...shares]) => ({
      key: name,
      label: count > 1 ? `${name} x${count}` : name,
      shares,
    }));

  function traffic() {
    const rows = Data.traffic
      .map(([name, read, written]) => [name, read, written])
      .concat(
        Data.traffic.length > 1
          ? [["in all", d3.sum(Data.traffic, (one) => one[1]), d3.sum(Data.traffic, (one) => one[2])]]
          : [],
      );
    const moved = d3.sum(Data.traffic, (one) => one[1] + one[2]);
    const least = Data.traffic_minimum
      ? `${Format.value(moved, "bytes")} in all, ${Format.value(moved / Data.traffic_minimum)} times the algorithmic minimum of ${Format.value(Data.traffic_minimum, "bytes")}.`
      : "";
    return rows.length
      ? element(
          "section",
          {},
          element("h2", {}, "Traffic"),
          plainTable(
            "",
            ["tensor", { text: "read", number: true }, { text: "written", number: true }],
            rows.map(([name, read, written]) => [
              name,
              Format.value(read, "bytes"),
              Format.value(written, "bytes"),
            ]),
          ),
          element("p", { class: "soft" }, least),
        )
      : null;
  }

  /* What was done in each interval: the memory's bytes and the machine's work, one above the other. */
  function course(width) {
    const told = Data.course;
    if (!told) return null;
    const middle = (at) => (at + 0.5) * told.interval,
      lines = [
        ["read", told.read_bytes, "bytes"],
        ["written", told.write_bytes, "bytes"],
        [Data.work, told[Data.work], ""],
      ];
    const plots = lines
      .filter(([, counts]) => d3.max(counts) > 0)
      .map(([name, counts, unit], at) =>
        Plot.plot({
          width: Chart.width(width),
          height: 130,
          marginLeft: 90,
          marginBottom: 42,
          style: Chart.style,
          ariaLabel: `${name} in each ${told.interval} cycles`,
          x: { label: "cycle", grid: true, ariaHidden: "true" },
          y: {
            label: unit ? `${name} (bytes a cycle)` : `${name} a cycle`,
            grid: true,
            ticks: 3,
            zero: true,
          },
          marks: [
            Plot.areaY(counts, {
              x: (_, place) => middle(place),
              y: (count) => count / told.interval,
              fill: Chart.SERIES[at],
              fillOpacity: 0.35,
              line: true,
              stroke: Chart.SERIES[at],
              ariaHidden: "true",
            }),
          ],
        }),
      );
    const table = () =>
      plainTable(
        "",
        ["from cycle", ...lines.map(([text]) => ({ text, number: true }))],
        told.read_bytes.map((_, at) => [
          Format.value(at * told.interval),
          ...lines.map(([, counts, unit]) => Format.value(counts[at], unit)),
        ]),
      );
    return element(
      "section",
      {},
      element("h2", {}, "Its course"),
      element("div", { class: "wide" }, plots),
      element(
        "p",
        { class: "soft" },
        `Means of every ${Format.value(told.interval)} cycles; the last stretch may be shorter.`,
      ),
      Chart.asTable(table),
    );
  }

  const components = () =>
    plainTable(
      "",
      [
        "component",
        { text: "cycles", number: true },
        ...Bars.STATES.map(([text]) => ({ text, number: true })),
      ],
      Data.components.map(([name, ...cycles]) => [name, ...cycles.map((count) => Format.value(count))]),
    );
  const details = (summary, make) => {
    const made = Chart.asTable(make);
    made.firstChild.textContent = summary;
    return made;
  };

  function show(body) {
    const main = element("main", { id: "main", class: "column run", tabindex: -1 });
    body.append(
      element(
        "a",
        {
          class: "skip",
          href: "#main",
          click: (event) => {
            event.preventDefault();
            main.focus();
          },
        },
        "Skip to the run",
      ),
      element(
        "header",
        { class: "column" },
        element("h1", {}, Data.title),
        element("p", { id: "bottleneck" }, Data.bottleneck),
      ),
      main,
      element(
        "footer",
        { class: "column" },
        `Made by Fiberscope ${Data.made_by}. The link in the address bar keeps what the chart of states shows. Drawn with D3 and Observable Plot.`,
      ),
    );
    const width = main.clientWidth - 40,
      bars = families();
    main.append(
      element(
        "div",
        { class: "pair" },
        element(
          "section",
          { "aria-label": "Machine" },
          element("h2", {}, "The machine, and where its cycles went"),
          bars.length ? Bars.legend() : null,
          machine(),
        ),
        element(
          "div",
          {},
          element(
            "section",
            {},
            element("h2", {}, "The run"),
            element(
              "dl",
              { class: "facts" },
              Object.entries(Data.facts).flatMap(([name, text]) => [
                element("dt", {}, name),
                element("dd", {}, text),
              ]),
            ),
          ),
          traffic(),
        ),
      ),
      Data.states && Data.states.end > Data.states.start
        ? Waits.show(Data.states)
        : element(
            "p",
            { class: "soft" },
            "With a timeline (--timeline of the run, and of this page) there is a chart of who waited for whom here.",
          ),
      bars.length
        ? element(
            "section",
            {},
            element("h2", {}, "Kinds of components"),
            Bars.draw(bars, Chart.width(width), 190),
            Chart.asTable(() => Bars.table(bars, "components")),
          )
        : null,
      course(width) ?? "",
      element(
        "section",
        {},
        element("h2", {}, "More"),
        Data.components.length ? details(`All ${Data.components.length} components`, components) : null,
        details(`All ${Object.keys(Data.settings).length} settings`, () =>
          plainTable(
            "",
            ["setting", "value"],
            Object.entries(Data.settings).map(([key, value]) => [
              key,
              Array.isArray(value) ? value.join(", ") : Format.value(value),
            ]),
          ),
        ),
      ),
    );
  }

  return { show };
})();
