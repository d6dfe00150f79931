// words: how near two texts are to each other, as people write and read them:
// without case, width, accents and what is said beside, and by what they mean.
const S = globalThis.browsertask || (globalThis.browsertask = {});

const CJK = /[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

// Without accents, width, case; marks of scripts that need them are kept.
function plainText(text) {
  return String(text).normalize("NFKC").toLowerCase().normalize("NFD")
    .replace(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640]/g, "").normalize("NFC")
    .replace(/\u00df/g, "ss").replace(/\u00f8/g, "o").replace(/\u0142/g, "l")
    .replace(/\u0111/g, "d").replace(/\u0131/g, "i").replace(/\u00e6/g, "ae");
}

function wordsOf(text) {
  const plain = plainText(cut(text, 400)).trim();
  let words = plain.replace(/[^\p{L}\p{N}\p{M}]+/gu, " ").trim();
  if (words === "")
    words = plain; // only signs: › » ×
  return {text: words, tokens: words.split(" ").filter((w) => w !== ""),
    tight: words.replace(/ /g, ""), cjk: CJK.test(words)};
}

// Names in programs: userName, user_name, login-email, j_username, txtPwd1.
function wordsOfName(name) {
  return wordsOf(name.replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2").replace(/_/g, " ")
    .replace(/(\p{L})(\d+)$/u, "$1"));
}

// What people put around a name when they say which thing they mean.
const NOISE = new Set(("the|a|an|your|my|please|enter|type|click|press|on|in|to|of|for|here|field|" +
  "input|box|textbox|button|link|text|select|dropdown|checkbox|icon|page|" +
  "feld|eingabefeld|schaltflache|knopf|das|der|die|den|bitte|eingeben|ihre|ihr|" +
  "champ|bouton|lien|le|la|les|votre|saisir|campo|boton|enlace|el|su|tu|botao|seu|il|" +
  "pulsante|knop|veld|pole|przycisk|поле|кнопка|ссылка|введите|ваш|ваше").split("|"));
const CJK_NOISE = /请输入您的|请输入|請輸入|请填写|请选择|请|輸入框|输入框|输入|填写|文本框|框|按钮|按鈕|链接|連結|字段|栏|您的|入力欄|入力してください|を入力|ボタン|リンク|欄|버튼|입력란|입력하세요|을 입력|를 입력|링크/g;

function withoutNoise(w) {
  let text = w.text;
  if (w.cjk) {
    const rest = text.replace(CJK_NOISE, "").trim();
    if (rest !== "")
      text = rest;
  }
  const tokens = text.split(" ").filter((t) => t !== "" && !NOISE.has(t));
  return tokens.length === 0 ? w : wordsOf(tokens.join(" "));
}

// One letter more, less or other, in words long enough that it is no other one.
function isNear(a, b) {
  if (a === b)
    return true;
  if (a.length < 5 || b.length < 5 || Math.abs(a.length - b.length) > 1)
    return false;
  let i = 0;
  while (i < a.length && a[i] === b[i])
    i++;
  if (a.length === b.length)
    return a.slice(i + 1) === b.slice(i + 1) ||
      (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
  return a.length > b.length ? a.slice(i + 1) === b.slice(i) : a.slice(i) === b.slice(i + 1);
}

function isStem(a, b) {
  return a.length >= 4 && b.length >= 4 && (a.startsWith(b) || b.startsWith(a));
}

// How much of the letters of a's words is among b's.
function covered(a, b) {
  let all = 0;
  let found = 0;
  for (const t of a.tokens) {
    all += t.length;
    if (b.tokens.includes(t))
      found += t.length;
    else if (b.tokens.some((u) => isNear(t, u)))
      found += t.length * 0.9;
    else if (b.tokens.some((u) => isStem(t, u)))
      found += t.length * 0.75;
  }
  return all === 0 ? 0 : found / all;
}

// From 0, nothing in common, to 1, the same.
function closeness(q, t) {
  if (q.tight === "" || t.tight === "")
    return 0;
  if (q.tight === t.tight)
    return 1;
  if (q.cjk || t.cjk) {
    if (t.tight.includes(q.tight))
      return 0.62 + 0.33 * q.tight.length / t.tight.length;
    if (t.tight.length > 1 && q.tight.includes(t.tight))
      return 0.45 + 0.4 * t.tight.length / q.tight.length;
  }
  if (q.tight.length < 2 || t.tight.length < 2)
    return 0;
  const there = covered(q, t);
  const back = covered(t, q);
  if (there >= 0.9)
    return (0.62 + 0.33 * back) * there;
  if (back >= 0.9)
    return (0.4 + 0.42 * there) * back;
  return 0.6 * there * Math.max(back, 0.5);
}

// ---- what is meant by words ----

function concepts() {
  if (S.concepts)
    return S.concepts;
  const whole = new Map();
  const inside = [];
  for (const [id, list] of Object.entries(CONCEPT_WORDS)) {
    for (const word of plainText(list).split("|")) {
      const tight = word.replace(/ /g, "");
      if (!whole.has(tight))
        whole.set(tight, []);
      whole.get(tight).push(id);
      if (CJK.test(tight) && tight.length > 1)
        inside.push([tight, id]);
    }
  }
  S.concepts = {whole, inside};
  return S.concepts;
}

// The concepts that a text speaks of, each with the share of it that does.
function conceptsOf(w) {
  if (w.concepts)
    return w.concepts;
  const {whole, inside} = concepts();
  const out = new Map();
  const put = (id, share) => out.set(id, Math.max(out.get(id) || 0, share));
  for (const id of whole.get(w.tight) || [])
    put(id, 1);
  if (w.cjk) {
    for (const [word, id] of inside) {
      if (w.tight.includes(word))
        put(id, word.length / w.tight.length);
    }
  }
  for (let from = 0; from < Math.min(w.tokens.length, 12); from++) {
    let word = "";
    for (let n = 0; n < 4 && from + n < w.tokens.length; n++) {
      word += w.tokens[from + n];
      if (word.length > 2) {
        for (const id of whole.get(word) || [])
          put(id, word.length / w.tight.length);
      }
    }
  }
  w.concepts = out;
  return out;
}

function meaning(q, t) {
  let best = 0;
  const meant = conceptsOf(q);
  const said = conceptsOf(t);
  for (const [id, share] of meant) {
    const sure = 0.55 + 0.45 * share;
    if (said.has(id))
      best = Math.max(best, 0.86 * sure * (0.7 + 0.3 * said.get(id)));
    for (const other of CONCEPT_NEAR[id] || []) {
      if (said.has(other))
        best = Math.max(best, 0.6 * sure * (0.8 + 0.2 * said.get(other)));
    }
  }
  return best;
}

function stands(id) {
  return {text: "", tokens: [], tight: "", cjk: false, concepts: new Map([[id, 1]])};
}
