// locate: finds the element that a locator means. By a CSS selector, or by
// what a person would call it: its accessible name, label, placeholder, title,
// the words beside it, autocomplete, name, id and type, in any language. The
// document, its open shadow roots and its frames of the same origin are
// searched. What cannot be operated loses to what can.
const FOUND_AT = 0.5; // from this score on it is meant
const LOOK_AT = 4000; // so many candidates are looked at

// What opens a list of choices, whatever it is made of.
const OPENERS = "[aria-haspopup=listbox],[data-bs-toggle=dropdown],[data-toggle=dropdown]";

const KINDS = {
  field: "input:not([type=hidden],[type=submit],[type=button],[type=reset],[type=image])," +
    "textarea,select,[contenteditable]:not([contenteditable=false]),[role=textbox]," +
    "[role=searchbox],[role=combobox],[role=listbox],[role=spinbutton],[role=slider]," +
    "[role=checkbox],[role=radio],[role=switch],fieldset,[role=group],[role=radiogroup]," + OPENERS,
  button: "button,input[type=submit],input[type=button],input[type=reset],input[type=image]," +
    "summary,[role=button],[role=menuitem],[role=tab],[role=option],[role=switch]",
  link: "a[href],area[href],[role=link]",
  other: "a:not([href]),[onclick],[tabindex]:not([tabindex='-1']),label,[role]",
};

// ---- candidates ----

// The words beside a field that no label names: what stands before it, in its
// row or in the cell before.
function wordsBeside(el) {
  const own = (node) => node.nodeType === 3 ? clean(cut(node.data, 200))
    : node.nodeType === 1 && !node.querySelector("input,select,textarea,button") &&
      !/^(script|style|input|select|textarea|button)$/.test(node.localName)
      ? clean(cut(node.textContent, 200)) : "";
  let at = el;
  for (let up = 0; up < 3 && at && at.parentElement; up++) {
    let node = at.previousSibling;
    for (let n = 0; node && n < 4; n++, node = node.previousSibling) {
      const text = own(node);
      if (text !== "")
        return cut(text, 80);
      if (node.nodeType === 1 && node.querySelector("input,select,textarea"))
        return "";
    }
    at = at.parentElement;
    if (at.localName === "form" || at.querySelectorAll("input:not([type=hidden]),select,textarea").length > 1)
      return "";
  }
  return "";
}

// The words of a control that is only a picture.
function wordsOfPicture(el) {
  const words = [];
  for (const e of [el, ...el.querySelectorAll("i,span,svg,use,img")].slice(0, 6)) {
    words.push(String(e.getAttribute("class") || ""), e.getAttribute("data-icon") || "",
      (e.getAttribute("href") || "").startsWith("#") ? e.getAttribute("href") : "");
  }
  return words.join(" ").replace(/(^|\s)(fa|fas|far|bi|icon|glyphicon|material|btn|ico)([-\s]|$)/g, " ");
}

