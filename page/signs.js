// signs: what a page says about what was sent to it: messages of errors, a field
// for a code, marks of a visitor who is signed in. A template decides by them; a
// text alone never makes a login a success.
const ERROR_CLASS = /(^|[-_\s])(errors?|errorlist|errornote|danger|invalid|failure)([-_\s]|$)|(error|invalid)[-_]?(message|msg|text|list|note|box|feedback)|box(error|warning)/i;
const GOOD_CLASS = /success|confirm|(^|[-_\s])(ok|info|sent|progress|loading)([-_\s]|$)/i;
const GOOD_TEXT = new RegExp("thank|success|\\bsent\\b|saved|please wait|loading|redirecting|sign(ing)? in\\b.*\\.\\.|danke|erfolg|gesendet|" +
  "merci|envoy|succes|gracias|exito|enviado|obrigad|sucesso|grazie|inviat|bedankt|спасибо|успеш|成功|感谢|谢谢|ありがとう|完了|감사|완료", "i");
// Only beside fields: in a running text these words say nothing.
const ERROR_TEXT = new RegExp("\\b(invalid|incorrect|wrong|not valid|not match|try again|failed|failure|error|required|denied|expired|" +
  "must be|must have|cannot be|can't be|too (short|long|many)|already (taken|exists|in use|registered)|not (found|recognized|recognised|allowed)|unknown user|" +
  "locked|disabled|blocked)\\b|ungultig|falsch|fehl(er|t|geschlagen)|erforderlich|pflichtfeld|incorrecte?|invalide|erreur|obligatoire|" +
  "incorrect[oa]|invalid[oa]|obligatori[oa]|errad[oa]|errore|non valid|ongeldig|onjuist|verplicht|nieprawidl|bledn|wymagan|neplatn|" +
  "felaktig|ogiltig|неверн|неправильн|ошибк|обязательн|不正确|错误|无效|失败|必填|不存在|間違|正しくありません|エラー|必須|無効|잘못|오류|올바르지|필수", "i");
const ERROR_TITLE = new RegExp("^(\\d{3}\\b[\\s:.-]*)?(error|fehler|erreur|errore|fout|blad|ошибка|错误|エラー|오류|access denied|forbidden|unauthori[sz]ed|bad request|" +
  "(page )?not found|(internal )?server error|service unavailable|bad gateway|too many requests|something went wrong|request failed)", "i");
const CODE_NAME = new RegExp("(^|[^a-z])(otp|totp|2fa|mfa|tfa)([^a-z]|$)|two.?fa(ctor)?\\b|one.?time|passcode|2fa.?code|" +
  "(verif\\w*|auth\\w*|security|sms|confirm\\w*|access|login).?(code|token|pin)", "i");
const OTHER_CODE = /promo|coupon|discount|voucher|gift|zip|post|area|country|captcha|referral|invit|product|item|sort/i;
const LOGOUT_ADDRESS = /(log|sign)[-_]?(out|off)(?![a-z])|abmelden|deconnexion|cerrar-?sesion/i;
const SIGNED_IN_TEXT = new RegExp("\\b(signed|logged) in as\\b|\\bhowdy\\b|\\bwelcome back\\b|\\b(angemeldet|eingeloggt) als\\b|connecte en tant que|" +
  "conectado como|connesso come|ingelogd als|zalogowany jako|вы вошли как|已登录|ログイン中|로그인됨", "i");
const ACCOUNT_TEXT = new RegExp("^(my|your) (account|profile|orders|page)$|^(account settings|edit profile|my settings)$|^mein (konto|profil)$|^mon (compte|profil)$|" +
  "^mi (cuenta|perfil)$|^minha conta$|^il mio (account|profilo)$|^mijn (account|profiel)$|^moje konto$|^(личный кабинет|мой профиль)$|" +
  "^我的(账户|主页|订单)$|^个人中心$|^マイページ$|^내 (계정|정보)$|^마이페이지$", "i");

const plain = (text) => plainText(text).replace(/\s+/g, " ").trim();

// ---- messages ----

// A wrapper of fields that is marked says nothing but their labels.
const holdsField = (el) => el.querySelector("input:not([type=hidden]),select,textarea") !== null;

function isRed(el) {
  const c = getComputedStyle(el).color.match(/[\d.]+/g);
  return c !== null && Number(c[0]) >= 140 && c[1] < c[0] * 0.5 && c[2] < c[0] * 0.55;
}

