// act: the part of an action that happens inside the page: waiting until the
// element is there and can be operated, and everything about fields. What a
// person's hands do (mouse, keys, text) the worker does between two of these
// steps, through the browser. Every step answers an object: {failed, message}
// when it cannot go on.
// ---- submitting ----

function watchSubmit(form) {
  if (S.unwatch)
    S.unwatch();
  const state = {submitted: false, invalid: [], prevented: false};
  const view = form ? form.ownerDocument.defaultView : window;
  const onSubmit = () => {
    state.submitted = true;
  };
  const onInvalid = (e) => {
    if (state.invalid.length < 5)
      state.invalid.push(sayElement(e.target) + (e.target.validationMessage ? ": " + clean(e.target.validationMessage) : ""));
  };
  const onKey = (e) => {
    setTimeout(() => {
      state.prevented = state.prevented || e.defaultPrevented;
    }, 0);
  };
  view.addEventListener("submit", onSubmit, true);
  view.addEventListener("invalid", onInvalid, true);
  view.addEventListener("keydown", onKey, true);
  S.sent = state;
  S.unwatch = () => {
    view.removeEventListener("submit", onSubmit, true);
    view.removeEventListener("invalid", onInvalid, true);
    view.removeEventListener("keydown", onKey, true);
    S.unwatch = null;
  };
}

function formOf(el) {
  return el && el.isConnected ? el.form || el.closest("form") : null;
}

function onlyForm() {
  workAnew();
  for (const root of allRoots()) {
    for (const form of root.querySelectorAll("form")) {
      if ([...form.elements].some((e) => e.type !== "hidden" && boxOf(e) !== null))
        return form;
    }
  }
  return null;
}

// With a locator what it names is pressed; else Enter in the field that was
// filled last, where there is one that takes it.
async function submit(o) {
  let el = S.lastField && S.lastField.isConnected ? S.lastField : null;
  if (o.locator) {
    const got = await find(o, reach);
    const out = remember(got, o.locator);
    el = fieldOf(got.c.el);
    if (!isTypedInto(el) && el.localName !== "form") {
      S.form = formOf(got.c.el);
      watchSubmit(S.form);
      guard(got.state.target);
      return Object.assign(out, {how: "press", x: got.state.at.x, y: got.state.at.y});
    }
    S.warnings = out.warnings;
  }
  const form = el && el.localName === "form" ? el : formOf(el) || (el === null ? onlyForm() : null);
  if (el === null && form === null)
    throw new Refusal("element", "there is no form to send");
  S.form = form;
  watchSubmit(form);
  if (el !== null && isTypedInto(el)) {
    el.focus();
    return {how: "enter"};
  }
  if (form === null)
    throw new Refusal("element", sayElement(el) + " is in no form that could be sent");
  sendForm();
  return submitted(o);
}

function isTypedInto(el) {
  return el.localName === "input" && (TYPED.has(el.type) || PICKED.has(el.type));
}

function sendForm() {
  const form = S.form;
  const proto = HTMLFormElement.prototype;
  const button = [...form.querySelectorAll("button,input")]
    .find((b) => (b.type === "submit" || b.type === "image") && !b.matches(":disabled"));
  proto.requestSubmit.call(form, button || null);
}

// It was pressed: was the form sent, or did a script take the key?
async function submitted(o) {
  await new Promise((done) => setTimeout(done, 0));
  const state = S.sent;
  if (S.plan === "press") {
    const out = await pressed();
    if (!out.hit)
      return out;
  } else if (S.plan === "enter" && o.step === "submitted" && !state.submitted &&
             state.invalid.length === 0 && !state.prevented && S.form && S.form.isConnected)
    sendForm();
  await new Promise((done) => setTimeout(done, 0));
  if (S.unwatch)
    S.unwatch();
  if (!state.submitted && state.invalid.length > 0)
    throw new Refusal("form", "the form was not sent: " + state.invalid.join("; "));
  return {};
}

// ---- conditions ----

const UNSEEN = new Set(["html", "head", "meta", "title", "link", "script", "style", "base", "template", "body"]);

function textThere(wanted) {
  for (const root of allRoots()) {
    const top = root.body || root;
    const text = top.innerText !== undefined ? top.innerText
      : [...top.children].map((e) => e.innerText || "").join("\n");
    if (plainText(text).replace(/\s+/g, " ").includes(wanted))
      return true;
  }
  return false;
}

const CONDITIONS = {
  selector(value) {
    for (const root of allRoots()) {
      for (const el of root.querySelectorAll(value)) {
        if (UNSEEN.has(el.localName) || boxOf(el) !== null)
          return true;
      }
    }
    return false;
  },
  urlContains: (value) => decodedUrl().includes(value) || location.href.includes(value),
  textIncludes: (value) => textThere(plainText(value).replace(/\s+/g, " ").trim()),
};

function decodedUrl() {
  try {
    return decodeURI(location.href);
  } catch {
    return location.href;
  }
}

async function waitFor(o) {
  const {type, value} = o.condition || {};
  if (!CONDITIONS[type] || typeof value !== "string" || value.trim() === "")
    throw new Refusal("locator", "a condition is of type selector, urlContains or textIncludes, with a value");
  if (type === "selector")
    checkLocator({mode: "selector", selector: value});
  const met = await until(now() + o.timeoutMs, async () => {
    workAnew();
    return CONDITIONS[type](value) ? {element: {met: true}} : null;
  });
  if (met === null)
    throw new Refusal("met", `${type} ${quote(value)} was not met within ${Math.round(o.totalMs)} ms`);
  return met;
}

// What the browser refused to do, or cannot: by events of a script.
function byScript(o) {
  if (S.unguard)
    S.unguard();
  if (S.plan === "insert") {
    setNative(S.lastField, String(o.value));
    return filled(o);
  }
  if (S.plan === "enter")
    sendForm();
  else
    S.el.click();
  if (S.toggles)
    return toggled();
  S.pressed = null;
  return S.choice && !S.choice.done ? chooseOn(o) : {};
}

const STEPS = {
  aim, pressed, byScript, whose, fill, filled, submit, submitted,
  mask, unmask,
  ready: () => ({how: "key"}),
  rest: pressed,
  wait: waitFor,
  list: listStep,
  signs,
  async find(o) {
    try {
      const got = await find(o, o.operable ? (c) => fillable(c, o) : async () => ({why: null}));
      return {element: Object.assign(infoOf(got.c), {matches: got.same})};
    } catch (e) {
      if (e instanceof Refusal && (e.code === "element" || (o.operable && e.code === "operable")))
        return {element: null};
      throw e;
    }
  },
  info: () => ({element: {url: location.href.toWellFormed(), title: cut(clean(document.title), 300)}}),
};

async function act(o) {
  Object.assign(o, o.args);
  try {
    const out = await STEPS[o.step](o);
    S.plan = out.how || S.plan;
    return out;
  } catch (e) {
    if (e instanceof Refusal)
      return {failed: e.code, message: cut(e.message, 480)};
    throw e;
  }
}
