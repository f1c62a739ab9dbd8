/* Elements. What comes from the data goes in as text, never as markup, so that a name may hold anything. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/* Draws anew what stands in `place`, and leaves the keyboard's focus where it was. */
function redraw(place, ...children) {
  const focused = document.activeElement && place.contains(document.activeElement) ? document.activeElement.id : "";
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/* A choice of columns (or of words), kept in the link under `key`. */
function chooser(label, key, options, chosen) {
  const select = element("select", { id: `choose-${key}`, change: () => View.set({ [key]: select.value }) });
  for (const [value, text] of options) select.append(element("option", { value, selected: value === chosen }, text));
  return element("label", {}, label, select);
}

/* A plain table: `heads` are words, or words with { number: true }; a cell is text or an element. */
function plainTable(caption, heads, rows) {
  const side = (head) => (head.number ? "number" : null);
  const told = heads.map((head) => (typeof head === "string" ? { text: head } : head));
  return element("table", { class: "plain" },
    caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, told.map((head) => element("th", { scope: "col", class: side(head) }, head.text)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell, at) =>
      at === 0 ? element("th", { scope: "row", class: side(told[at]) }, cell) : element("td", { class: side(told[at]) }, cell))))));
}