function isMessage(el) {
  const role = attr(el, "role");
  const names = attr(el, "class") + " " + attr(el, "id");
  const alert = /^alert(dialog)?$/.test(role) || attr(el, "aria-live") === "assertive";
  const named = ERROR_CLASS.test(names);
  if ((!alert && !named) || /^(html|body|main|form|fieldset|tr|a|button|input|select|textarea|label|script|style)$/.test(el.localName))
    return null;
  const text = textIn(el);
  if (text.length < 3 || (text.length > 400 && !alert) || (role !== "alertdialog" && holdsField(el)) || boxOf(el) === null)
    return null;
  if (GOOD_CLASS.test(attr(el, "class")) && !named)
    return null;
  const sure = named || ERROR_TEXT.test(plain(text));
  return sure || !GOOD_TEXT.test(plain(text)) ? {text, sure} : null;
}

// What stands in a form or just beside it and reads as an error or is red.
function besideFields(root, put) {
  for (const form of [...root.querySelectorAll("form")].slice(0, 20)) {
    if (form.querySelector("input:not([type=hidden],[type=search]),textarea") === null || boxOf(form) === null)
      continue;
    const near = form.parentElement && form.parentElement !== root.body
      ? [...form.parentElement.children].filter((e) => e !== form && e.localName !== "form").slice(0, 12) : [];
    const texts = [form, ...near].flatMap((e) => [e, ...[...e.querySelectorAll("*")].slice(0, 300)]);
    for (const el of texts) {
      if (el.childElementCount > 0 || /^(a|button|option|label|legend|script|style|textarea|h1|h2)$/.test(el.localName) || spent())
        continue;
      const text = clean(cut(el.textContent, 300));
      if (text.length < 5 || text.length > 240 || el.closest("button,a,label,nav,option") !== null || boxOf(el) === null)
        continue;
      if ((isRed(el) && /\s|[^\x00-\x7f]{4}/.test(text)) || ERROR_TEXT.test(plain(text)))
        put({text, sure: true});
    }
  }
}

function invalidFields(root, put) {
  for (const el of root.querySelectorAll("[aria-invalid=true],input.is-invalid,select.is-invalid,textarea.is-invalid")) {
    if (!isSeen(el))
      continue;
    const why = referred(el, "aria-errormessage") || referred(el, "aria-describedby");
    put({text: cut(nameOf(el, roleOf(el)) || el.localName, 80) + ": " + (why || "is marked as not valid"), sure: true, why});
  }
}

// At most ten; none that is a part of another, none that was there before.
function messagesOf(roots, known) {
  const out = [];
  const put = (m) => {
    const text = cut(m.text, 300);
    if (known.has(text) || out.some((x) => x.text.includes(text) || (m.why && m.why.includes(x.text))))
      return;
    for (let i = out.length - 1; i >= 0; i--) {
      if (text.includes(out[i].text))
        out.splice(i, 1);
    }
    if (out.length < 10)
      out.push({text, sure: m.sure});
  };
  for (const root of roots) {
    for (const el of root.querySelectorAll("[role],[aria-live],[class],[id]")) {
      if (spent())
        return out;
      const m = isMessage(el);
      if (m !== null)
        put(m);
    }
    invalidFields(root, put);
    besideFields(root, put);
  }
  for (const el of [...document.querySelectorAll("h1,h2")].slice(0, 5)) {
    if (ERROR_TITLE.test(plain(textIn(el))) && boxOf(el) !== null)
      put({text: textIn(el), sure: true});
  }
  if (out.length === 0 && ERROR_TITLE.test(plain(document.title)))
    put({text: clean(document.title), sure: true});
  return out;
}

// ---- fields ----

function locatorOf(el) {
  const root = el.getRootNode();
  const tries = [el.id && "#" + CSS.escape(el.id), el.name && `${el.localName}[name="${CSS.escape(el.name)}"]`];
  for (const selector of tries) {
    if (selector && root.querySelectorAll(selector).length === 1)
      return {mode: "selector", selector};
  }
  return {mode: "semantic", query: cut(nameOf(el, roleOf(el)) || "code", 120)};
}

