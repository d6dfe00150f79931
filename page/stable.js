// stable: ends when the document is loaded and quiet. Runs in an isolated
// world from the moment the document is committed, so it waits for load inside
// the page. Answers {url, status, mime, redirected, partial, ran, quietMs}: ran,
// whether there are scripts, the last the time that waiting for quiet took;
// and, where read is given, doc: what that gave of the stable page, or failed:
// why it gave nothing.
//
// Loaded: the load event; or, when something hangs, graceMs after
// DOMContentLoaded (half of it when nothing at all arrived meanwhile); or, when
// even the parser stands still, twice graceMs if there is text to read. Then
// the answer is partial.
// Quiet: a page that ran no script cannot change. Else two frames (at least
// 40 ms; where none are drawn, o.undrawn, 200 ms) without a mutation; a page
// that does change is waited for until it rests for 150 ms, at most stableMs; so
// is one that says of a part of it that it is busy.
// Where o.again is set the page was loaded before, and only quiet is wanted.
// Where we switched scripts off (o.scripts false), neither timers nor events
// reach this world: the worker then asks when the browser says it is loaded.
(function (o, read) {
  const QUIET_MS = 150;
  const SEEN_MS = 40;
  const UNDRAWN_MS = 200;
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

  function ranScripts() {
    for (const s of doc.scripts) {
      if (!s.type || /^(module|(text|application)\/(x-)?(java|ecma)script)$/i.test(s.type.trim()))
        return true;
    }
    if (performance.getEntriesByType("resource").some(
      (e) => /^(script|fetch|xmlhttprequest|beacon)$/.test(e.initiatorType)))
      return true;
    return doc.querySelector("body[onload],img[onload],img[onerror],iframe,frame,object,embed") !== null;
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
  async function quiet() {
    let last = 0;
    const watch = new MutationObserver(() => {
      last = now();
    });
    watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    const start = now();
    if (!o.undrawn) {
      await frame();
      await frame();
    }
    // Frames may come fast; a script that works every 20 ms must be seen.
    await sleep(Math.max(0, (o.undrawn ? UNDRAWN_MS : SEEN_MS) - (now() - start)));
    while (now() - start < o.stableMs) {
      const rest = last === 0 ? 0 : last + QUIET_MS - now();
      if (rest > 0)
        await sleep(rest);
      else if (doc.querySelector('[aria-busy="true"]') !== null)
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

  const answer = (partial, ran, quietMs) => {
    const entry = navigation();
    const said = {
      url: location.href,
      status: (/^http/.test(location.protocol) && entry && entry.responseStatus) || 0,
      mime: doc.contentType || "",
      redirected: redirected(entry),
      partial,
      ran,
      quietMs: Math.round(quietMs),
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
    return answer(partial, ran, now() - start);
  })();
})
