// reach: waits until what a locator means is there and can be operated, brings
// it into view, and guards it while it is pressed.
const now = () => performance.now();
// A window that is not drawn gets no frames; it must not wait for ever.
const frame = () => new Promise((done) => {
  requestAnimationFrame(done);
  setTimeout(done, 100);
});

// ---- waiting ----

const WAKERS = ["load", "transitionend", "transitioncancel", "animationend", "animationcancel",
  "scroll", "scrollend", "resize", "input", "change", "focusin", "focusout", "toggle", "visibilitychange",
  "readystatechange", "DOMContentLoaded"];

// Calls look() until it gives something or the time is over; looks again when
// something happened in the page, not by the clock.
async function until(end, look) {
  const watched = new Set();
  let wake = null;
  let woken = false;
  const ring = () => {
    woken = true;
    if (wake !== null)
      wake();
  };
  const watch = new MutationObserver(ring);
  const sizes = new ResizeObserver(ring);
  const listen = (target, names) => names.forEach((n) => target.addEventListener(n, ring, true));
  const deaf = [];
  const watchAll = () => {
    workAnew();
    for (const root of allRoots()) {
      if (watched.has(root))
        continue;
      watched.add(root);
      watch.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
      if (root.body)
        sizes.observe(root.body);
      listen(root, WAKERS);
      if (root.defaultView)
        listen(root.defaultView, WAKERS);
      deaf.push(root);
    }
  };
  if (globalThis.navigation)
    navigation.addEventListener("currententrychange", ring);
  try {
    for (;;) {
      watchAll();
      woken = false;
      const began = now();
      const found = await look();
      if (found)
        return found;
      const took = now() - began;
      const left = end - now();
      if (left <= 0)
        return null;
      if (!woken) {
        await new Promise((done) => {
          wake = done;
          setTimeout(done, left);
        });
        wake = null;
      }
      // What looks for long, and a page that never rests, must leave it time.
      await new Promise((done) => setTimeout(done, Math.min(left, Math.max(16, 2 * took - 16))));
    }
  } finally {
    watch.disconnect();
    sizes.disconnect();
    if (globalThis.navigation)
      navigation.removeEventListener("currententrychange", ring);
    for (const root of deaf) {
      for (const target of [root, root.defaultView]) {
        if (target)
          WAKERS.forEach((n) => target.removeEventListener(n, ring, true));
      }
    }
  }
}

// Whether it, or what it is in, may be about to move: an animation stays at its
// first place until it has a start time. A window that is not drawn gives none.
const isPending = (el) => document.getAnimations().some((a) =>
  a.pending && a.effect !== null && a.effect.target !== null && a.effect.target.contains(el));

// True when it stands where it stood a frame ago. What waits for a frame may be
// served without one on a machine that is loaded: then nothing has moved at all.
async function rests(el) {
  const place = () => {
    const r = el.getBoundingClientRect();
    return [r.x, r.y, r.width, r.height].join();
  };
  for (let n = 0; n < 3 && isPending(el); n++)
    await frame();
  const before = place(), began = document.timeline.currentTime;
  for (let n = 0; n < 4; n++) {
    await frame();
    if (!el.isConnected || place() !== before)
      return false;
    if (document.timeline.currentTime !== began)
      break;
  }
  return true;
}

// ---- aiming ----

// Why it cannot be pressed, or null and its place.
async function reach(c) {
  const el = c.el;
  if (!c.seen)
    return {why: "is not visible"};
  if (!c.enabled)
    return {why: "is disabled"};
  const target = boxOf(el) !== null ? el : labelOf(el);
  if (target === null)
    return {why: "is not visible"};
  let at = pointOf(target);
  for (const block of ["center", "start", "end", "nearest"]) {
    if (at !== null)
      break;
    target.scrollIntoView({block, inline: "nearest", behavior: "instant"});
    at = pointOf(target);
  }
  if (!await rests(target))
    return {why: "is moving", again: true};
  at = pointOf(target);
  if (at !== null)
    return {why: null, at, target};
  const points = pointsOf(target);
  if (points.length === 0)
    return {why: "cannot be scrolled into view"};
  const over = hitAt(target, points[0][0], points[0][1]).hit;
  if (leaveField())
    return {why: "is covered", again: true};
  return {why: "is covered by " + (over === null ? "nothing that can be pressed" : sayElement(over) + sayConsent(over))};
}