function fieldsOf(roots) {
  const out = {password: false};
  let boxes = 0;
  for (const root of roots) {
    for (const el of root.querySelectorAll("input")) {
      if (spent() || !/^(text|tel|number|password|)$/.test(el.type) || boxOf(el) === null)
        continue;
      const name = nameOf(el, roleOf(el));
      const names = `${attr(el, "name")} ${attr(el, "id")}`;
      const once = attr(el, "autocomplete").includes("one-time-code");
      const said = wordsOf(name);
      const share = conceptsOf(said).get("code") || 0;
      let rank = once || CODE_NAME.test(names) || CODE_NAME.test(plain(name)) ? 2
        : share >= 0.5 || /(^|[^a-z])(code|pin)([^a-z]|$)/i.test(names) ? 1 : 0;
      if (!once && OTHER_CODE.test(names + " " + plain(name)))
        rank = 0;
      boxes += el.maxLength === 1 ? 1 : 0;
      if (el.maxLength === 1 && boxes === 4)
        rank = 2;
      if (rank > (out.code ? out.code.rank : 0))
        out.code = {rank, name: cut(name || attr(el, "name"), 120), locator: locatorOf(el)};
      if (el.type === "password" && rank < 2)
        out.password = true;
    }
  }
  return out;
}

// ---- marks ----

function marksOf(roots) {
  const out = {logout: "", as: false, account: false};
  for (const root of roots) {
    for (const el of root.querySelectorAll("a[href],button,input[type=submit],[role=menuitem],form[action]")) {
      if (spent())
        return out;
      const at = el.getAttribute("href") || el.getAttribute("action") || "";
      const text = el.localName === "form" ? "" : clean(el.localName === "input" ? el.value : textIn(el) || attr(el, "title") || attr(el, "aria-label"));
      const said = wordsOf(cut(text, 60));
      if ((at.length < 500 && LOGOUT_ADDRESS.test(at)) ||
          (text.length <= 40 && (conceptsOf(said).get("logout") || 0) >= 0.5 && !(conceptsOf(said).get("login") >= 0.5)))
        out.logout = out.logout === "seen" || boxOf(el) !== null ? "seen" : "hidden";
      if (ACCOUNT_TEXT.test(plain(text)) && boxOf(el) !== null)
        out.account = true;
    }
    const text = root.body ? root.body.innerText : "";
    out.as = out.as || SIGNED_IN_TEXT.test(plain(cut(text || "", 20000)));
  }
  return out;
}

// What a page may keep a session in besides cookies: a digest, no content.
function storeOf() {
  let hash = 0;
  try {
    for (const store of [localStorage, sessionStorage]) {
      for (const key of Object.keys(store).sort()) {
        if (!/token|auth|sess|jwt|user|credential|login|account/i.test(key))
          continue;
        for (const c of key + "=" + store.getItem(key))
          hash = (Math.imul(hash, 31) + c.codePointAt(0)) | 0;
      }
    }
  } catch {
    return 0;
  }
  return hash;
}

// That it worked, said where pages say such things.
function saysGood(roots, known) {
  for (const root of roots) {
    for (const el of root.querySelectorAll("[role=status],[role=alert],[aria-live],output,[class*=success]")) {
      const text = textIn(el);
      if (text !== "" && !known.has(cut(text, 300)) && GOOD_TEXT.test(plain(text)) && !ERROR_TEXT.test(plain(text)) && boxOf(el) !== null)
        return true;
    }
  }
  return false;
}

// The page in its own words, for people.
function wordsOfPage() {
  const top = document.querySelector("main,[role=main],#content,#main") || document.body;
  return cut(clean(top && top.innerText || document.title), 300);
}

function seeSigns(known) {
  const roots = allRoots();
  const nav = performance.getEntriesByType("navigation")[0];
  return Object.assign(fieldsOf(roots), {document: String(performance.timeOrigin), status: nav ? nav.responseStatus : 0,
    messages: messagesOf(roots, known), good: saysGood(roots, known), marks: marksOf(roots), store: storeOf(), words: wordsOfPage()});
}

// Enough to decide by: nothing is gained by looking on.
function decides(s, o) {
  return s.messages.some((m) => m.sure) || (s.code !== undefined && s.code.rank === 2) || s.status >= 400 ||
    (o.login ? s.marks.logout === "seen" && !s.password : s.good || s.document !== o.document);
}

async function signs(o) {
  const asked = o.signs;
  const known = new Set(Object.values(asked.known || {}));
  let last = null;
  await until(now() + o.timeoutMs, async () => {
    workAnew();
    last = seeSigns(known);
    return decides(last, asked) ? last : null;
  });
  last.messages = last.messages.map((m) => m.text);
  return {element: last};
}
