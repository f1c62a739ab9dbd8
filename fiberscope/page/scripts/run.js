/* A single run: its machine, where the cycles went, traffic, its course over time, and who waited for whom. */
const Run = (() => {
  const NO_TIMELINE =
    "For a chart of who waited for whom, give --timeline to the run and to fiberscope page.";

  const SMALLEST = 0.75; // of the drawing's size; where there is less room it scrolls

  const bars = () =>
    Data.families.map(([name, count, ...shares]) => ({
      key: name,
      label: count > 1 ? `${name} x${count}` : name,
      shares,
    }));

  /* The drawing comes as text; colours are the page's, so its own styles are left out. */
  function machine(kinds) {
    const title = "The machine, and where its cycles went";
    if (!Data.machine) return Chart.nothing(title, Data.undrawn);
    const read = new DOMParser().parseFromString(Data.machine, "image/svg+xml").documentElement;
    const svg = document.importNode(read, true);
    svg.querySelectorAll("style").forEach((style) => style.remove());
    svg.style.minWidth = `${SMALLEST * svg.viewBox.baseVal.width}px`;
    const drawn = element("div", { class: "machine" }, wide("The machine", svg));
    return Chart.frame(title, drawn, Data.states_note, () => Bars.table(kinds, "components"), Bars.legend());
  }

  function kindsOfComponents(kinds, width) {
    if (!kinds.length) return null;
    const drawn = Bars.draw(kinds, width, Bars.margin(width));
    return Chart.frame("Kinds of components", drawn, Data.states_note, () => Bars.table(kinds, "components"));
  }

  function traffic() {
    const unmoved = Data.unmoved ? `Not moved: ${Data.unmoved}.` : "";
    if (!Data.traffic.length) return unmoved ? Chart.nothing("Traffic", unmoved) : null;
    const sums = [1, 2].map((at) => d3.sum(Data.traffic, (one) => one[at]));
    const moved = d3.sum(sums);
    const least = Data.traffic_minimum
      ? `${Format.value(moved, "bytes")} in all, ${Format.value(moved / Data.traffic_minimum)} times the algorithmic minimum of ${Format.value(Data.traffic_minimum, "bytes")}.`
      : "";
    const numbers = ["read", "written"].map((text) => ({ text, number: true, unit: "bytes" }));
    const rows = Data.traffic.length > 1 ? [...Data.traffic, ["in all", ...sums]] : Data.traffic;
    const make = () => tabular("", ["tensor", ...numbers], rows);
    return Chart.tableFrame("Traffic", make, [least, unmoved].filter(Boolean).join(" "));
  }

  function facts() {
    const told = Object.entries(Data.facts).flatMap(([name, text]) => [
      element("dt", {}, name),
      element("dd", {}, text),
    ]);
    return element("section", {}, element("h2", {}, "The run"), element("dl", { class: "facts" }, told));
  }

  function components() {
    const numbers = ["cycles", ...Bars.STATES.map(([text]) => text)].map((text) => ({ text, number: true }));
    return tabular("", ["component", ...numbers], Data.components);
  }

  function settings() {
    const row = ([key, value]) => [key, Array.isArray(value) ? value.join(", ") : value];
    return tabular("", ["setting", "value"], Object.entries(Data.settings).map(row));
  }

  function more() {
    const all = ["components", "settings"].map((what) => Object.keys(Data[what]).length);
    return element(
      "section",
      {},
      element("h2", {}, "More"),
      all[0] ? Chart.asTable("Components", components, `All ${all[0]} components`) : null,
      Chart.asTable("Settings", settings, `All ${all[1]} settings`),
      element("p", { class: "soft digest" }, `Digest of the configuration: ${Data.config_digest}`),
    );
  }

  function waits() {
    const { states } = Data;
    return states && states.end > states.start
      ? Waits.show(states)
      : element("p", { class: "soft" }, NO_TIMELINE);
  }

  function around(main) {
    const skip = (event) => {
      event.preventDefault();
      main.focus();
    };
    const badges = Data.notices.map((notice) => element("p", { class: "notice" }, notice));
    const title = [
      element("h1", {}, Data.title),
      ...badges,
      element("p", { id: "bottleneck" }, Data.bottleneck),
    ];
    return [
      element("a", { class: "skip", href: "#main", click: skip }, "Skip to the run"),
      element("header", { class: "column" }, title),
      main,
      element(
        "footer",
        { class: "column" },
        `Made by Fiberscope ${Data.made_by}. The link in the address bar keeps what the chart of states shows. Drawn with D3 and Observable Plot.`,
      ),
    ];
  }

  function show(body) {
    const main = element("main", { id: "main", class: "column run", tabindex: -1 });
    body.append(...around(main));
    const width = Chart.width(main.clientWidth - 40);
    const kinds = bars();
    const parts = [
      element("div", { class: "pair" }, machine(kinds), element("div", {}, facts(), traffic())),
      waits(),
      Reached.show(width),
      Costs.show([["", Data.costs]], main.clientWidth - 40),
      kindsOfComponents(kinds, width),
      Course.show(width),
      more(),
    ];
    main.append(...parts.filter(Boolean));
  }

  return { show };
})();