// What is said about an element, each with how much it counts.
function said(el, role, isField) {
  const out = [];
  const put = (weight, words) => words.tight !== "" && out.push([weight, words]);
  const name = role === "group" ? groupName(el) : nameOf(el, role);
  const isName = name !== "" && name !== attr(el, "name");
  if (isName) {
    put(1, wordsOf(name));
    put(0.98, withoutNoise(wordsOf(name)));
  }
  put(0.95, withoutNoise(wordsOf(attr(el, "placeholder") || attr(el, "aria-placeholder"))));
  put(0.92, wordsOf(attr(el, "title")));
  put(0.92, wordsOf(attr(el, "aria-label")));
  put(0.9, wordsOf(referred(el, "aria-describedby")));
  put(0.85, wordsOfName(attr(el, "name")));
  put(0.82, wordsOfName(cut(attr(el, "id"), 60)));
  put(0.8, wordsOfName(attr(el, "data-testid") || attr(el, "data-test") || attr(el, "data-name")));
  if (isField) {
    if (!isName || attr(el, "placeholder") === name)
      put(0.94, withoutNoise(wordsOf(wordsBeside(el))));
    for (const token of attr(el, "autocomplete").toLowerCase().split(" ")) {
      if (CONCEPT_AUTOCOMPLETE[token])
        out.push([1, stands(CONCEPT_AUTOCOMPLETE[token])]);
    }
    if (el.localName === "input" && CONCEPT_TYPE[el.type])
      out.push([0.97, stands(CONCEPT_TYPE[el.type])]);
    if (role === "searchbox")
      out.push([0.97, stands("search")]);
    if (role === "radio" || role === "checkbox")
      put(0.8, wordsOf(attr(el, "value")));
    if (role === "radio")
      put(0.88, wordsOf(wordsBeforeRadios(el)));
    if (isOpener(el))
      put(0.94, withoutNoise(wordsOf(wordsBeside(el))));
    return out;
  }
  if (el.localName === "input")
    put(0.95, wordsOf(attr(el, "value")));
  if (!isName) {
    put(0.75, wordsOfName(wordsOfPicture(el)));
    if (el.type === "submit")
      out.push([0.8, stands("submit")]);
  }
  if (el.type === "submit" && el.form && el.form.querySelector("input[type=password]") !== null &&
      el.form.querySelectorAll("input[type=password]").length === 1)
    out.push([0.85, stands("login")]);
  for (const rel of attr(el, "rel").toLowerCase().split(" ")) {
    if (rel === "next")
      out.push([0.97, stands("next")]);
    else if (rel === "prev")
      out.push([0.97, stands("previous")]);
  }
  return out;
}

function isEnabled(el) {
  return !el.matches(":disabled") && el.closest("[aria-disabled=true],[inert]") === null;
}

// What a person sees and may press of it; null when that is nothing.
function boxOf(el) {
  const box = (e) => {
    for (const r of e.getClientRects()) {
      if (r.width >= 1 && r.height >= 1)
        return r;
    }
    return null;
  };
  if (!visible(el))
    return null;
  let r = box(el);
  if (r === null) {
    for (const inner of [...el.querySelectorAll("*")].slice(0, 20)) {
      r = visible(inner) ? box(inner) : null;
      if (r !== null)
        return r;
    }
  }
  return r;
}

// Fields are often hidden behind what their label draws.
function labelOf(el) {
  for (const label of el.labels || []) {
    if (boxOf(label) !== null)
      return label;
  }
  return null;
}

function isSeen(el) {
  return boxOf(el) !== null ||
    (/^(checkbox|radio|file)$/.test(el.type) && labelOf(el) !== null);
}

const FIELD_ROLES = new Set(["textbox", "searchbox", "combobox", "listbox", "spinbutton",
  "slider", "checkbox", "radio", "switch", "group"]);

function kindOf(el, role) {
  if (role === "link")
    return "link";
  if (el.localName === "input" && /^(file|color|range)$/.test(el.type))
    return "field";
  return FIELD_ROLES.has(role) ? "field" : "button";
}

function candidates(roots, kind) {
  const selector = kind === "field" ? KINDS.field
    : kind === "any" ? Object.values(KINDS).join(",")
      : [KINDS.button, KINDS.link, KINDS.other].join(",");
  const out = [];
  for (const root of roots) {
    for (const el of root.querySelectorAll(selector)) {
      if (out.length >= LOOK_AT)
        return out;
      out.push(el);
    }
  }
  return out;
}

// Where people say "email" to a field of a user name, and the other way round.
const logins = new Map();

function isOfLogin(el) {
  const form = el.form || el.closest("form") || el.getRootNode();
  if (!logins.has(form)) {
    const fields = [...form.querySelectorAll("input:not([type=hidden],[type=submit],[type=button],[type=checkbox]),textarea,select")];
    logins.set(form, fields.length === 1 || fields.filter((f) => f.type === "password").length === 1);
  }
  return logins.get(form);
}

