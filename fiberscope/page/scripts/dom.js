/* Elements. What comes from the data goes in as text, never as markup, so that a name may hold anything. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/* Draws anew what stands in `place`, and leaves the keyboard's focus where it was. */
function redraw(place, ...children) {
  const focused =
    document.activeElement && place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/* A choice of columns (or of words), kept in the link under `key`. */
function chooser(label, key, options, chosen) {
  const select = element("select", { id: `choose-${key}`, change: () => View.set({ [key]: select.value }) });
  for (const [value, text] of options)
    select.append(element("option", { value, selected: value === chosen }, text));
  return element("label", {}, label, select);
}

/* What a table holds: `heads` are words, or { text, number, unit } of columns of numbers, which rows have as they are. */
const tabular = (caption, heads, rows) => ({
  caption,
  heads: heads.map((head) => (typeof head === "string" ? { text: head } : head)),
  rows,
});

/* A plain table; the first cell of a row names it. */
function plainTable({ caption, heads, rows }) {
  const cell = (value, at) => {
    const text = Format.value(value, heads[at].unit);
    const side = { class: heads[at].number ? "number" : null };
    return at === 0 ? element("th", { scope: "row", ...side }, text) : element("td", side, text);
  };
  const head = ({ text, number }) => element("th", { scope: "col", class: number ? "number" : null }, text);
  return element(
    "table",
    { class: "plain" },
    caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, heads.map(head))),
    element(
      "tbody",
      {},
      rows.map((row) => element("tr", {}, row.map(cell))),
    ),
  );
}

/* What is wider than its place scrolls in it, by the keyboard too. */
const wide = (label, ...children) =>
  element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, children);

/* A button; `more` are further attributes. */
function button(id, text, click, more = {}) {
  return element("button", { type: "button", id, click, ...more }, text);
}

/* What opens and closes, and whether it is open is kept in the link under `key`. */
function openable(key, title, ...children) {
  const open = View.get(key) === "open";
  const toggle = ({ target }) => target.open !== open && View.set({ [key]: target.open ? "open" : "" });
  return element("details", { open, toggle }, element("summary", { id: `open-${key}` }, title), children);
}
