// pagetype: which of the known kinds the page is. Each kind collects points
// from structure, attributes, words of the address and words in titles,
// headings and buttons in several languages; the best with enough points wins.
const WORDS = {
  login: /\b(log ?in|log on|sign ?in|signin|anmelden|einloggen|anmeldung|connexion|se connecter|identif|iniciar sesi[oó]n|acceder|ingresar|entrar|acessar|accedi|inloggen|zaloguj|войти|вход)\b|登录|登入|ログイン|サインイン|로그인|تسجيل الدخول|دخول|כניסה|התחבר/i,
  register: /\b(sign ?up|register|registration|create (an |your )?account|join now|registrieren|konto erstellen|registrierung|inscription|s.inscrire|cr[eé]er un compte|registrarse|reg[ií]strate|crear (una )?cuenta|cadastr|criar conta|registrati|iscriviti|регистрация|зарегистр)|注册|註冊|新規登録|会員登録|アカウント作成|회원가입|إنشاء حساب|تسجيل جديد|הרשמה/i,
  search: /\b(search|find|suche|suchen|recherche|rechercher|buscar|b[uú]squeda|pesquis|cerca|ricerca|zoeken|szukaj|поиск|найти)\b|搜索|搜尋|検索|검색|بحث|ابحث|חיפוש/i,
  results: /\b(results?|ergebnisse|treffer|r[eé]sultats?|resultados?|risultati|resultaten|wyniki|результат\w*)\b|结果|結果|검색결과|نتائج|תוצאות/i,
  dashboard: /\b(dashboard|overview|control panel|console|analytics|[uü]bersicht|tableau de bord|panel de control|painel|cruscotto|обзор|панель)\b|仪表盘|儀表板|控制台|概览|ダッシュボード|대시보드|لوحة|לוח בקרה/i,
  settings: /\b(settings|preferences|configuration|options|einstellungen|param[eè]tres|pr[eé]f[eé]rences|ajustes|configuraci[oó]n|preferencias|configura[cç][oõ]es|impostazioni|instellingen|ustawienia|настройки)\b|设置|設定|偏好|설정|إعدادات|الإعدادات|הגדרות/i,
  checkout: /\b(check ?out|payment|place (your )?order|pay now|billing|kasse|zur kasse|bezahlen|zahlung|paiement|commander|pagar|pago|finalizar (la )?compra|pagamento|checkout|afrekenen|оплат\w*|оформ\w*)\b|结账|結帳|付款|支付|お支払い|購入手続き|결제|الدفع|إتمام الشراء|תשלום/i,
  inbox: /\b(inbox|posteingang|bo[iî]te de r[eé]ception|bandeja de entrada|caixa de entrada|posta in arrivo|входящие)\b|收件箱|收件匣|受信トレイ|받은편지함|البريد الوارد|צד נכנס/i,
  compose: /\b(compose|new (message|mail|e-?mail)|write (a )?message|verfassen|neue nachricht|nouveau message|redactar|escribir|nova mensagem|nuovo messaggio|написать)\b|写邮件|撰写|寫信|新規メール|メール作成|편지쓰기|رسالة جديدة/i,
  send: /\b(send|senden|envoyer|enviar|invia|verzenden|отправить)\b|发送|傳送|送信|보내기|إرسال|שלח/i,
  save: /\b(save|apply|update|speichern|[uü]bernehmen|enregistrer|guardar|salvar|salva|opslaan|сохранить)\b|保存|储存|儲存|저장|حفظ|שמור/i,
  contact: /\b(contact|feedback|apply|application|request|survey|booking|kontakt|formular|anfrage|formulaire|contacto|formulario|contato|modulo|анкета|форма)\b|联系|表单|聯絡|お問い合わせ|フォーム|문의|اتصل|نموذج/i,
  logout: /\b(log ?out|sign ?out|abmelden|d[eé]connexion|cerrar sesi[oó]n|sair|esci|выйти)\b|退出|登出|ログアウト|로그아웃|خروج/i,
};
const PATHS = {
  login: /(^|[/_.-])(log-?in|sign-?in|signin|auth|session|anmelden|connexion)([/_.?-]|$)/i,
  register: /(^|[/_.-])(sign-?up|register|registration|join|inscription|registrieren)([/_.?-]|$)/i,
  search: /(^|[/_.-])(search|find|suche|recherche|buscar|results?)([/_.?-]|$)/i,
  dashboard: /(^|[/_.-])(dashboard|console|overview|admin)([/_.?-]|$)/i,
  settings: /(^|[/_.-])(settings?|preferences|options|einstellungen|account\/edit)([/_.?-]|$)/i,
  checkout: /(^|[/_.-])(check-?out|payment|pay|billing|kasse)([/_.?-]|$)/i,
  inbox: /(^|[/_.-])(inbox|mail|mailbox)([/_.?-]|$)/i,
  compose: /(^|[/_.-])(compose|new-?message)([/_.?-]|$)/i,
  article: /(^|[/_.-])(article|articles|post|posts|blog|news|story|wiki)([/_.?-]|$)|\/(19|20)\d\d\/\d\d?\//i,
  list: /(^|[/_.-])(list|category|categories|catalog|catalogue|products|shop|archive|tag|tags|items)([/_.?-]|$)/i,
};

