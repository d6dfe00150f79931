// pending: what the scripts of a page have set going, for a browser that draws
// no frames: so that nobody waits for a page that cannot change any more. Runs
// before the first script of every document, in the page's own world; it is an
// argument of undrawn.js, which tells of frames, observers and animations.
//
// stable.js, in another world, asks by an event at the document, with the time
// since the page was loaded, and gets its answer by another, at once: in how
// many milliseconds to ask again; 0, nothing is to come; -1, nothing ever was.
// Asked with "left", it says how many timers are due within FAR_MS or repeated,
// and how many connections are open: neither is waited for.
//
// Known to the millisecond: timers, frames, observers. They are over when
// nothing was due for REST_MS. Of requests, workers and the like nobody here
// knows when they end: who has used them is waited for WINDOW_MS, and so is who
// repeats something for ever. A timer that was set before the page was loaded is
// waited for up to NEAR_MS, one that was set later as long as anything else, for
// it may be one of a chain without an end.
(function () {
  "use strict";
  const WINDOW_MS = 200;
  const NEAR_MS = 320;
  const REST_MS = 32;
  const FAR_MS = 5000;
  const CONNECTIONS_MAX = 50;
  const TIMERS_MAX = 500;
  const now = performance.now.bind(performance);
  const later = window.setTimeout.bind(window);
  const never = window.clearTimeout.bind(window);
  const say = document.dispatchEvent.bind(document);

  const timers = new Map();
  const repeated = new Map();
  const far = new Map(); // when they are due
  const connections = [];
  let used = false;
  let unknown = false;
  let asked = false;
  let last = -Infinity;

  function due(inMs) {
    last = Math.max(last, now() + inMs);
  }

  function note(inMs) {
    used = true;
    due(inMs);
  }

  function forget(t) {
    for (const [id, timer] of timers) {
      if (timer.due <= t) {
        timers.delete(id);
        last = Math.max(last, timer.due);
      }
    }
  }

  const delay = (ms) => (typeof ms === "number" || typeof ms === "string" ? Math.max(0, Number(ms)) || 0 : 0);

  function noteFar(id, ms, when) {
    if (ms <= FAR_MS && far.size < TIMERS_MAX)
      far.set(id, when);
  }

  function onTimer([, ms], id) {
    used = true;
    if (delay(ms) > NEAR_MS) {
      noteFar(id, delay(ms), now() + delay(ms));
      return;
    }
    if (timers.size >= TIMERS_MAX)
      forget(now());
    timers.set(id, {due: now() + delay(ms), early: !asked});
  }

  function onInterval([, ms], id) {
    used = true;
    if (delay(ms) <= WINDOW_MS)
      repeated.set(id, true);
    else
      noteFar(id, delay(ms), Infinity);
  }

  function onClear([id]) {
    timers.delete(id);
    repeated.delete(id);
    far.delete(id);
  }

  function onUnknown() {
    used = unknown = true;
  }

  function onConnection(args, made) {
    onUnknown();
    if (connections.length < CONNECTIONS_MAX)
      connections.push(made);
  }

  // A proxy is taken for what it stands for wherever a page looks.
  function watch(owner, name, tell) {
    const is = owner && Object.getOwnPropertyDescriptor(owner, name);
    if (!is || typeof is.value !== "function" || !is.configurable)
      return;
    is.value = new Proxy(is.value, {
      apply(f, self, args) {
        const result = Reflect.apply(f, self, args);
        tell(args, result);
        return result;
      },
      construct(f, args, target) {
        const made = Reflect.construct(f, args, target);
        tell(args, made);
        return made;
      },
    });
    Object.defineProperty(owner, name, is);
  }

  const of = (name) => window[name] && window[name].prototype;
  watch(window, "setTimeout", onTimer);
  watch(window, "setInterval", onInterval);
  watch(window, "clearTimeout", onClear);
  watch(window, "clearInterval", onClear);
  watch(window, "postMessage", () => note(0));
  watch(of("MessagePort"), "postMessage", () => note(0));
  for (const name of ["fetch", "createImageBitmap", "BroadcastChannel", "FileReader", "FontFace", "SharedWorker",
    "Worker"])
    watch(window, name, onUnknown);
  for (const name of ["EventSource", "WebSocket"])
    watch(window, name, onConnection);
  for (const [kind, ...names] of [["XMLHttpRequest", "send"], ["IDBFactory", "open"], ["CacheStorage", "open", "match"],
    ["Scheduler", "postTask", "yield"], ["ServiceWorkerContainer", "register", "getRegistration"],
    ["SubtleCrypto", "digest", "decrypt", "verify"], ["Blob", "text", "arrayBuffer"], ["StorageManager", "getDirectory"]]) {
    for (const name of names)
      watch(of(kind), name, onUnknown);
  }

  function answer(elapsed) {
    const t = now();
    asked = true;
    forget(t);
    let wait = unknown || repeated.size > 0 ? WINDOW_MS : last + REST_MS - t;
    wait = Math.min(wait, WINDOW_MS - elapsed);
    for (const timer of timers.values()) {
      if (elapsed + timer.due - t <= (timer.early ? NEAR_MS : WINDOW_MS))
        wait = Math.max(wait, timer.due - t + 1);
    }
    return used ? Math.max(0, wait) : -1;
  }

  function left() {
    const t = now();
    let due = repeated.size;
    for (const when of far.values())
      due += when > t;
    for (const timer of timers.values())
      due += timer.due > t;
    return [due, connections.filter((c) => c.readyState < 2).length];
  }

  document.addEventListener("browsertask-ask", (e) => {
    say(new CustomEvent("browsertask-said", {detail: e.detail === "left" ? left() : answer(e.detail)}));
  });

  return {due, note, later, never}; // timers that are not the page's
})
