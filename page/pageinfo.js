// pageinfo: what a person could operate on this page, by accessibility role,
// and what kind of page it is.
const INPUT_ROLES = {button: "button", submit: "button", reset: "button", image: "button",
  file: "button", color: "button", checkbox: "checkbox", radio: "radio", range: "slider",
  number: "spinbutton", search: "searchbox"};
const OPERABLE = new Set(["button", "link", "textbox", "searchbox", "checkbox", "radio",
  "combobox", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "slider",
  "spinbutton", "switch", "tab", "treeitem"]);
const ID_PREFIX = {button: "btn", textbox: "input", searchbox: "search", checkbox: "chk",
  combobox: "select", listbox: "select", menuitem: "menu", menuitemcheckbox: "menu",
  menuitemradio: "menu", spinbutton: "number"};
const CANDIDATES = "a[href],area[href],button,summary,input,select,textarea,[role]," +
  "[contenteditable]:not([contenteditable=false])";
// Fields whose content is nobody's business.
const SECRET = /passw|passwd|pwd|secret|token|\botp\b|one-time|\bpin\b|cvc|cvv|cc-|card.?n|ssn|iban/i;

function roleOf(el) {
  const explicit = el.getAttribute("role");
  if (explicit) {
    for (const r of explicit.toLowerCase().split(/\s+/)) {
      if (OPERABLE.has(r))
        return r;
    }
  }
  switch (el.localName) {
  case "a":
  case "area":
    return el.hasAttribute("href") ? "link" : "";
  case "button":
  case "summary":
    return "button";
  case "select":
    return el.multiple || el.size > 1 ? "listbox" : "combobox";
  case "textarea":
    return "textbox";
  case "input":
    if (el.type === "hidden")
      return "";
    if (el.hasAttribute("list") && !INPUT_ROLES[el.type])
      return "combobox";
    return INPUT_ROLES[el.type] || "textbox";
  }
  return el.isContentEditable && !(el.parentElement && el.parentElement.isContentEditable)
    ? "textbox" : "";
}

// The text a person would read in el: hidden parts left out, images by their
// alternative text, parts of a line not torn from it; at most about 200
// characters and 60 nodes. Of a label, what it labels is no part.
const FIELDS = new Set(["input", "select", "textarea", "button", "output", "meter", "progress"]);

function textIn(el, isLabel) {
  if (!el.firstElementChild)
    return clean(cut(el.textContent, 400));
  let text = "";
  let nodes = 0;
  const walk = (node) => {
    for (const n of node.childNodes) {
      if (++nodes > 60 || text.length > 200)
        return;
      if (n.nodeType === 3)
        text += n.data.slice(0, 400);
      else if (n.nodeType === 1) {
        if (n.localName === "script" || n.localName === "style" ||
            n.getAttribute("aria-hidden") === "true" || n.hidden ||
            (isLabel && FIELDS.has(n.localName)))
          continue;
        const gap = /^(inline|contents)$/.test(getComputedStyle(n).display) ? "" : " ";
        text += gap;
        const label = n.getAttribute("aria-label");
        if (label)
          text += label;
        else if (n.localName === "img")
          text += n.getAttribute("alt") || "";
        else if (n.localName === "svg")
          text += (n.querySelector("title") || {textContent: ""}).textContent;
        else
          walk(n);
        text += gap;
      }
    }
  };
  walk(el);
  return clean(text);
}

function referred(el, name) {
  const root = el.getRootNode();
  const texts = [];
  for (const id of (el.getAttribute(name) || "").split(/\s+/).slice(0, 8)) {
    const target = id && root.getElementById ? root.getElementById(id) : null;
    if (target)
      texts.push(target.getAttribute("aria-label") || textIn(target));
  }
  return clean(texts.join(" "));
}

function labelText(el) {
  const texts = [];
  for (const label of el.labels || [])
    texts.push(textIn(label, true));
  return clean(texts.join(" "));
}

// What the browser itself writes on a button that has no text.
const BUTTON_NAMES = {submit: "Submit", reset: "Reset"};