// What the field that was typed into last has opened, a calendar, closes when one
// presses beside it.
function leaveField() {
  const el = S.entered;
  S.entered = null;
  if (!el || !el.isConnected || (S.choice && !S.choice.done && S.choice.typed))
    return false;
  el.blur();
  document.body.dispatchEvent(new MouseEvent("mousedown", {bubbles: true}));
  document.body.dispatchEvent(new MouseEvent("mouseup", {bubbles: true}));
  return true;
}

// Finds what the locator means and brings it where it can be used; check(c)
// says why it cannot, or null and what goes into the answer.
async function find(o, check) {
  checkLocator(o.locator);
  const end = now() + o.timeoutMs;
  let last = null;
  let others = [];
  const got = await until(end, async () => {
    const all = locate(o.locator);
    others = all.others;
    last = null;
    for (const c of all.found.slice(0, 5)) {
      let state = await check(c);
      while (state.again && now() < end)
        state = await check(c);
      if (state.why === null)
        return {c, state, same: all.found.filter((d) => d.rank >= c.rank - 0.005).length};
      if (last === null)
        last = {c, why: state.why};
    }
    return null;
  });
  if (got !== null)
    return got;
  const after = ` (waited ${Math.round(o.timeoutMs)} ms)`;
  if (last !== null)
    throw new Refusal("operable", sayElement(last.c.el) + " " + last.why + after);
  throw new Refusal("element", sayLocator(o.locator) + sayNearest(o.locator, others) + after);
}

function remember(got, locator) {
  S.el = got.c.el;
  S.warnings = [];
  if (got.same > 1 && locator.mode === "semantic")
    S.warnings.push(`${got.same} elements fit equally; the first was taken`);
  return {element: infoOf(got.c), warnings: S.warnings};
}

// ---- pressing ----

// The page has put another in its place that is the same to those who look.
function isAnew(hit, el) {
  if (el.isConnected)
    return false;
  const now = hit.closest ? hit.closest(el.localName) : null;
  return now !== null && textIn(now) === textIn(el) && now.getAttribute("href") === el.getAttribute("href") &&
    now.id === el.id && now.className === el.className;
}

const PRESS_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick"];

// What is pressed is looked at once more at the moment it happens: whatever
// moved in between gets nothing of it.
function guard(el) {
  if (S.unguard)
    S.unguard();
  const state = {down: false, clicked: false, by: null};
  const views = [window];
  for (let view = el.ownerDocument.defaultView; view && view !== window; view = view.parent)
    views.push(view);
  const onPress = (e) => {
    if (!e.isTrusted)
      return;
    const hit = e.composedPath()[0];
    // The frame that holds it sees nothing of what happens in it.
    if (!state.down && state.by === null) {
      if (presses(hit, el) || isAnew(hit, el))
        state.down = true;
      else
        state.by = sayElement(hit.nodeType === 1 ? hit : document.documentElement);
    }
    if (state.by !== null) {
      e.preventDefault();
      e.stopImmediatePropagation();
    } else if (e.type === "click")
      state.clicked = true;
  };
  for (const view of views)
    PRESS_EVENTS.forEach((n) => view.addEventListener(n, onPress, true));
  S.pressed = state;
  S.unguard = () => {
    for (const view of views)
      PRESS_EVENTS.forEach((n) => view.removeEventListener(n, onPress, true));
    S.unguard = null;
  };
}

async function aim(o) {
  const got = await find(o, reach);
  const out = remember(got, o.locator);
  guard(got.state.target);
  return Object.assign(out, {how: "press", x: got.state.at.x, y: got.state.at.y});
}

// What a click on it has set off inside the page has begun by now.
async function pressed() {
  await new Promise((done) => setTimeout(done, 0));
  const state = S.pressed;
  S.pressed = null;
  if (S.unguard)
    S.unguard();
  if (!state || state.down)
    return {hit: true};
  return {hit: false, by: state.by || "something that takes no clicks"};
}
