// What the form fields of this document hold, as "number:hash"; "" when there are none.
//
// Hidden fields are left out (they hold tokens that differ with every visit), and so are the names of fields, which some
// libraries make anew for every visit (`react-aria8783752068-:r2a:`); of a password only its length counts.
// Runs in an isolated world, so the page cannot change what it calls; but fields take the place of what their form has
// itself, and a form can be editable.
() => {
  const own = (one, name) => Reflect.get(Object.getPrototypeOf(one), name, one);
  const parts = [];
  const fields = document.querySelectorAll("input, textarea, select, [contenteditable]");
  for (const one of fields) {
    const name = own(one, "localName");
    const type = name === "input" ? one.type : name;
    if (type === "hidden") continue;
    let held;
    if (type === "password") held = one.value.length;
    else if (type === "checkbox" || type === "radio") held = one.checked;
    else if (type === "select") held = Array.from(one.selectedOptions, (option) => option.value).join("\u001f");
    else if (type === "file") held = Array.from(one.files, (file) => file.name).join("\u001f");
    else held = name === "input" || type === "textarea" ? one.value : own(one, "textContent");
    parts.push(`${type}\u001e${held}`);
  }
  if (!parts.length) return "";
  // cyrb53: 53 bits are enough to tell two states of one page apart.
  let low = 0xdeadbeef, high = 0x41c6ce57;
  for (const part of parts) {
    for (let at = 0; at < part.length; at++) {
      const code = part.charCodeAt(at);
      low = Math.imul(low ^ code, 2654435761);
      high = Math.imul(high ^ code, 1597334677);
    }
    low = Math.imul(low ^ 0x1d, 2654435761);
    high = Math.imul(high ^ 0x1d, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return `${parts.length}:${(4294967296 * (2097151 & high) + (low >>> 0)).toString(16)}`;
}