// A reasonable part of the accessible name computation, in its order.
function nameOf(el, role) {
  let name = referred(el, "aria-labelledby") || attr(el, "aria-label");
  if (name)
    return name;
  const tag = el.localName;
  if (tag === "input" || tag === "select" || tag === "textarea") {
    name = labelText(el);
    if (!name && role === "button")
      name = attr(el, "value") || attr(el, "alt") ||
        BUTTON_NAMES[el.type] || "";
    if (!name && el.type === "file")
      name = attr(el, "title") || (el.multiple ? "Choose Files" : "Choose File");
    return name || attr(el, "title") || attr(el, "placeholder") || attr(el, "name");
  }
  if (tag === "button")
    name = labelText(el);
  if (!name && role !== "textbox" && role !== "searchbox" && role !== "combobox" && role !== "listbox")
    name = textIn(el);
  return name || attr(el, "title") || attr(el, "placeholder") || attr(el, "alt");
}

function addStates(out, el, role) {
  const aria = (name) => el.getAttribute("aria-" + name);
  if (el.matches(":disabled") || aria("disabled") === "true")
    out.disabled = true;
  if (role === "checkbox" || role === "radio" || role === "switch" || role.startsWith("menuitem")) {
    if (el.checked === true || aria("checked") === "true")
      out.checked = true;
    else if (el.indeterminate === true || aria("checked") === "mixed")
      out.mixed = true;
  }
  if (aria("selected") === "true")
    out.selected = true;
  if (aria("pressed") === "true")
    out.pressed = true;
  if (aria("expanded") !== null)
    out.expanded = aria("expanded") === "true";
  else if (el.localName === "summary" && el.parentElement)
    out.expanded = el.parentElement.open === true;
  if (aria("current") && aria("current") !== "false")
    out.current = true;
  if (el.required === true || aria("required") === "true")
    out.required = true;
  if (el.readOnly === true || aria("readonly") === "true")
    out.readonly = true;
  if (aria("invalid") === "true")
    out.invalid = true;
  if (el.ownerDocument.activeElement === el)
    out.focused = true;
}

function isSecret(el, name) {
  return el.type === "password" || SECRET.test([el.name, el.id,
    el.getAttribute("autocomplete"), name].join(" "));
}

function valueOf(el, role, name) {
  if (role === "combobox" && el.localName === "select")
    return el.selectedOptions.length > 0 ? textIn(el.selectedOptions[0]) : "";
  if (role === "textbox" || role === "searchbox" || role === "combobox" ||
      role === "spinbutton" || role === "slider") {
    if (isSecret(el, name))
      return "";
    if (el.isContentEditable)
      return textIn(el);
    return typeof el.value === "string" ? clean(el.value) : clean(el.getAttribute("aria-valuenow"));
  }
  return "";
}

function idOf(role, name, n) {
  const slug = cut(name.replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, ""), 20);
  return (ID_PREFIX[role] || role) + (slug ? "_" + slug : "") + "_" + n;
}

function rectOf(el) {
  const r = el.getBoundingClientRect();
  return [r.x + scrollX, r.y + scrollY, r.width, r.height].map(Math.round);
}

function describe(item, o) {
  const {el, role, region, n} = item;
  const name = cut(nameOf(el, role), 120);
  const out = {id: o.ids ? idOf(role, name, n) : undefined, role, name, tag: el.localName};
  if (el.localName === "input" || (el.localName === "button" && el.type !== "submit"))
    out.type = el.type;
  if (role === "link" && typeof el.href === "string")
    out.href = cut(el.href.toWellFormed(), 1000);
  const value = cut(valueOf(el, role, name), 200);
  if (value)
    out.value = value;
  addStates(out, el, role);
  if (region)
    out.region = region;
  if (o.rects)
    out.rect = rectOf(el);
  return out;
}

