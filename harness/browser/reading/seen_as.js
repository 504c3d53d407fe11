// What an element holds and shows. Called with `this` = the element, in an isolated world if there is one.
function () {
  const most = 4000;
  const tag = this.localName;
  const type = tag === "input" ? this.type : tag;
  const text = (one) => String(one.innerText ?? one.textContent ?? "").trim().replace(/\s+/g, " ");
  const frame = tag === "iframe" || tag === "frame";
  let value = "";
  if (type === "password") value = String(this.value.length);
  else if (type === "checkbox" || type === "radio") value = this.checked ? "on" : "";
  else if (tag === "select") value = Array.from(this.selectedOptions, (one) => one.label || one.text).join(", ");
  else if (type === "file") value = Array.from(this.files, (one) => one.name).join(", ");
  else if (tag === "input" || tag === "textarea") value = this.value;
  else if (this.isContentEditable) value = text(this);
  const box = frame ? this.getBoundingClientRect() : null;
  return {
    type: this.isContentEditable && tag !== "input" && tag !== "textarea" ? "editable" : type,
    value: String(value).slice(0, most),
    text: frame || this === this.ownerDocument.body || this === this.ownerDocument.documentElement ? "" : text(this).slice(0, 400),
    corner: box && [box.x + this.clientLeft, box.y + this.clientTop],
  };
}
