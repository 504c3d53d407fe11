// The element under a point of this document, or its focused element; null when there is none.
//
// What a person would name is a control around the point (the button, not the picture in it), and of a label its field.
// Runs in an isolated world, so the page cannot change what it calls; but fields take the place of what their form has
// itself (`<input name=parentElement>`), hence the prototype.
(point) => {
  const own = (one, name) => Reflect.get(Element.prototype, name, one);
  const controls =
    "a[href], area[href], button, input, select, textarea, option, summary, label, [contenteditable=''], [contenteditable=true]," +
    "[role=button], [role=link], [role=checkbox], [role=radio], [role=switch], [role=tab], [role=option], [role=menuitem]," +
    "[role=menuitemcheckbox], [role=menuitemradio], [role=combobox], [role=textbox], [role=searchbox], [role=slider]," +
    "[role=spinbutton], [role=treeitem], [role=gridcell]";
  const named = "[aria-label], [aria-labelledby], [role], [draggable=true], img, svg, canvas, td, th, li";
  const inner = (root) => (point ? root.elementFromPoint(point[0], point[1]) : root.activeElement);
  const host = (root) => (root instanceof ShadowRoot ? root.host : null); // a document has forms of that name
  const around = (one, selector) => {
    for (let at = one; at; at = own(at, "parentElement") ?? host(own(at, "getRootNode").call(at))) {
      if (own(at, "matches").call(at, selector)) return at;
    }
    return null;
  };
  let at = inner(document);
  for (let next; at?.shadowRoot && (next = inner(at.shadowRoot)) && next !== at; ) at = next;
  if (!at || at.localName === "iframe" || at.localName === "frame" || !point) return at;
  const control = around(at, controls);
  return control?.localName === "label" ? (control.control ?? control) : (control ?? around(at, named) ?? at);
}
