// stable: ends when the document is loaded and quiet. Runs in an isolated
// world from the moment the document is committed, so it waits for load inside
// the page. Answers {url, status, mime, redirected, partial, ran, quietMs}: ran,
// whether there are scripts, quietMs the time that waiting for quiet took; with
// timers, connections and refreshMs, what is still to come; and, where read is
// given, doc: what that gave of the stable page, or failed: why it gave nothing.
//
// Loaded: the load event; or, when something hangs, graceMs after
// DOMContentLoaded (half of it when nothing at all arrived meanwhile); or, when
// even the parser stands still, twice graceMs if there is text to read. Then
// the answer is partial.
// Quiet: a page that ran no script cannot change. Else two frames (at least
// 40 ms) without a mutation; where none are drawn (o.undrawn), until nothing is
// pending (pending.js), or 200 ms where nobody knows. A page that does change is
// waited for until it rests for 150 ms, at most stableMs; so is one that says of
// a part of it that it is busy, or shows one of the usual signs of that.
// settleMs: at least so long after the load. settleText: its text has to rest
// for SETTLE_MS, too.
// Where o.again is set the page was loaded before, and only quiet is wanted.
// Where we switched scripts off (o.scripts false), neither timers nor events
// reach this world: the worker then asks when the browser says it is loaded.
(function (o, read) {
  const QUIET_MS = 150;
  const SEEN_MS = 40;
  const UNDRAWN_MS = 200;
  const SETTLE_MS = 1000;
  const BUSY = '[aria-busy="true"],[role=progressbar]:not([aria-valuenow]),.spinner,.loading-spinner,.spinner-border,' +
    ".skeleton,.skeleton-loader,.loader,.MuiSkeleton-root,.MuiCircularProgress-root,.ant-spin-spinning,.ant-skeleton";
  const UNDRAWN_MAX_MS = 400;
  // An image may be named like a property of the document, and hides it.
  const doc = new Proxy(document, {
    get(target, name) {
      const value = Reflect.get(Document.prototype, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const now = () => performance.now();
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  // A window that is not drawn gets no frames; it must not wait for ever.
  const frame = () => new Promise((done) => {
    requestAnimationFrame(done);
    setTimeout(done, 100);
  });

  const navigation = () => performance.getEntriesByType("navigation")[0];

  const isProgram = (s) =>
    !s.type || /^(module|(text|application)\/(x-)?(java|ecma)script)$/i.test(s.type.trim());

  function ranScripts() {
    if ([...doc.scripts].some(isProgram))
      return true;
    if (performance.getEntriesByType("resource").some(
      (e) => /^(script|fetch|xmlhttprequest|beacon)$/.test(e.initiatorType)))
      return true;
    if (doc.querySelector("body[onload],img[onload],img[onerror],iframe,frame,object,embed") !== null)
      return true;
    return o.undrawn && pending(0) >= 0; // one that took itself away
  }

  // What pending.js says; undefined when it is not there, as after the page
  // has opened its document anew.
  function pending(question) {
    let said;
    const hear = (e) => { said = e.detail; };
    doc.addEventListener("browsertask-said", hear);
    doc.dispatchEvent(new CustomEvent("browsertask-ask", {detail: question}));
    doc.removeEventListener("browsertask-said", hear);
    return said;
  }

  // Programs that may load others in a way that cannot be seen, or run apart.
  function mayHide() {
    if (doc.querySelector("iframe,frame,object,embed,script[type=module i],script[type=importmap i]," +
        "link[rel~=modulepreload i]") !== null)
      return true;
    return [...doc.scripts].some((s) => !s.src && isProgram(s) && /\bimport\s*\(/.test(s.text));
  }

  function loaded() {
    if (doc.readyState === "complete")
      return Promise.resolve(false);
    return new Promise((done) => {
      let interactive = doc.readyState === "loading" ? 0 : now();
      let seen = "";
      let changed = now();
      const finish = (partial) => {
        clearInterval(timer);
        done(partial);
      };
      const look = () => {
        const t = now();
        const sign = doc.getElementsByTagName("*").length + "/" +
          performance.getEntriesByType("resource").length;
        if (sign !== seen) {
          seen = sign;
          changed = t;
        }
        if (interactive) {
          if (t - interactive >= o.graceMs ||
              (t - interactive >= o.graceMs / 2 && t - changed >= o.graceMs / 2))
            finish(true);
        } else if (t - changed >= 2 * o.graceMs && doc.body &&
                   doc.body.textContent.trim() !== "")
          finish(true);
      };
      const timer = setInterval(look, 100);
      doc.addEventListener("readystatechange", () => {
        if (doc.readyState === "complete")
          finish(false);
        else
          interactive = interactive || now();
      });
    });
  }

  // readystatechange comes just before the load event; the handlers of load
  // have run when the next task does.
  async function undrawnQuiet(start) {
    await sleep(0);
    await sleep(0);
    const hides = o.again || mayHide();
    for (;;) {
      const elapsed = now() - start;
      const said = hides ? undefined : pending(elapsed);
      const wait = typeof said === "number" ? Math.min(said, UNDRAWN_MAX_MS - elapsed) : UNDRAWN_MS - elapsed;
      if (!(wait > 0))
        return;
      await sleep(wait);
    }
  }

  async function drawnQuiet(start) {
    await frame();
    await frame();
    // Frames may come fast; a script that works every 20 ms must be seen.
    await sleep(Math.max(0, SEEN_MS - (now() - start)));
  }

  // What is not shown was prepared for later. Of many only some are looked at.
  function isBusy() {
    return [...doc.querySelectorAll(BUSY)].slice(0, 50).some((el) =>
      el.getAttribute("aria-busy") === "true" || el.checkVisibility({visibilityProperty: true, opacityProperty: true}));
  }

  async function settle(start) {
    await sleep(Math.max(0, o.settleMs - (now() - start)));
    let seen = doc.documentElement.textContent;
    let since = now();
    while (o.settleText && now() - since < SETTLE_MS && now() - start < o.stableMs) {
      await sleep(100);
      const text = doc.documentElement.textContent;
      if (text !== seen)
        since = now();
      seen = text;
    }
  }

  async function quiet() {
    let last = 0;
    const watch = new MutationObserver(() => {
      last = now();
    });
    watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    const start = now();
    await (o.undrawn ? undrawnQuiet : drawnQuiet)(start);
    while (now() - start < o.stableMs) {
      const rest = last === 0 ? 0 : last + QUIET_MS - now();
      if (rest > 0)
        await sleep(rest);
      else if (isBusy())
        await sleep(50);
      else
        break;
    }
    watch.disconnect();
  }

  function plain(url) {
    const at = url.indexOf("#");
    return at < 0 ? url : url.slice(0, at);
  }

  function redirected(entry) {
    if (!o.asked || !entry)
      return false;
    try {
      return entry.redirectCount > 0 ||
        plain(new URL(o.asked).href) !== plain(new URL(entry.name).href);
    } catch {
      return false;
    }
  }

  function refreshMs() {
    const meta = doc.querySelector("meta[http-equiv=refresh i][content]");
    const m = meta && /^\s*(\d{1,6})/.exec(meta.getAttribute("content"));
    return m ? Math.max(1, Number(m[1]) * 1000) : 0;
  }

  const answer = (partial, ran, quietMs) => {
    const entry = navigation();
    const [timers, connections] = (o.undrawn && ran && pending("left")) || [0, 0];
    const said = {
      url: location.href,
      status: (/^http/.test(location.protocol) && entry && entry.responseStatus) || 0,
      mime: doc.contentType || "",
      redirected: redirected(entry),
      partial,
      ran,
      quietMs: Math.round(quietMs),
      timers,
      connections,
      refreshMs: refreshMs(),
    };
    try {
      if (read)
        said.doc = read();
    } catch (e) {
      said.failed = String(e);
    }
    return said;
  };

  if (!o.scripts)
    return answer(doc.readyState !== "complete", false, 0);
  return (async () => {
    const partial = o.again ? doc.readyState !== "complete" : await loaded();
    const start = now();
    const ran = ranScripts();
    if (ran)
      await quiet();
    if (o.settleMs > 0 || (ran && o.settleText))
      await settle(start);
    return answer(partial, ran, now() - start);
  })();
})
