// choose: lists of choices of the page's own making: comboboxes, buttons that
// open a list, fields that offer what fits the text in them, and what widgets
// draw over a select. A person opens one, types into it, reads what it offers
// and presses that; so does this, one press or text at a time: each step answers
// what the hands do next, and goes on when they are done.
const CHOOSE_MS = 4000; // a list has so long to come
const REST_OF_LIST_MS = 400; // a list of which nothing is just what was asked for
const OFFERS = "[role=combobox],[aria-autocomplete=list],[aria-autocomplete=both],[aria-haspopup=listbox]," +
  ".ui-autocomplete-input,.tt-input,.pac-target-input";
// What is offered: the first kind of which something is there.
const OFFERED = ["[role=option]", "[role^=menuitem],[role=treeitem]", ".dropdown-item,.ui-menu-item,.tt-suggestion,.pac-item", "li",
  "[class*=option],[class*=suggestion]"];

// Fields that can only be read, but open a list.
const WIDGETS = "[class*=select i],[class*=dropdown i],[class*=combo i]";

const isOpener = (el) => el.matches(OPENERS) && el.closest("nav,[role=navigation],header") === null;

function isTextField(el) {
  return (el.localName === "input" && TYPED.has(el.type)) || el.localName === "textarea" || el.isContentEditable;
}

const DRAWN = ".select2-selection,.ts-control,[role=combobox],[aria-haspopup]";

// What a widget shows in place of a select that nobody can see.
function companionOf(el) {
  const r = boxOf(el);
  if (el.localName !== "select" || (r !== null && r.width > 4 && r.height > 4 && getComputedStyle(el).opacity !== "0"))
    return null;
  for (const near of [el.nextElementSibling, el.parentElement, el.parentElement && el.parentElement.parentElement]) {
    if (!near || near.localName === "form" || near.querySelectorAll("select").length > 1)
      continue;
    const found = [near, ...near.querySelectorAll(DRAWN)].find((e) => e.matches(DRAWN) && boxOf(e) !== null);
    if (found)
      return found;
  }
  return null;
}

// The select that a field is drawn for.
function selectBehind(el) {
  for (let at = el.parentElement, up = 0; at && up < 8 && at.localName !== "form"; at = at.parentElement, up++) {
    const inside = at.querySelectorAll("select");
    const drawn = inside.length === 1 ? companionOf(inside[0]) : null;
    if (drawn !== null)
      return drawn === el || drawn.contains(el) ? inside[0] : null;
  }
  return null;
}

// Whether it is filled in by choosing; free: any text may be left in it.
function isChooser(el, free) {
  if (el.localName === "select")
    return companionOf(el) !== null;
  if (el.getAttribute("role") === "listbox" || isOpener(el))
    return true;
  if (isTextField(el) && el.readOnly === true)
    return el.matches(OFFERS + ",[aria-haspopup]") || (el.parentElement !== null && el.parentElement.closest(WIDGETS) !== null);
  if (isTextField(el))
    return (!free && el.type !== "search" && !el.hasAttribute("list") && el.matches(OFFERS));
  return el.getAttribute("role") === "combobox";
}

function offeredIn(root) {
  for (const selector of OFFERED) {
    const found = [...root.querySelectorAll(selector)].filter((e) => boxOf(e) !== null &&
      e.getAttribute("aria-disabled") !== "true" && textIn(e) !== "" && e.querySelector(selector) === null);
    if (found.length > 0)
      return found.slice(0, 500);
  }
  return [];
}

function seenNow() {
  const seen = new Set();
  for (const root of allRoots()) {
    for (const el of root.querySelectorAll(OFFERED.join(","))) {
      if (boxOf(el) !== null)
        seen.add(el);
    }
  }
  return seen;
}