// The largest group of brothers that look alike and each hold a link, a
// heading or a picture: the rows of a list.
function largestGroup() {
  let best = 0;
  for (const parent of document.querySelectorAll("ul,ol,main,section,div,tbody,table,[role=list],[role=grid],[role=feed]")) {
    if (spent())
      break;
    const n = parent.childElementCount;
    if (n <= best || n < 5 || parent.closest("nav,footer,header,[role=navigation]"))
      continue;
    const groups = new Map();
    let seen = 0;
    for (const child of parent.children) {
      if (++seen > 300)
        break;
      const sign = child.localName + "." + (child.classList[0] || "");
      if (/^(p|br|h\d|script|style|hr|option)\./.test(sign) ||
          !child.querySelector("a[href],h2,h3,h4,img"))
        continue;
      const size = (groups.get(sign) || 0) + 1;
      groups.set(sign, size);
      best = Math.max(best, size);
    }
    if (seen > 300 && best >= 300)
      best = n;
  }
  return best;
}

function proseOf() {
  const prose = {long: 0, together: 0, chars: 0, linkChars: 0};
  const inParent = new Map();
  for (const p of document.querySelectorAll("p")) {
    if (spent())
      break;
    const n = clean(p.textContent).length;
    // A Chinese or Japanese character says about as much as three letters.
    const weight = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(p.textContent) ? 3 * n : n;
    prose.chars += weight;
    if (weight < 80)
      continue;
    const brothers = (inParent.get(p.parentNode) || 0) + 1;
    inParent.set(p.parentNode, brothers);
    prose.together = Math.max(prose.together, brothers);
    prose.long++;
  }
  for (const a of document.querySelectorAll("a[href]")) {
    if (spent())
      break;
    prose.linkChars += Math.min(a.textContent.trim().length, 200);
  }
  return prose;
}

function linkedTypes() {
  let text = "";
  for (const s of document.querySelectorAll('script[type="application/ld+json"]'))
    text += s.textContent.slice(0, 20000);
  return new Set((text.match(/"@type"\s*:\s*"(\w+)"/g) || []).map((m) => m.replace(/.*"(\w+)"$/, "$1")));
}

function signalsOf(items) {
  const s = {passwords: 0, newPassword: false, currentPassword: false, text: 0, selects: 0,
    areas: 0, toggles: 0, search: null, card: 0, address: 0, to: 0, subject: 0, editor: 0,
    email: 0, boxes: 0};
  for (const {el, role, region} of items) {
    if (role === "link" || role === "button")
      continue;
    const ac = (el.getAttribute("autocomplete") || "").toLowerCase();
    const hint = [el.name, el.id, el.getAttribute("placeholder"), el.getAttribute("aria-label")]
      .join(" ");
    if (el.type === "password") {
      s.passwords++;
      s.newPassword = s.newPassword || ac.includes("new-password");
      s.currentPassword = s.currentPassword || ac.includes("current-password");
      continue;
    }
    const searching = role === "searchbox" || region === "search" ||
      (el.localName === "input" && (/^(q|query|search|s|wd|keyword|kw|text)$/i.test(el.name) ||
        (role !== "checkbox" && role !== "radio" && WORDS.search.test(hint))));
    if (searching && (role === "searchbox" || role === "textbox" || role === "combobox")) {
      s.search = s.search || el;
      continue;
    }
    if (ac.startsWith("cc-") || /card.?(number|no)|cvc|cvv|iban|expir/i.test(hint))
      s.card++;
    if (/street-address|address-line|postal-code|shipping|billing/.test(ac) ||
        /address|street|postcode|postal|\bzip\b|\bcity\b/i.test(hint))
      s.address++;
    if (el.type === "email" || ac.includes("email") || ac.includes("username"))
      s.email++;
    if (/^(to|recipients?|an|cc|bcc)$/i.test(el.name || el.id || ""))
      s.to++;
    if (/subject|betreff|objet|asunto|assunto|主题|件名/i.test(hint))
      s.subject++;
    if (role === "checkbox" || role === "switch")
      s.toggles++;
    if (role === "checkbox")
      s.boxes++;
    if (el.localName === "textarea" || el.isContentEditable) {
      s.areas++;
      s.editor = s.editor || 1;
    } else if (role === "combobox" || role === "listbox")
      s.selects++;
    else if (role === "textbox" || role === "spinbutton")
      s.text++;
  }
  return s;
}