function scoreOf(el, q, kind) {
  const role = isGroup(el) ? "group" : roleOf(el) || "";
  const is = kind === "field" && isOpener(el) ? "field" : kindOf(el, role);
  if (kind === "field" ? is !== "field" : kind !== "any" && is === "field" && role !== "switch")
    return null;
  if (el.localName === "label" && el.control && el.control !== el)
    return null;
  let words = 0;
  // A field that is there for another thing is not filled in instead.
  const near = is === "field" ? isOfLogin(el) : kind !== "link";
  for (const [weight, t] of said(el, role, is === "field")) {
    const other = is === "field" && !near && isOther(q.bare, t) ? 0.5 : 1;
    words = Math.max(words, weight * other * closeness(q.bare, t), weight * other * closeness(q.all, t),
      weight * meaning(q.bare, t, near), weight * meaning(q.all, t, near));
  }
  if (words === 0)
    return null;
  let score = words;
  if (kind !== "any" && is !== kind)
    score *= 0.9;
  if (role === "")
    score *= 0.85;
  const seen = isSeen(el);
  const enabled = isEnabled(el);
  return {el, role, score, rank: score * (seen ? 1 : 0.25) * (enabled ? 1 : 0.55), seen, enabled};
}

// The smallest elements that say just this, whatever they are made of: people
// press what they read.
function byText(roots, q) {
  const out = [];
  for (const root of roots) {
    const walker = (root.ownerDocument || root).createTreeWalker(root.body || root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (spent() || out.length >= 20)
        return out;
      if (node.length > 200 || node.data.trim() === "")
        continue;
      const el = node.parentElement;
      if (!el || NOT_SAID.has(el.localName))
        continue;
      const score = 0.7 * closeness(q.all, wordsOf(textIn(el)));
      if (score < FOUND_AT)
        continue;
      const seen = isSeen(el);
      const enabled = isEnabled(el);
      out.push({el, role: roleOf(el) || "", score, seen, enabled,
        rank: score * (seen ? 1 : 0.25) * (enabled ? 1 : 0.55)});
    }
  }
  return out;
}
const NOT_SAID = new Set(["script", "style", "noscript", "template", "title", "option", "textarea"]);

// Forms that are not what the page is for: a search in its head, a newsletter
// in its foot.
function asideFactor(el) {
  return el.closest("footer,[role=contentinfo]") !== null ? 0.85 : 1;
}

function bySemantics(locator, roots) {
  const all = wordsOf(locator.query);
  logins.clear();
  const q = {all, bare: withoutNoise(all)};
  const kind = KINDS[locator.kind] ? locator.kind : "any";
  let found = [];
  for (const el of candidates(roots, kind)) {
    if (spent())
      break;
    const c = scoreOf(el, q, kind);
    if (c !== null)
      found.push(c);
  }
  if (kind !== "field" && !found.some((c) => c.rank >= FOUND_AT))
    found = found.concat(byText(roots, q));
  const nth = kind === "field" ? 0 : nthOf(all.text);
  if (nth !== 0 && !found.some((c) => c.rank >= 0.9))
    return nthResult(roots, nth);
  for (const c of found)
    c.rank *= asideFactor(c.el);
  // A part of a found element that says the same is that element.
  found = found.filter((c) => !found.some((d) => d !== c && d.el !== c.el && d.role !== "group" &&
    d.el.contains(c.el) && d.role !== "" && d.rank >= c.rank * 0.95));
  found.sort((a, b) => b.rank - a.rank);
  for (const c of found.slice(0, 4)) {
    if (c.rank >= FOUND_AT && pointOf(c.el) === null && isInView(c.el))
      c.rank *= 0.9;
  }
  found.sort((a, b) => b.rank - a.rank);
  return found;
}