// What the list offers: what it says is its own, else what was not there before.
function offered(choice) {
  const root = choice.target.getRootNode();
  const said = [choice.target, ...choice.target.querySelectorAll("[aria-controls],[aria-owns]"),
    choice.target.closest("[aria-owns],[aria-controls]")];
  for (const el of said.filter((e) => e !== null)) {
    for (const id of `${attr(el, "aria-controls")} ${attr(el, "aria-owns")}`.split(" ")) {
      const list = id && root.getElementById ? root.getElementById(id) : null;
      const own = list === null ? [] : offeredIn(list);
      if (own.length > 0)
        return own;
    }
  }
  if (choice.target.getAttribute("role") === "listbox")
    return offeredIn(choice.target);
  for (const r of allRoots()) {
    const fresh = offeredIn({querySelectorAll: (s) => [...r.querySelectorAll(s)].filter((e) => !choice.before.has(e))});
    if (fresh.length > 0)
      return fresh;
  }
  return [];
}

const valueOfOption = (el) => el.getAttribute("data-value") || el.getAttribute("value") || "";

// The one that is meant: {el, sure}.
function bestOffered(list, wanted) {
  const q = wordsOf(wanted);
  const exact = list.find((e) => textIn(e) === clean(wanted)) || list.find((e) => valueOfOption(e) === wanted) ||
    list.find((e) => wordsOf(textIn(e)).tight === q.tight);
  if (exact)
    return {el: exact, sure: true};
  const near = list.map((e) => [closeness(q, wordsOf(textIn(e))), e]).filter(([s]) => s >= 0.62).sort((a, b) => b[0] - a[0]);
  return near.length === 0 ? null : {el: near[0][1], sure: false};
}

// ---- the steps ----

function isSameChoice(el, o) {
  return S.choice !== undefined && S.choice !== null && !S.choice.done && S.choice.el === el && S.choice.all === JSON.stringify(o.value);
}

async function choose(el, o, out) {
  if (isSameChoice(el, o))
    return Object.assign(out, await chooseOn(o));
  const wanted = (Array.isArray(o.value) ? o.value : [o.value]).map(String);
  const target = companionOf(el) || el;
  const fields = new Set(allRoots().flatMap((r) => [...r.querySelectorAll("input,textarea")]).filter((e) =>
    boxOf(e) !== null && !target.contains(e)));
  S.choice = {el, target, wanted, at: 0, all: JSON.stringify(o.value), before: seenNow(), fields, typed: false, picked: null,
    many: el.multiple === true || wanted.length > 1};
  return Object.assign(out, await openChoice(o));
}

async function openChoice(o) {
  const choice = S.choice;
  const {target} = choice;
  choice.picked = null;
  choice.typed = false;
  if (isTextField(target) && !target.readOnly)
    return typeChoice(target);
  if (target.getAttribute("role") === "listbox" || (target.getAttribute("aria-expanded") === "true" && offered(choice).length > 0))
    return chooseOn(o);
  return pressOn(target, o);
}

function typeChoice(field) {
  S.choice.typed = true;
  S.entered = field;
  selectAll(field);
  return {how: "insert", text: S.choice.wanted[S.choice.at]};
}

// What lies over a field may be a part of the widget that it is in.
async function pressOn(el, o) {
  const end = now() + Math.min(o.timeoutMs, 2000);
  const around = el === S.choice.target && el.parentElement.closest(WIDGETS);
  const tries = around && !isGroup(around) && around.querySelectorAll(NO_MEMBERS).length < 3 ? [el, around] : [el];
  let state = null;
  for (let n = 0; state === null || (state.why !== null && el.isConnected && now() < end); n++) {
    const at = tries[n % tries.length] || el;
    state = await reach({el: at, seen: isSeen(at), enabled: isEnabled(at)});
  }
  if (state.why !== null)
    throw new Refusal("operable", sayElement(el) + " " + state.why);
  S.el = el;
  guard(state.target);
  return {how: "press", x: state.at.x, y: state.at.y};
}

// The hands have pressed or typed: what comes next?
async function chooseOn(o) {
  const choice = S.choice;
  if (S.pressed) {
    const press = await pressed();
    if (!press.hit) {
      choice.picked = null;
      return press;
    }
  }
  return choice.picked === null ? pickNext(o) : chosen(o);
}

