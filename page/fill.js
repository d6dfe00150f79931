// fill: puts a value into a field, whatever kind of field it is. Text itself is
// typed by the worker through the browser.
const TYPED = new Set(["text", "search", "email", "url", "tel", "password", "number", ""]);
const PICKED = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);

// The field itself where a label, or what wraps it, was found.
function fieldOf(el) {
  if (el.localName === "label" && el.control)
    return el.control;
  if (/^(input|textarea|select)$/.test(el.localName) || el.isContentEditable)
    return el;
  return el.querySelector("input:not([type=hidden]),textarea,select,[contenteditable=true]") || el;
}

function isToggle(el) {
  return (el.localName === "input" && /^(checkbox|radio)$/.test(el.type)) ||
    /^(checkbox|radio|switch)$/.test(el.getAttribute("role") || "");
}

function isOn(el) {
  return el.localName === "input" ? el.checked : el.getAttribute("aria-checked") === "true";
}

// A field is filled in once: another name never means it again.
function isTaken(el, locator) {
  return locator.mode === "semantic" && locator.kind === "field" && S.taken !== undefined &&
    S.taken.has(el) && S.taken.get(el) !== locator.query;
}

async function fillable(c) {
  const el = fieldOf(c.el);
  if (!c.seen)
    return {why: "is not visible"};
  if (!c.enabled || !isEnabled(el))
    return {why: "is disabled"};
  if (el.readOnly === true || el.getAttribute("aria-readonly") === "true")
    return {why: "can only be read"};
  if (isToggle(el) || isCustom(el))
    return reach(c);
  el.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
  return {why: null};
}

function isCustom(el) {
  return !/^(input|textarea|select)$/.test(el.localName) && !el.isContentEditable;
}

function tell(el, ...names) {
  for (const name of names)
    el.dispatchEvent(new Event(name, {bubbles: true, composed: name === "input"}));
}

function fillSelect(el, value, say) {
  const wanted = Array.isArray(value) ? value : [value];
  if (wanted.length > 1 && !el.multiple)
    throw new Refusal("value", "only one line of the list can be chosen");
  const chosen = wanted.map((v) => {
    const q = wordsOf(String(v));
    const all = [...el.options];
    const o = all.find((x) => x.value === String(v)) || all.find((x) => x.label.trim() === String(v).trim()) ||
      all.find((x) => wordsOf(x.label).tight === q.tight) ||
      all.map((x) => [closeness(q, wordsOf(x.label)), x]).filter(([s]) => s >= 0.7)
        .sort((a, b) => b[0] - a[0]).map(([, x]) => x)[0];
    if (!o)
      throw new Refusal("value", "the list has no line " + say(v) + "; it has " +
        all.slice(0, 5).map((x) => quote(x.label)).join(", ") + (all.length > 5 ? ", ..." : ""));
    if (o.disabled || (o.parentElement && o.parentElement.disabled))
      throw new Refusal("value", "the line " + quote(o.label) + " is disabled");
    return o;
  });
  el.focus();
  for (const o of el.options)
    o.selected = chosen.includes(o);
  tell(el, "input", "change");
  return {how: "done"};
}

// A radio button by its own label or value, among those of its name.
function radioOf(el, value, say) {
  const q = wordsOf(String(value));
  const root = el.form || el.getRootNode();
  const group = [...root.querySelectorAll("input[type=radio]")].filter((r) => r.name === el.name);
  const found = group.find((r) => r.value === String(value)) ||
    group.find((r) => wordsOf(nameOf(r, "radio")).tight === q.tight);
  if (!found)
    throw new Refusal("value", "no choice is called " + say(value));
  return found;
}

function fillToggle(o, el, out, say) {
  let on = o.value;
  if (typeof on === "string" && el.type === "radio") {
    el = radioOf(el, on, say);
    on = true;
  } else if (typeof on === "string" && /^(true|on|yes|1|checked)$/i.test(on))
    on = true;
  else if (typeof on === "string" && /^(false|off|no|0|)$/i.test(on))
    on = false;
  if (typeof on !== "boolean")
    throw new Refusal("value", "a box is ticked by true and false");
  if (isOn(el) === on)
    return Object.assign(out, {how: "done"});
  if (el.type === "radio" && !on)
    throw new Refusal("value", "a choice is undone by choosing another");
  S.field = el;
  S.wanted = on;
  const target = boxOf(el) !== null ? el : labelOf(el);
  const at = target && pointOf(target);
  if (!at) {
    S.el = el;
    return Object.assign(out, {how: "script"});
  }
  guard(target);
  return Object.assign(out, {how: "press", x: at.x, y: at.y});
}

