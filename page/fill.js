// fill: puts a value into a field, whatever kind of field it is. Text itself is
// typed by the worker through the browser.
const TYPED = new Set(["text", "search", "email", "url", "tel", "password", "number", ""]);
const PICKED = new Set(["date", "time", "datetime-local", "month", "week", "color", "range"]);

// The field itself where a label, or what wraps it, was found.
function fieldOf(el) {
  if (el.localName === "label" && el.control)
    return el.control;
  if (/^(input|textarea|select)$/.test(el.localName) || el.isContentEditable || isOpener(el) || isGroup(el))
    return selectBehind(el) || el;
  const inner = el.querySelector("input:not([type=hidden]),textarea,select,[contenteditable=true]");
  return selectBehind(inner || el) || inner || el;
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

async function fillable(c, o) {
  if (isFile(o.value))
    return {why: c.seen || fileFieldOf(c.el) !== null ? null : "is not visible"};
  if (isGroup(c.el) && c.seen && c.enabled)
    return {why: typeof o.value === "boolean" && membersOf(c.el).length > 1 ? "is a group: name one of its choices" : null};
  const el = fieldOf(c.el);
  // It was found by what all of them are called.
  if (o.value === true && o.locator.mode === "semantic" && roleOf(el) === "radio" && radiosOf(el).length > 1 &&
      closeness(wordsOf(o.locator.query), wordsOf(nameOf(el, "radio"))) < FOUND_AT)
    return {why: "is a group: name one of its choices"};
  if (isSameChoice(el, o))
    return {why: null};
  if (!c.seen && companionOf(el) === null)
    return {why: "is not visible"};
  if (!c.enabled || !isEnabled(el))
    return {why: "is disabled"};
  if ((el.readOnly === true && !isChooser(el)) || el.getAttribute("aria-readonly") === "true")
    return {why: "can only be read"};
  if (isChooser(el, o.free || o.secret))
    return {why: null};
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

const radiosOf = (el) => el.localName === "input" ? namesakes(el)
  : membersOf(el.closest("[role=radiogroup]") || el.parentElement);

function planToggle(el, value, say) {
  const radio = el.type === "radio" || el.getAttribute("role") === "radio";
  if (typeof value === "string" && radio)
    return {el: memberOf(radiosOf(el), value, say), on: true};
  let on = value;
  if (typeof on === "string" && /^(true|on|yes|1|checked)$/i.test(on))
    on = true;
  else if (typeof on === "string" && /^(false|off|no|0|)$/i.test(on))
    on = false;
  if (typeof on !== "boolean")
    throw new Refusal("value", "a box is ticked by true and false");
  if (radio && !on && isOn(el))
    throw new Refusal("value", "a choice is undone by choosing another");
  return {el, on};
}

// Presses the next box that is not as it is to be.
async function toggleNext() {
  while (S.toggles.length > 0 && isOn(S.toggles[0].el) === S.toggles[0].on)
    S.toggles.shift();
  if (S.toggles.length === 0)
    return {how: "done"};
  const {el, on} = S.toggles[0];
  S.field = S.el = el;
  S.wanted = on;
  const c = {el, seen: isSeen(el), enabled: isEnabled(el)};
  if (!c.enabled)
    throw new Refusal("operable", sayElement(el) + " is disabled");
  let state = await reach(c);
  for (let n = 0; state.again && n < 20; n++)
    state = await reach(c);
  if (state.why !== null)
    return {how: "script"};
  guard(state.target);
  return {how: "press", x: state.at.x, y: state.at.y};
}

// It was pressed, by hand or by script.
async function toggled() {
  const warnings = [];
  if (S.plan === "press") {
    const press = await pressed();
    if (!press.hit)
      return press;
  }
  if (isOn(S.field) !== S.wanted)
    warnings.push("the page did not keep the state of the box");
  S.toggles.shift();
  return Object.assign(await toggleNext(), {warnings});
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
  const got = await find(o, (c) => fillable(c, o));
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
  const got = await find(o, (c) => fillable(c, o));
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
  S.toggles = null;
  if (!isSameChoice(el, o))
    S.choice = null;
  if (isFile(o.value))
    return Object.assign(out, fillFile(got.c.el, o.value));
  if (isGroup(got.c.el) || isToggle(el)) {
    S.toggles = isGroup(got.c.el) ? planGroup(got.c.el, o.value, say) : [planToggle(el, o.value, say)];
    return Object.assign(out, await toggleNext());
  }
  if (isChooser(el, o.free || o.secret) && typeof o.value !== "boolean")
    return choose(el, o, out);
  if (el.localName === "select")
    return Object.assign(out, fillSelect(el, o.value, say));
  if (el.type === "file" && el.localName === "input")
    throw new Refusal("value", "a field of files takes a file");
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
  S.entered = el;
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

// After the text was put in: pages may refuse or change it, or go elsewhere.
async function filled(o) {
  await new Promise((done) => setTimeout(done, 0));
  const el = S.lastField;
  const text = String(o.value);
  const warnings = [];
  if (!el)
    return {warnings: ["the page loaded another document when the field was filled"]};
  if (S.toggles)
    return toggled();
  if (S.choice)
    return S.choice.done ? {} : chooseOn(o);
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