// A field of the list that takes a text, which has the focus then.
function filterOf(choice) {
  let el = document.activeElement;
  while (el && el.shadowRoot && el.shadowRoot.activeElement)
    el = el.shadowRoot.activeElement;
  return el && el !== choice.target && !choice.fields.has(el) && isTextField(el) && !el.readOnly && boxOf(el) !== null ? el : null;
}

async function pickNext(o) {
  const choice = S.choice;
  const wanted = choice.wanted[choice.at];
  let list = [];
  let said = "";
  let since = now();
  const end = now() + Math.min(o.timeoutMs, choice.target.localName === "input" && choice.target.readOnly ? 1500 : CHOOSE_MS);
  const look = () => {
    workAnew();
    list = offered(choice);
    const text = list.map(textIn).join("\n");
    if (text !== said)
      [said, since] = [text, now()];
    const found = bestOffered(list, wanted);
    if (found !== null && (found.sure || now() - since >= REST_OF_LIST_MS))
      return found;
    return !choice.typed && filterOf(choice) !== null && now() - since >= 50 ? {filter: filterOf(choice)} : null;
  };
  let best = look();
  while (best === null && now() < end) {
    await new Promise((done) => setTimeout(done, 30));
    best = look();
  }
  if (best === null)
    return nothingOffered(o, list);
  if (best.filter)
    return typeChoice(best.filter);
  choice.picked = {el: best.el, text: textIn(best.el), value: valueOfOption(best.el)};
  if (choice.many && (choice.el.localName === "select" ? showsChoice(choice)
    : best.el.getAttribute("aria-selected") === "true" && best.el.closest("[aria-multiselectable=true]") !== null))
    return chosen(o);
  return pressOn(best.el, o);
}

async function nothingOffered(o, list) {
  const choice = S.choice;
  const {el, target, wanted, at} = choice;
  choice.done = true;
  const say = o.secret ? "that was given" : quote(wanted[at]);
  if (list.length > 0)
    throw new Refusal("value", `the list of ${sayElement(target)} has no ${say}; it has ` +
      list.slice(0, 8).map((e) => quote(textIn(e))).join(", ") + (list.length > 8 ? `, ... (${list.length})` : ""));
  if (el.localName === "select")
    return fillSelect(el, o.value, () => say);
  if (isTextField(el) && !el.readOnly && wanted.length === 1) {
    el.blur();
    await new Promise((done) => setTimeout(done, 100));
    if (!same(textOf(el), wanted[0]))
      throw new Refusal("value", `the list of ${sayElement(target)} has nothing for ${say}`);
    return {warnings: ["the field offered nothing to choose; the text was left in it"]};
  }
  if (el.readOnly === true)
    throw new Refusal("operable", sayElement(el) + " can only be read");
  throw new Refusal("operable", sayElement(target) + " opened no list of choices");
}

function showsChoice(choice) {
  const {el, target, picked} = choice;
  const q = wordsOf(cut(picked.text, 40)).tight;
  if (el.localName === "select")
    return [...el.selectedOptions].some((x) => wordsOf(x.label).tight === wordsOf(picked.text).tight || x.value === picked.value);
  if (picked.el.isConnected && (picked.el.getAttribute("aria-selected") === "true" || picked.el.getAttribute("aria-checked") === "true"))
    return true;
  const around = target.parentElement || target;
  return [target.value || "", textIn(target), textIn(around)].some((t) => {
    const has = wordsOf(t).tight;
    return has.includes(q) || (has.length > 2 && q.includes(has));
  });
}

async function chosen(o) {
  const choice = S.choice;
  const end = now() + 1000;
  while (!showsChoice(choice) && now() < end)
    await frame();
  const warnings = showsChoice(choice) ? [] : [`the page does not show ${o.secret ? "what" : quote(choice.picked.text) + ", which"} was chosen`];
  if (++choice.at < choice.wanted.length)
    return Object.assign(await openChoice(o), warnings.length > 0 ? {warnings} : {});
  choice.done = true;
  const open = choice.many && choice.target.getAttribute("role") !== "listbox" && offered(choice).length > 0;
  return Object.assign({warnings}, open ? {how: "escape"} : {});
}
