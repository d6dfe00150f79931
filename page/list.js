// list: lists that go on: what leads to the next page of a list, and what going
// on without another document has brought. Used by paginated_extract only, with
// locators of mode pager, which no caller can give.

// ---- what leads on ----

// "Next" of a row of pictures or of a month is not the list's.
const APART = ["carousel", "slider", "swiper", "slick", "splide", "glide", "gallery", "lightbox",
  "slideshow", "datepicker", "calendar"].map((name) => `[class*=${name} i]`)
  .concat("[aria-roledescription=carousel i]", "[aria-roledescription=slide i]").join(",");
const PAGER_AROUND = "nav,[role=navigation],[class*=pag i],[rel~=next]";
const PRESSED_TO_GO_ON = "a,area[href],button,input[type=submit],input[type=button],input[type=image]," +
  "[role=button],[role=link],[onclick]";
const MARKS_CURRENT = /(^|[-_ ])(current|active|selected|this-page|thispage|here|on)($|[-_ ])/i;
const LIST_AT = 0.6; // from this score on a name is meant

const isSign = (words) => !/[\p{L}\p{N}]/u.test(words.text);

// How surely an element is called so, and whether by a sign (› or >) only.
function calledAs(el, role, concept) {
  let best = {score: 0, sign: false};
  for (const [weight, words] of said(el, role, false)) {
    const share = conceptsOf(words).get(concept);
    const score = share === undefined ? 0 : weight * (0.5 + 0.5 * share);
    if (score > best.score)
      best = {score, sign: isSign(words)};
  }
  return best;
}

const asCandidate = (el, score) =>
  ({el, role: roleOf(el) || "", score, rank: score, seen: isSeen(el), enabled: isEnabled(el)});

function named(roots, concept) {
  const found = [];
  for (const root of roots) {
    for (const el of root.querySelectorAll(PRESSED_TO_GO_ON)) {
      if (spent())
        return found;
      const {score, sign} = calledAs(el, roleOf(el) || "", concept);
      if (score < LIST_AT || el.closest(APART) !== null)
        continue;
      const around = el.closest(PAGER_AROUND) !== null ? 1 : 0.9;
      found.push(Object.assign(asCandidate(el, score * around), {sign}));
    }
  }
  return found.sort((a, b) => b.rank - a.rank);
}

const pageNumber = (el) => {
  const m = /^\[?(\d{1,5})\]?$/.exec(clean(cut(el.textContent, 20)));
  return m === null ? 0 : Number(m[1]);
};

function isCurrent(el) {
  const item = el.closest("li") || el;
  return [el, item].some((e) => /^(page|true|step|location)$/.test(e.getAttribute("aria-current") || "") ||
    MARKS_CURRENT.test(e.getAttribute("class") || ""));
}

const isPressable = (el) => el.matches("a[href],button,input,[role=button],[role=link],[onclick]") ||
  (el.localName === "a" && el.closest("li") !== null);

// The smallest element around a number that holds another one, too.
function rowOfNumbers(el, numbers) {
  for (let at = parentOf(el), up = 0; at && up < 4; at = parentOf(at), up++) {
    if (numbers.some((n) => n.el !== el && n.page !== pageNumber(el) && at.contains(n.el)))
      return at;
  }
  return null;
}

// 1 2 [3] 4 ... 9: the number behind the one that is shown.
function numbered(roots) {
  const found = [];
  for (const root of roots) {
    const numbers = [];
    for (const el of root.querySelectorAll("a,button,span,strong,em,b,li,[role=button],[aria-current]")) {
      if (spent())
        return found;
      const page = el.childElementCount > 1 ? 0 : pageNumber(el);
      if (page > 0 && el.closest(APART) === null && numbers.length < 400)
        numbers.push({el, page});
    }
    const pressed = numbers.filter((n) => isPressable(n.el));
    for (const next of pressed) {
      const row = rowOfNumbers(next.el, numbers);
      if (row === null)
        continue;
      const before = numbers.filter((n) => n.page === next.page - 1 && row.contains(n.el));
      const plain = before.length > 0 && before.every((n) => !isPressable(n.el) && !n.el.querySelector("a[href],button"));
      const marked = before.some((n) => isCurrent(n.el)) &&
        !numbers.some((n) => n.page === next.page && row.contains(n.el) && isCurrent(n.el));
      if (marked || plain)
        found.push(asCandidate(next.el, 0.9));
    }
  }
  return found;
}

// In the order they are to be tried; one that cannot be pressed says that this
// is the end, unless something else leads on.
function byPager(roots) {
  const next = named(roots, "next").filter((c) => calledAs(c.el, c.role, "previous").score < c.score);
  const found = next.filter((c) => !c.sign).concat(numbered(roots), next.filter((c) => c.sign));
  const usable = found.filter((c) => c.seen && c.enabled);
  if (usable.length > 0)
    return usable;
  return found.some((c) => c.seen) ? found.filter((c) => c.seen) : named(roots, "more").filter((c) => c.seen);
}