function bySelector(locator, roots) {
  const found = [];
  for (const root of roots) {
    for (const el of root.querySelectorAll(locator.selector)) {
      if (found.length >= LOOK_AT)
        break;
      const seen = isSeen(el);
      const enabled = isEnabled(el);
      found.push({el, role: roleOf(el) || "", score: 1, seen, enabled,
        rank: (seen ? 1 : 0.25) * (enabled ? 1 : 0.55)});
    }
  }
  found.sort((a, b) => b.rank - a.rank);
  return found;
}

class Refusal extends Error {
  constructor(code, message, extra) {
    super(message);
    this.code = code;
    this.extra = extra;
  }
}

function checkLocator(locator) {
  if (!locator || typeof locator !== "object")
    throw new Refusal("locator", "the locator is no object");
  if (locator.mode === "pager" || locator.mode === "consent")
    return;
  if (locator.mode === "selector") {
    if (typeof locator.selector !== "string" || locator.selector.trim() === "")
      throw new Refusal("locator", "a locator of mode selector needs a selector");
    try {
      document.createDocumentFragment().querySelector(locator.selector);
    } catch {
      throw new Refusal("locator", `${quote(locator.selector)} is not a CSS selector`);
    }
  } else if (locator.mode === "semantic") {
    if (typeof locator.query !== "string" || wordsOf(locator.query).tight === "")
      throw new Refusal("locator", "a locator of mode semantic needs a query");
    if (locator.kind !== undefined && !/^(field|button|link|any)$/.test(locator.kind))
      throw new Refusal("locator", "the kind of a locator is field, button, link or any");
  } else
    throw new Refusal("locator", "the mode of a locator is selector or semantic");
}

// All that could be meant, the best first; those below FOUND_AT are not.
function locate(locator) {
  workAnew();
  const roots = allRoots();
  const found = locator.mode === "selector" ? bySelector(locator, roots)
    : locator.mode === "pager" ? byPager(roots)
    : locator.mode === "consent" ? byConsent(locator, roots)
      : bySemantics(locator, roots);
  return {found: found.filter((c) => c.score >= FOUND_AT && !isTaken(c.el, locator)),
    others: found.filter((c) => c.score < FOUND_AT), roots};
}

// ---- where it is ----

// The frame elements that hold a node's document, the innermost first.
function framesOf(el) {
  const frames = [];
  let view = el.ownerDocument.defaultView;
  while (view && view !== window && view.frameElement && frames.length < 10) {
    frames.push(view.frameElement);
    view = view.frameElement.ownerDocument.defaultView;
  }
  return frames;
}

function deepestAt(doc, x, y) {
  let el = doc.elementFromPoint(x, y);
  for (let n = 0; el && el.shadowRoot && n < 20; n++) {
    const inner = el.shadowRoot.elementFromPoint(x, y);
    if (inner === null || inner === el)
      break;
    el = inner;
  }
  return el;
}

function isWithin(node, el) {
  for (let at = node; at; at = at.parentNode || at.host) {
    if (at === el)
      return true;
  }
  return false;
}

// Pressing hit presses el: it is a part of it, or of its label, or el is a
// part of a control that hit belongs to.
function presses(hit, el) {
  if (isWithin(hit, el))
    return true;
  for (const label of el.labels || []) {
    if (isWithin(hit, label))
      return true;
  }
  const control = el.closest("a[href],button,label,[role=button],[role=link],[role=tab],[role=menuitem]");
  return control !== null && control !== el && isWithin(hit, control) && isWithin(el, control);
}

// What lies at a point of el's own viewport, seen from the top: el, or what
// covers it. x and y become those of the top's viewport.
function hitAt(el, x, y) {
  let hit = deepestAt(el.ownerDocument, x, y);
  let good = hit !== null && presses(hit, el);
  for (const frame of framesOf(el)) {
    const r = frame.getBoundingClientRect();
    x += r.left + frame.clientLeft;
    y += r.top + frame.clientTop;
    const outer = deepestAt(frame.ownerDocument, x, y);
    if (good && outer !== frame) {
      good = false;
      hit = outer;
    }
  }
  return {good, hit, x, y};
}

