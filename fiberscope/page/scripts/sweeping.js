/* A sweep that goes on: how many runs are done, running and failed, and the last rows. */
const Sweeping = (() => {
  const MOST_ROWS = 500; // as the server keeps
  let rows = [];
  let ended = false;

  const at = (id) => document.getElementById(id);
  const say = (id, text) => at(id).textContent !== text && (at(id).textContent = text);

  function counts({ total, done, running, failed, left }) {
    const words = [`${Format.value(done)} of ${Format.value(total)} runs done`, `${running} running`, `${failed} failed`];
    say("status", words.join(", "));
    say("rate", left);
    at("progress").max = Math.max(total, 1);
    at("progress").value = done;
  }

  const settings = (told) => Object.entries(told).map((pair) => pair.join("=")).join(" ");

  function add(told) {
    rows = [...rows, ...told.rows].slice(-MOST_ROWS);
    const heads = ["machine", "workload", "settings", "status", "cycles", "seconds", "reason"].map((text) =>
      ["cycles", "seconds"].includes(text) ? { text, number: true } : text,
    );
    const line = (row) => heads.map((head) => row[head.text ?? head]);
    const shown = rows.map((row) => ({ ...row, settings: settings(row.settings) })).reverse();
    at("rows").replaceChildren(plainTable(tabular("The newest first", heads, shown.map(line))));
  }

  function end({ lines }) {
    ended = true;
    at("ended").replaceChildren(...lines.map((text) => element("p", {}, text)));
  }

  function follow() {
    const source = new EventSource("events");
    source.addEventListener("open", () => (rows = []));
    for (const [name, handle] of Object.entries({ counts, rows: add, end }))
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    source.addEventListener("error", () => (ended ? source.close() : say("status", "no connection to the sweep")));
  }

  function show(body) {
    const line = element("p", {}, element("strong", { id: "status", role: "status" }, "connecting"), " ", element("span", { id: "rate" }));
    const bar = element("progress", { id: "progress", max: 1, value: 0, "aria-label": "Share of the runs that are done" });
    const main = element("main", { id: "main", class: "column live", tabindex: -1 }, [
      line,
      bar,
      element("div", { id: "ended", class: "ended" }),
      element("section", {}, element("h2", {}, "Rows"), wide("Rows", element("div", { id: "rows" }, "none yet"))),
    ]);
    const title = element("header", { class: "column" }, element("h1", {}, Data.title));
    body.append(element("a", { class: "skip", href: "#main" }, "Skip to the rows"), title, main);
    follow();
  }

  return { show };
})();