// ---- what is listed ----

const LINES_MAX = 20000;
const LINE_OF = "tr,li,p,h1,h2,h3,h4,h5,h6,dt,dd,div,section,article,blockquote,pre,figcaption,label," +
  "button,caption,form,fieldset,aside,header,footer,nav,main,body";

// The texts that are seen, by the block they are in: a row of a table is one.
function linesOf(roots) {
  const lines = new Map(); // of its block
  const seen = new Map();
  const isShown = (el) => {
    if (!seen.has(el))
      seen.set(el, visible(el));
    return seen.get(el);
  };
  for (const root of roots) {
    const walker = (root.ownerDocument || root).createTreeWalker(root.body || root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (spent() || lines.size >= LINES_MAX)
        return [...lines.values()];
      const el = node.parentElement;
      if (!el || NOT_SAID.has(el.localName) || node.data.trim() === "" || !isShown(el))
        continue;
      const block = el.closest("tr") || el.closest(LINE_OF) || el;
      const line = lines.get(block) || {text: "", nodes: []};
      line.text += (line.text === "" ? "" : " ") + clean(cut(node.data, 400));
      line.nodes.push(node);
      lines.set(block, line);
    }
  }
  return [...lines.values()];
}

// Those of now that were not there before, each as often as it is.
function added(before, after) {
  const left = new Map();
  for (const line of before)
    left.set(line.text, (left.get(line.text) || 0) + 1);
  return after.filter((line) => {
    const n = left.get(line.text) || 0;
    left.set(line.text, n - 1);
    return n <= 0;
  });
}

// A clock or a counter that goes on is no new page; rows of numbers are.
function areNews(fresh, all, known) {
  const bare = (line) => line.text.replace(/\d+/g, "#");
  if (fresh.some((line) => !known.has(bare(line)) && /\p{L}{2}/u.test(line.text)))
    return true;
  return fresh.length >= 3 || fresh.length * 3 >= all.length;
}

// Everything that any page of this list has said stays known.
function markList(lines) {
  const list = S.list || (S.list = {known: new Set(), texts: new Set()});
  list.lines = lines;
  for (const line of lines) {
    list.known.add(line.text.replace(/\d+/g, "#"));
    list.texts.add(line.text);
  }
}

function scrollOn() {
  const last = S.list.lines.at(-1);
  const node = last && last.nodes.at(-1);
  let moved = false;
  const tried = new Set([document.scrollingElement]);
  for (let el = node && node.parentElement; el; el = parentOf(el))
    tried.add(el);
  for (const el of tried) {
    if (!el || el.scrollHeight <= el.clientHeight + 4)
      continue;
    const top = el.scrollTop;
    el.scrollTo({top: el.scrollHeight, behavior: "instant"});
    moved = moved || el.scrollTop > top;
  }
  return moved;
}

const headNext = () => {
  const link = document.querySelector("link[rel~=next i][href]");
  return link && /^https?:/.test(link.href) ? link.href : undefined;
};

const RESTS_MS = 200;

// The lines now, when they have something new; what only says that it loads is not.
function linesWithNews() {
  workAnew();
  const lines = linesOf(allRoots());
  const fresh = lines.filter((line) => !S.list.texts.has(line.text) && !/(\u2026|\.\.\.)$/.test(line.text));
  return fresh.length > 0 && areNews(fresh, lines, S.list.known) ? lines : null;
}

// What never rests, as a stopwatch, is taken as it is when time is up.
async function newsAtRest(end) {
  let lines = linesWithNews();
  for (let sign = ""; lines !== null;) {
    const text = lines.map((line) => line.text).join("\n");
    if (text === sign || now() >= end)
      return lines;
    sign = text;
    await new Promise((done) => setTimeout(done, RESTS_MS));
    lines = linesWithNews();
  }
  return null;
}

// Waits until there is something new that has come to rest, and hides what was
// listed before from the next extraction where that is still there.
async function listChanged(o) {
  if (!S.list)
    return {document: true};
  const end = now() + o.timeoutMs;
  const lines = await until(end, () => newsAtRest(end));
  if (lines === null)
    return {changed: false};
  const fresh = new Set(added(S.list.lines, lines));
  const gone = added(lines, S.list.lines);
  const given = new WeakSet();
  globalThis.browsertaskGiven = undefined;
  if (gone.length * 3 > fresh.size + 1)
    return {changed: true};
  globalThis.browsertaskGiven = given;
  for (const line of lines) {
    if (!fresh.has(line))
      line.nodes.forEach((node) => given.add(node));
  }
  return {changed: true, appended: true};
}

const LIST_STEPS = {
  mark() {
    workAnew();
    markList(linesOf(allRoots()));
    return {nextUrl: headNext()};
  },
  scroll: () => ({moved: scrollOn()}),
  changed: listChanged,
};

async function listStep(o) {
  return {element: await LIST_STEPS[o.go](o)};
}
