// results: "first result" and the like: the links of a list of results that no
// word on the page tells apart from others. They are alike, stand in rows, and
// not in what frames every page of a site.
const NTH = {first: 1, "1st": 1, top: 1, second: 2, "2nd": 2, third: 3, "3rd": 3, last: -1,
  erste: 1, erster: 1, erstes: 1, ersten: 1, zweite: 2, zweiter: 2, zweites: 2, dritte: 3, dritter: 3, drittes: 3,
  premier: 1, premiere: 1, deuxieme: 2, troisieme: 3, primer: 1, primero: 1, segundo: 2, tercer: 3, primeiro: 1, primo: 1, secondo: 2,
  eerste: 1, tweede: 2, первый: 1, второй: 2, "第一": 1, "第1": 1, "第二": 2, "第三": 3, "最初の": 1};
const RESULT_WORDS = "search result|search hit|result|hit|match|link|item|entry|suchergebnis|ergebnis|treffer|resultat|lien|resultado|enlace|risultato|" +
  "resultaat|результат|个结果|个搜索结果|条结果|条搜索结果|个链接|结果|検索結果|結果";
const NTH_RESULT = new RegExp(`^(?:the )?(${Object.keys(NTH).join("|")}|\\d+(?:st|nd|rd|th)?) ?(?:${RESULT_WORDS})$`);
const RESULT_NTH = new RegExp(`^(?:${RESULT_WORDS}) (?:number |no )?(\\d+)$`);
const FRAMES_PAGES = "nav,header,footer,aside,form,[role=navigation],[role=banner],[role=contentinfo],[role=complementary],[role=search]";

// Which one is meant, from 1; 0 when it is another kind of name.
function nthOf(query) {
  const m = NTH_RESULT.exec(query) || RESULT_NTH.exec(query);
  return m === null ? 0 : NTH[m[1]] || parseInt(m[1], 10);
}

function isResultLink(el) {
  const text = textIn(el);
  return /^https?:$/.test(el.protocol) && el.href.split("#")[0] !== location.href.split("#")[0] &&
    text.length >= 3 && !/^\W*\d+\W*$/.test(text) && boxOf(el) !== null &&
    !framedBy(el);
}

// The header of an article is no header of the page.
function framedBy(el) {
  const frame = el.closest(FRAMES_PAGES);
  return frame !== null && !(/^(header|footer)$/.test(frame.localName) && frame.closest("article,li") !== null);
}

// Where it stands, as a path of elements without their places.
function shapeOf(el) {
  const path = [];
  for (let at = el; at && at.localName !== "body" && path.length < 6; at = at.parentElement)
    path.push(at.localName + "." + attr(at, "class").split(" ").filter((c) => !/\d/.test(c))[0]);
  return path.join(" ");
}

function worthOf(links) {
  const letters = links.reduce((n, el) => n + Math.min(textIn(el).length, 60), 0);
  const first = links[0];
  return letters * (first.closest("h1,h2,h3,h4") !== null || first.querySelector("h2,h3,h4") !== null ? 3 : 1) *
    (first.closest("li,article,tr,dt,[role=listitem]") !== null ? 1.5 : 1) *
    (first.closest("[class*=result i],[id*=result i],[class*=hits i]") !== null ? 3 : 1) *
    (first.closest("main,[role=main],#content") !== null ? 1.5 : 1) * (links.length > 1 ? 1 : 0.3);
}

// The links of the list, in their order.
function resultLinks(roots) {
  const groups = new Map();
  for (const root of roots) {
    for (const el of root.querySelectorAll("a[href]")) {
      if (spent())
        break;
      if (!isResultLink(el))
        continue;
      const shape = shapeOf(el);
      if (!groups.has(shape))
        groups.set(shape, []);
      groups.get(shape).push(el);
    }
  }
  return [...groups.values()].sort((a, b) => worthOf(b) - worthOf(a))[0] || [];
}

function nthResult(roots, n) {
  const links = resultLinks(roots);
  const el = links[n < 0 ? links.length - 1 : n - 1];
  return el === undefined ? [] : [{el, role: "link", score: 1, rank: 1, seen: true, enabled: isEnabled(el)}];
}