// Which elements are left when not all fit: what can be filled in, then what
// can be pressed, then the links of the main part.
function rank(item) {
  if (item.role === "link")
    return item.region === "nav" || item.region === "footer" || item.region === "header" ? 3 : 2;
  return item.role === "button" || item.role === "option" ? 1 : 0;
}

function collect(roots) {
  const regions = new Map();
  const order = [];
  const inRegion = new Map();
  const regionFor = (el) => {
    if (!el || inRegion.has(el))
      return el ? inRegion.get(el) : "";
    const region = regionOf(el) || regionFor(parentOf(el));
    inRegion.set(el, region);
    return region;
  };
  const items = [];
  for (const root of roots) {
    for (const el of root.querySelectorAll(CANDIDATES)) {
      if (spent())
        break;
      const role = roleOf(el);
      if (!role || !visible(el))
        continue;
      const region = regionFor(parentOf(el));
      items.push({el, role, region});
      if (region) {
        if (!regions.has(region))
          order.push(region);
        regions.set(region, (regions.get(region) || 0) + 1);
      }
    }
    for (const el of root.querySelectorAll("header,nav,main,aside,footer,dialog,form,search,[role]")) {
      const region = regionOf(el);
      if (region && !regions.has(region) && visible(el)) {
        regions.set(region, 0);
        order.push(region);
      }
    }
  }
  return {items, regions: order.map((name) => ({name, elements: regions.get(name)}))};
}

function choose(items, max) {
  if (items.length <= max)
    return items;
  const ranked = items.map((item, at) => ({at, rank: rank(item)}));
  ranked.sort((a, b) => a.rank - b.rank || a.at - b.at);
  return ranked.slice(0, max).map((r) => r.at).sort((a, b) => a - b).map((at) => items[at]);
}

function countRoles(items, roots) {
  const counts = {};
  for (const item of items)
    counts[item.role] = (counts[item.role] || 0) + 1;
  for (const [role, selector] of [["heading", "h1,h2,h3,h4,h5,h6,[role=heading]"],
    ["image", "img,[role=img]"], ["list", "ul,ol,[role=list]"],
    ["listitem", "li,[role=listitem]"], ["table", "table,[role=table],[role=grid]"],
    ["article", "article,[role=article]"], ["form", "form,[role=form]"],
    ["paragraph", "p"], ["iframe", "iframe"]]) {
    let n = 0;
    for (const root of roots)
      n += root.querySelectorAll(selector).length;
    if (n > 0)
      counts[role] = n;
  }
  return counts;
}

function summarise(type, title, items, counts) {
  const fields = items.filter((i) => rank(i) === 0).length;
  const parts = [];
  const say = (n, word) => n > 0 && parts.push(n + " " + word + (n === 1 ? "" : "s"));
  say(counts.heading, "heading");
  say(counts.link, "link");
  say(counts.button, "button");
  say(fields, "field");
  say(counts.table, "table");
  const kind = type === "unknown" ? "page" : type.replace("_", " ") + " page";
  const h1 = document.querySelector("h1");
  const main = h1 ? cut(textIn(h1), 120) : "";
  return cut(kind[0].toUpperCase() + kind.slice(1) +
    (title ? " \u201c" + cut(title, 120) + "\u201d" : "") +
    (main && main !== title ? ", main heading \u201c" + main + "\u201d" : "") +
    (parts.length > 0 ? ", with " + parts.join(", ") : "") + ".", 400);
}

function pageInfo(o) {
  const roots = allRoots();
  const {items, regions} = collect(roots);
  items.forEach((item, at) => {
    item.n = at + 1;
  });
  const chosen = choose(items, o.maxElements);
  const counts = countRoles(items, roots);
  const title = cut(clean(document.title), 300);
  const type = pageType(items, counts);
  return markSeen({
    title,
    url: location.href.toWellFormed(),
    lang: cut(attr(document.documentElement, "lang"), 35),
    type,
    summary: summarise(type, title, items, counts),
    elements: chosen.map((item) => describe(item, o)),
    totalElements: items.length,
    truncated: chosen.length < items.length,
    counts,
    regions,
  });
}
