// files: a file for a field of files or a place that files are dropped on. It is
// made inside the page, of what the run brought: no path of any machine.
function fileFieldOf(el) {
  const takesFiles = (e) => e && e.localName === "input" && e.type === "file";
  if (takesFiles(el))
    return el;
  if (takesFiles(el.control))
    return el.control;
  for (let at = el, up = 0; at && up < 4; at = at.parentElement, up++) {
    const inside = [...at.querySelectorAll("input[type=file]")];
    if (inside.length === 1)
      return inside[0];
    if (inside.length > 1 || at.localName === "form")
      return null;
  }
  return null;
}

function bytesOf(file) {
  if (typeof file.text === "string")
    return file.text;
  try {
    return Uint8Array.from(atob(file.base64), (c) => c.charCodeAt(0));
  } catch {
    throw new Refusal("value", "base64 of the file is not base64");
  }
}

function dropOn(el, transfer) {
  for (const type of ["dragenter", "dragover", "drop"])
    el.dispatchEvent(new DragEvent(type, {bubbles: true, composed: true, cancelable: true, dataTransfer: transfer}));
}

const isFile = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function fillFile(el, file) {
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytesOf(file)], file.name, {type: file.mediaType || "application/octet-stream"}));
  const field = fileFieldOf(el);
  if (field === null) {
    if (el.closest("[class*=drop i],[id*=drop i],[class*=upload i],[id*=upload i]") === null)
      throw new Refusal("operable", sayElement(el) + " takes no file");
    dropOn(el, transfer);
    return {how: "done", warnings: ["no field of files is there; the file was dropped on " + sayElement(el)]};
  }
  if (field.matches(":disabled"))
    throw new Refusal("operable", sayElement(field) + " is disabled");
  field.files = transfer.files;
  tell(field, "input", "change");
  return {how: "done"};
}