function pageType(items, counts) {
  const path = decoded(location.pathname + location.hash);
  const h1 = document.querySelector("h1,[role=heading][aria-level='1']");
  const head = clean(document.title).slice(0, 300) + " \n " + (h1 ? clean(h1.textContent).slice(0, 300) : "");
  const buttons = items.filter((i) => i.role === "button").slice(0, 60)
    .map((i) => nameOf(i.el, "button").slice(0, 60)).join(" \n ");
  const links = items.filter((i) => i.role === "link").slice(0, 80)
    .map((i) => clean(i.el.textContent.slice(0, 80))).join(" \n ");
  const og = document.querySelector('meta[property="og:type"]');
  const ogType = og ? og.content || "" : "";
  const ld = linkedTypes();
  const s = signalsOf(items);
  const prose = proseOf();
  const group = largestGroup();
  const bodyChars = clean(document.body ? document.body.textContent.slice(0, 200000) : "").length;
  const fields = s.text + s.areas + s.selects + s.toggles;
  const query = queryOf();
  const linkShare = bodyChars > 0 ? prose.linkChars / bodyChars : 0;
  const teasers = document.querySelectorAll("h2 a,h3 a,h4 a,a h2,a h3,a h4").length;
  const paged = document.querySelector('[rel=next],[rel=prev],[class*=pagination],[class*=pager],nav[aria-label*="age"]') !== null;
  const has = (kind) => WORDS[kind].test(head);
  const yes = (cond, points) => (cond ? points : 0);
  const score = {
    login: s.passwords === 0 ? 0 : 5 + yes(s.currentPassword, 3) + yes(has("login"), 2) +
      yes(PATHS.login.test(path), 2) + yes(WORDS.login.test(buttons), 2) +
      yes(s.passwords > 1, -5) + yes(s.newPassword, -5) + yes(fields > 5, -3) +
      yes(has("register"), -2) + yes(has("settings"), -2) + yes(s.card > 0, -4),
    register: s.passwords === 0 && !has("register") ? 0 : yes(s.newPassword, 4) +
      yes(s.passwords > 1, 4) + yes(has("register"), 4) + yes(PATHS.register.test(path), 3) +
      yes(WORDS.register.test(buttons), 2) + yes(s.passwords > 0 && fields >= 3, 2) +
      yes(fields === 0 && s.passwords === 0, -6) + yes(has("settings"), -4) +
      yes(s.currentPassword, -3),
    search_engine: s.search === null || query !== "" ? 0 : 3 + yes(bodyChars < 1500, 2) +
      yes(items.length < 60, 1) + yes(prose.long === 0, 1) + yes(has("search"), 2) +
      yes(location.pathname === "/" || PATHS.search.test(path), 1) + yes(prose.long > 2, -4) +
      yes(group >= 8, -3) + yes(fields > 3, -3) + yes(has("results"), -2) +
      yes((counts.heading || 0) > 8, -3),
    search_results: yes(query !== "", 4) + yes(s.search !== null && s.search.value !== "", 3) +
      yes(PATHS.search.test(path), 2) + yes(has("results"), 3) + yes(has("search"), 1) +
      yes(group >= 5, 2) + yes(paged, 1) +
      yes(query === "" && (s.search === null || s.search.value === ""), -4) + yes(group < 3, -3),
    form: fields < 2 ? 0 : yes(fields >= 3, 3) + yes(fields >= 5, 1) + yes(s.areas > 0, 1) +
      yes(has("contact"), 3) + yes((counts.form || 0) > 0, 1) + yes(WORDS.send.test(buttons), 1) +
      yes(prose.long > 5, -4) + yes(group > 15, -3) + yes(s.passwords > 0, -3),
    article: yes(counts.article === 1, 2) + yes(prose.together >= 3, 3) + yes(prose.together >= 6, 2) +
      yes(prose.chars > 3000, 1) + yes(/article|blog/.test(ogType), 3) +
      yes(["Article", "NewsArticle", "BlogPosting", "ReportageNewsArticle", "ScholarlyArticle"]
        .some((t) => ld.has(t)), 3) +
      yes(document.querySelector("time[datetime],meta[name=author],meta[property='article:published_time'],[rel=author]") !== null, 1) +
      yes(linkShare < 0.3, 1) + yes(h1 !== null, 1) + yes(PATHS.article.test(path), 1) +
      yes(group > 20 && prose.chars < 4000, -4) + yes((counts.article || 0) > 3, -3) +
      yes(prose.together < 2, -4),
    list: yes(group >= 5, 2) + yes(group >= 10, 3) + yes(group >= 20, 2) +
      yes(linkShare > 0.5, 2) + yes((counts.article || 0) >= 3, 2) + yes(paged, 1) + yes(teasers >= 8, 2) +
      yes(ld.has("ItemList") || ld.has("CollectionPage"), 3) + yes(PATHS.list.test(path), 1) +
      yes(prose.together > 5 && group < 20, -4) + yes(query !== "", -2),
    email_inbox: !has("inbox") && !PATHS.inbox.test(path) ? 0 : yes(has("inbox"), 4) + yes(WORDS.inbox.test(links), 2) + yes(PATHS.inbox.test(path), 2) +
      yes(WORDS.compose.test(buttons + links), 3) + yes(s.boxes >= 5 && group >= 5, 2) +
      yes(group < 5 && (counts.table || 0) === 0 && (counts.listitem || 0) < 5, -6),
    email_compose: s.to === 0 && s.subject === 0 ? 0 : yes(s.to > 0, 3) + yes(s.subject > 0, 2) +
      yes(s.editor > 0, 2) + yes(WORDS.send.test(buttons), 2) + yes(has("compose"), 3) +
      yes(PATHS.compose.test(path), 2) + yes(s.to === 0, -3),
    dashboard: yes(has("dashboard"), 4) + yes(PATHS.dashboard.test(path), 2) +
      yes(document.querySelectorAll("canvas,svg[width],svg[viewBox],[class*=chart],meter,progress").length >= 3, 3) +
      yes((counts.table || 0) > 0, 1) + yes(WORDS.logout.test(links + buttons), 1) +
      yes(document.querySelectorAll("[class*=card],[class*=metric],[class*=stat],[class*=tile],[class*=widget],[class*=kpi]").length >= 3, 2) +
      yes(prose.long > 5, -4),
    settings: yes(has("settings"), 4) + yes(PATHS.settings.test(path), 2) + yes(s.toggles >= 3, 2) +
      yes(s.toggles + s.selects >= 4, 1) + yes(WORDS.save.test(buttons), 2) +
      yes(fields < 2, -5) + yes(prose.long > 5, -3),
    checkout: yes(has("checkout"), 4) + yes(PATHS.checkout.test(path), 2) + yes(s.card > 0, 4) +
      yes(s.address >= 2, 2) + yes(WORDS.checkout.test(buttons), 2) + yes(fields < 2, -5),
  };
  // What stands on an error page is the site's frame, not its subject.
  const entry = performance.getEntriesByType("navigation")[0];
  if (entry && entry.responseStatus >= 400 && s.passwords === 0)
    return "unknown";
  let best = "unknown";
  let points = 4;
  for (const [kind, n] of Object.entries(score)) {
    if (n > points) {
      best = kind;
      points = n;
    }
  }
  return best;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function queryOf() {
  for (const [key, value] of new URLSearchParams(location.search)) {
    if (/^(q|query|search|s|wd|keyword|keywords|kw|text|p|term)$/i.test(key) && value.trim() !== "" &&
        !(key === "p" && /^\d+$/.test(value)))
      return value;
  }
  return "";
}