// Points of it that are worth a try, in its own viewport.
function pointsOf(el) {
  const points = [];
  const view = el.ownerDocument.defaultView;
  const rects = [];
  const own = el.getClientRects();
  for (const r of own.length > 0 ? own : [boxOf(el)]) {
    if (r && r.width >= 1 && r.height >= 1 && rects.length < 4)
      rects.push(r);
  }
  const main = boxOf(el);
  if (rects.length === 0 && main)
    rects.push(main);
  for (const [fx, fy] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.5], [0.9, 0.5]]) {
    for (const r of rects) {
      const left = Math.max(r.left, 0);
      const right = Math.min(r.right, view.innerWidth);
      const top = Math.max(r.top, 0);
      const bottom = Math.min(r.bottom, view.innerHeight);
      if (right - left >= 1 && bottom - top >= 1)
        points.push([left + (right - left) * fx, top + (bottom - top) * fy]);
    }
  }
  return points;
}

function pointOf(el) {
  for (const [x, y] of pointsOf(el)) {
    const at = hitAt(el, x, y);
    if (at.good)
      return at;
  }
  return null;
}

function isInView(el) {
  return pointsOf(el).length > 0;
}

// ---- words for people ----

function quote(text) {
  return "\u201c" + cut(clean(text), 60) + "\u201d";
}

function sayElement(el) {
  const role = roleOf(el);
  const name = cut(role ? nameOf(el, role) : textIn(el), 60);
  let tag = "<" + el.localName;
  if (el.id)
    tag += " id=" + cut(clean(String(el.getAttribute("id"))), 40);
  else if (el.getAttribute("class"))
    tag += " class=" + cut(clean(el.getAttribute("class")), 40);
  return (role || tag + ">") + (name ? " " + quote(name) : role ? " " + tag + ">" : "");
}

function sayLocator(locator) {
  if (locator.mode === "selector")
    return `no element fits the selector ${quote(locator.selector)}`;
  if (locator.mode === "pager" || locator.mode === "consent")
    return locator.mode === "pager" ? "nothing leads on" : `no banner has a button to ${locator.answer}`;
  const kind = locator.kind && locator.kind !== "any" ? locator.kind : "element";
  return `no ${kind} is called ${quote(locator.query)}`;
}

// What is there instead, so that whoever asked can ask better.
function sayNearest(locator, others) {
  const kind = locator.kind || "any";
  const fits = (el) => isSeen(el) && roleOf(el) && (kind === "field" ? !isTaken(el, locator)
    : el.closest("nav,footer,[role=navigation],[role=contentinfo]") === null);
  let near = others.map((c) => c.el).filter(fits).slice(0, 5);
  if (near.length === 0)
    near = candidates(allRoots(), kind === "any" ? "field" : kind).filter(fits).slice(0, 5);
  return near.length === 0 ? "" : "; nearest: " + near.map(sayElement).join(", ");
}

function infoOf(c) {
  const {el, role} = c;
  const r = el.getBoundingClientRect();
  const out = {role, name: cut(role ? nameOf(el, role) : textIn(el), 120), tag: el.localName,
    visible: c.seen, enabled: c.enabled,
    rect: [Math.round(r.x), Math.round(r.y), Math.round(r.width), Math.round(r.height)]};
  const id = cut(attr(el, "id"), 120);
  if (id)
    out.id = id;
  if (typeof el.type === "string" && /^(input|button)$/.test(el.localName))
    out.type = el.type;
  if (role === "link" && typeof el.href === "string")
    out.href = cut(el.href.toWellFormed(), 2000);
  addStates(out, el, role);
  const value = S.secrets && S.secrets.has(el) ? "" : cut(valueOf(el, role, out.name), 200);
  if (value)
    out.value = value;
  out.score = Math.round(c.score * 100) / 100;
  return out;
}
