// undrawn: for a browser that draws no frames, since its pages are only read:
// what a page waits for happens all the same. Runs before the first script of
// every document, in the page's own world. Pages get frames from a timer;
// observers and the ends of animations are looked after every LOOK_MS. What is
// due of all that is told to pending.js.
//
// What is out of sight counts as seen, once for each observer, so that what
// would be loaded when somebody scrolls there is loaded; but in ROUNDS rounds
// only, or lists without an end would grow for ever. An animation or transition
// of up to EARLY_MS ends at once, the first time on an element; others in their
// own time, so that what goes to and fro is no faster than it would be.
(function (pending) {
  "use strict";
  const FRAME_MS = 16;
  const LOOK_MS = 50;
  const SOON_MS = 200;
  const EARLY_MS = 2000;
  const ROUNDS = 12;
  const {later, never} = pending;
  const now = performance.now.bind(performance);
  const report = window.reportError.bind(window);
  const styleOf = window.getComputedStyle.bind(window);

  function put(owner, name, value) {
    Object.defineProperty(owner, name,
      {value, writable: true, enumerable: true, configurable: true});
  }

  // A class is not enumerable, as those of the browser.
  function putClass(value) {
    Object.defineProperty(window, value.name,
      {value, writable: true, enumerable: false, configurable: true});
  }

  function made(kind, values) {
    const o = Object.create(kind.prototype);
    for (const name of Object.keys(values))
      Object.defineProperty(o, name, {value: values[name], enumerable: true});
    return o;
  }

  function call(f, self, ...args) {
    try {
      Reflect.apply(f, self, args);
    } catch (e) {
      report(e);
    }
  }

  function needFunction(f, of) {
    if (typeof f !== "function")
      throw new TypeError(`Failed to execute '${of}' on 'Window': parameter 1 is not of type 'Function'.`);
  }

  // ---- frames ----

  let wanted = new Map();
  let running = new Map();
  let handles = 0;
  let due = false;
  let looking = false;

  function wake() {
    if (!due)
      later(tick, FRAME_MS);
    due = true;
  }

  function tick() {
    due = false;
    const time = now();
    running = wanted;
    wanted = new Map();
    if (running.size > 0)
      pending.note(0);
    for (const [handle, f] of running) {
      running.delete(handle);
      call(f, undefined, time);
    }
    if (looking) {
      looking = false;
      lookAtSizes();
      lookAtSight(time);
    }
  }

  function requestFrame(f) {
    needFunction(f, "requestAnimationFrame");
    wanted.set(++handles, f);
    wake();
    pending.note(FRAME_MS);
    return handles;
  }

  function cancelFrame(handle) {
    wanted.delete(Number(handle));
    running.delete(Number(handle));
  }

  put(window, "requestAnimationFrame", {requestAnimationFrame: (f) => requestFrame(f)}.requestAnimationFrame);
  put(window, "cancelAnimationFrame", {cancelAnimationFrame: (h) => cancelFrame(h)}.cancelAnimationFrame);
  put(window, "webkitRequestAnimationFrame", window.requestAnimationFrame);
  put(window, "webkitCancelAnimationFrame", window.cancelAnimationFrame);

  // ---- idle time, which is what is left of a frame ----

  put(window, "requestIdleCallback", function requestIdleCallback(f) {
    needFunction(f, "requestIdleCallback");
    pending.note(FRAME_MS);
    return later(() => {
      const end = now() + 50;
      call(f, undefined, made(IdleDeadline,
        {didTimeout: false, timeRemaining: () => Math.max(0, end - now())}));
    }, FRAME_MS);
  });
  put(window, "cancelIdleCallback", function cancelIdleCallback(handle) {
    never(handle);
  });

  // ---- view transitions: the change without the picture ----

  if (Document.prototype.startViewTransition) {
    put(Document.prototype, "startViewTransition", function startViewTransition(o) {
      const update = typeof o === "function" ? o : o && o.update;
      const done = Promise.resolve().then(() => update && update()).then(() => undefined);
      const ready = done.then(() => undefined);
      const finished = done.then(() => undefined);
      ready.catch(() => undefined);
      finished.catch(() => undefined);
      return {updateCallbackDone: done, ready, finished, types: new Set(), skipTransition() {}};
    });
  }

  // ---- observers ----

  const sights = new Set();
  const sizes = new Set();
  let lookAtOneSight;
  let tellOfSight;
  let lookAtOneSize;
  let rounds = ROUNDS;
  let granted = false;

  function lookSoon() {
    looking = true;
    wake();
  }

  function lookAtNew() {
    lookSoon();
    pending.note(FRAME_MS);
  }

  function lookAtSight(time) {
    granted = false;
    const all = [...sights];
    for (const o of all)
      lookAtOneSight(o, time);
    if (granted)
      rounds--;
    for (const o of all)
      tellOfSight(o);
  }

  function lookAtSizes() {
    for (const o of [...sizes])
      lookAtOneSize(o);
  }

  // What is passed to the browser's own never hears from it.
  const quiet = (f) => (typeof f === "function" ? () => undefined : f);

  putClass(class IntersectionObserver extends window.IntersectionObserver {
    #tell;
    #targets = new Map();
    #shown = new WeakSet();
    #records = [];

    static {
      lookAtOneSight = (o, time) => o.#look(time);
      tellOfSight = (o) => o.#deliver();
    }

    constructor(tell, options) {
      super(quiet(tell), options);
      this.#tell = tell;
    }

    observe(target) {
      super.observe(target);
      if (this.#targets.has(target))
        return;
      this.#targets.set(target, null);
      sights.add(this);
      lookAtNew();
    }

    unobserve(target) {
      super.unobserve(target);
      this.#targets.delete(target);
      if (this.#targets.size === 0)
        sights.delete(this);
    }

    disconnect() {
      super.disconnect();
      this.#targets.clear();
      this.#records = [];
      sights.delete(this);
    }

    takeRecords() {
      const records = this.#records;
      this.#records = [];
      return records;
    }

    #sees(target, box) {
      if (!target.isConnected || target.getClientRects().length === 0)
        return false;
      if (box.bottom >= 0 && box.right >= 0 && box.top <= innerHeight && box.left <= innerWidth)
        return true;
      if (rounds === 0 || this.#shown.has(target))
        return false;
      this.#shown.add(target);
      granted = true;
      return true;
    }

    #look(time) {
      for (const [target, was] of this.#targets) {
        if (was === true)
          continue;
        const box = target.getBoundingClientRect();
        const is = this.#sees(target, box);
        if (is === was)
          continue;
        this.#targets.set(target, is);
        this.#records.push(made(IntersectionObserverEntry, {
          time, target, isIntersecting: is, isVisible: is, intersectionRatio: is ? 1 : 0,
          boundingClientRect: box, intersectionRect: is ? box : new DOMRectReadOnly(),
          rootBounds: this.root instanceof Element ? this.root.getBoundingClientRect()
            : new DOMRectReadOnly(0, 0, innerWidth, innerHeight),
        }));
      }
    }

    #deliver() {
      if (this.#records.length === 0)
        return;
      pending.note(0);
      call(this.#tell, this, this.takeRecords(), this);
    }
  });

  function sizeOf(target) {
    const s = styleOf(target);
    const px = (name) => parseFloat(s[name]) || 0;
    const shown = target.getClientRects().length > 0;
    const box = (width, height) => [made(ResizeObserverSize, s.writingMode.startsWith("horizontal")
      ? {inlineSize: width, blockSize: height} : {inlineSize: height, blockSize: width})];
    let w = px("width");
    let h = px("height");
    let left = px("paddingLeft");
    let top = px("paddingTop");
    let moreW = left + px("paddingRight") + px("borderLeftWidth") + px("borderRightWidth");
    let moreH = top + px("paddingBottom") + px("borderTopWidth") + px("borderBottomWidth");
    if (s.boxSizing === "border-box") {
      w = Math.max(0, w - moreW);
      h = Math.max(0, h - moreH);
    }
    if (target instanceof SVGGraphicsElement && target.ownerSVGElement) {
      const b = target.getBBox();
      w = b.width;
      h = b.height;
      left = top = moreW = moreH = 0;
    } else if (!shown)
      w = h = left = top = moreW = moreH = 0;
    return {
      contentRect: new DOMRectReadOnly(left, top, w, h),
      contentBoxSize: box(w, h),
      borderBoxSize: box(w + moreW, h + moreH),
      devicePixelContentBoxSize: box(Math.round(w * devicePixelRatio), Math.round(h * devicePixelRatio)),
    };
  }

  putClass(class ResizeObserver extends window.ResizeObserver {
    #tell;
    #targets = new Map();

    static {
      lookAtOneSize = (o) => o.#look();
    }

    constructor(tell) {
      super(quiet(tell));
      this.#tell = tell;
    }

    observe(target, options) {
      super.observe(target, options);
      const border = options && options.box === "border-box";
      this.#targets.set(target, {box: border ? "borderBoxSize" : "contentBoxSize", inline: 0, block: 0});
      sizes.add(this);
      lookAtNew();
    }

    unobserve(target) {
      super.unobserve(target);
      this.#targets.delete(target);
      if (this.#targets.size === 0)
        sizes.delete(this);
    }

    disconnect() {
      super.disconnect();
      this.#targets.clear();
      sizes.delete(this);
    }

    #look() {
      const entries = [];
      for (const [target, last] of this.#targets) {
        const is = sizeOf(target);
        const [{inlineSize, blockSize}] = is[last.box];
        if (inlineSize === last.inline && blockSize === last.block)
          continue;
        last.inline = inlineSize;
        last.block = blockSize;
        entries.push(made(ResizeObserverEntry, {target, ...is}));
      }
      if (entries.length === 0)
        return;
      pending.note(0);
      call(this.#tell, this, entries, this);
    }
  });

  // ---- animations and transitions ----

  const begun = new WeakMap();
  const ended = new WeakSet();
  const hurried = new WeakSet();

  function say(a, type, elapsed) {
    const {target, pseudoElement} = a.effect;
    const common = {bubbles: true, elapsedTime: elapsed / 1000, pseudoElement: pseudoElement || ""};
    if (a instanceof CSSTransition)
      target.dispatchEvent(new TransitionEvent("transition" + type, {...common, propertyName: a.transitionProperty}));
    else if (a instanceof CSSAnimation && type !== "run")
      target.dispatchEvent(new AnimationEvent("animation" + type, {...common, animationName: a.animationName}));
  }

  function endOne(a, hasty) {
    const timing = a.effect.getComputedTiming();
    if (!begun.has(a)) {
      begun.set(a, now());
      say(a, "run", 0);
      say(a, "start", 0);
    }
    const left = begun.get(a) + timing.endTime / Math.abs(a.playbackRate) - now();
    const early = timing.endTime <= EARLY_MS && !hurried.has(a.effect.target);
    if (!isFinite(timing.endTime) || a.playState !== "running")
      return;
    if (left > 0 && !early) {
      if (left <= SOON_MS)
        pending.due(left + LOOK_MS);
      return;
    }
    ended.add(a);
    if (early)
      hasty.push(a.effect.target);
    const {target} = a.effect;
    const {activeDuration} = timing;
    a.finish();
    a.dispatchEvent(new AnimationPlaybackEvent("finish", {currentTime: a.currentTime}));
    if (a.effect && a.effect.target === target)
      say(a, "end", activeDuration);
  }

  function endAnimations() {
    const hasty = [];
    for (const a of document.getAnimations()) {
      try {
        if (!ended.has(a) && a.playbackRate !== 0 && a.timeline instanceof DocumentTimeline &&
            a.effect && a.effect.target)
          endOne(a, hasty);
      } catch (e) {
        report(e);
      }
    }
    for (const target of hasty)
      hurried.add(target);
  }

  function look() {
    endAnimations();
    if (sights.size > 0 || sizes.size > 0)
      lookSoon();
    later(look, LOOK_MS);
  }

  window.addEventListener("DOMContentLoaded", () => later(look, 0), {once: true, capture: true});
  window.addEventListener("load", () => {
    endAnimations();
    if (sights.size > 0 || sizes.size > 0)
      lookAtNew();
  }, {once: true, capture: true});
})