function selectAll(el) {
  el.focus();
  if (el.isContentEditable) {
    const range = el.ownerDocument.createRange();
    range.selectNodeContents(el);
    const selection = el.ownerDocument.defaultView.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  } else
    el.select();
}

function setNative(el, value) {
  el.value = value;
  tell(el, "input", "change");
}

// Of the document that would get the value; "null" when it is nobody's.
function originOf(el) {
  const view = el.ownerDocument.defaultView;
  return view === null ? "null" : view.origin;
}

// Whose field is it? Asked before the value comes into the page.
async function whose(o) {
  const got = await find(o, fillable);
  return {origin: originOf(fieldOf(got.c.el))};
}

// At once, so that no script of the page gets between focus and text, which
// would be typed into whatever has the focus then.
function insertNow(el, text) {
  if (!el.ownerDocument.execCommand(text === "" ? "delete" : "insertText", false, text))
    setNative(el, text);
}

async function fill(o) {
  const began = now();
  const got = await find(o, fillable);
  const el = fieldOf(got.c.el);
  const out = remember(got, o.locator);
  if (o.origin !== undefined && originOf(el) !== o.origin)
    throw new Refusal("operable", "another document took the place of the one with the field");
  const say = (value) => o.secret ? "that was given" : quote(String(value));
  S.lastField = el;
  if (o.locator.mode === "semantic" && !isToggle(el)) {
    S.taken = S.taken || new Map();
    S.taken.set(got.c.el, o.locator.query);
  }
  if (o.secret) {
    S.secrets = S.secrets || new Set();
    S.secrets.add(el);
    delete out.element.value;
  }
  if (el.localName === "select")
    return Object.assign(out, fillSelect(el, o.value, say));
  if (isToggle(el))
    return fillToggle(o, el, out, say);
  if (el.type === "file" && el.localName === "input")
    throw new Refusal("value", "files cannot be given to a page");
  if (typeof o.value === "boolean" || typeof o.value === "object")
    throw new Refusal("value", "a field of text takes a text");
  const text = String(o.value);
  if (el.localName === "input" && PICKED.has(el.type)) {
    el.focus();
    setNative(el, text);
    if (el.value !== text && !(el.type === "range" || el.type === "color"))
      throw new Refusal("value", `a field of type ${el.type} does not take this text`);
    return Object.assign(out, {how: "done"});
  }
  if (isCustom(el))
    throw new Refusal("operable", sayElement(el) + " is no field");
  selectAll(el);
  if (!el.isConnected && o.timeoutMs > 0)
    return fill(Object.assign(o, {timeoutMs: Math.max(0, o.timeoutMs - (now() - began))}));
  if (el.ownerDocument.activeElement !== el && el.getRootNode().activeElement !== el)
    throw new Refusal("operable", sayElement(el) + " does not take the focus");
  if (o.origin !== undefined) {
    insertNow(el, text);
    return Object.assign(out, {how: "typed"});
  }
  return Object.assign(out, {how: text === "" ? "erase" : "insert"});
}

function textOf(el) {
  return el.isContentEditable ? el.innerText : el.value;
}

const same = (a, b) => a.replace(/\s+/g, " ").trim() === b.replace(/\s+/g, " ").trim();

// After the text was put in: pages may refuse or change it.
async function filled(o) {
  await new Promise((done) => setTimeout(done, 0));
  const el = S.lastField;
  const text = String(o.value);
  const warnings = [];
  if (isToggle(el)) {
    const press = await pressed();
    if (!press.hit)
      return press;
    const toggle = S.field || el;
    if (isOn(toggle) !== S.wanted)
      warnings.push("the page did not keep the state of the box");
    return {warnings};
  }
  if (!el.isConnected)
    return {warnings: ["the page replaced the field while it was filled"]};
  if (textOf(el) === "" && text.trim() !== "" && !el.isContentEditable) {
    setNative(el, text);
    warnings.push("the page takes no typed text here; it was set by script");
  }
  if (!same(textOf(el), text))
    warnings.push("the page keeps another text in the field than was given");
  return {warnings};
}
