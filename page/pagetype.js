// pagetype: which of the known kinds the page is. Each kind collects points
// from structure, attributes, words of the address and words in titles,
// headings and buttons in several languages; the best with enough points wins.
// A word ends where no letter follows, in any script: \b knows ASCII only.
const WORDS = {
  to: /^(to|to recipients?|recipients?|an|till|til|komu|kime|προς|đến|do|empf[aä]nger|à|destinataires?|para|destinatarios?|a|aan|кому|宛先|收件人|받는 ?사람|받는사람|إلى|אל|cc|bcc)[\s:*：]*$/iu,
  subject: /(?<!\p{L})(ämne|emne|předmět|konu|θέμα|chủ đề|विषय|tárgy|subiect|subject|betreff|objet|asunto|assunto|oggetto|onderwerp|temat|тема)(?!\p{L})|主题|主旨|件名|제목|الموضوع|נושא/iu,
  login: /(?<!\p{L})(logga in|log ind|logg inn|kirjaudu|přihlá\p{L}*|giriş( yap)?|oturum aç|σύνδεση|είσοδος|đăng nhập|zaloguj się|logowanie|увійти|bejelentkez\p{L}*|autentific\p{L}*|प्रवेश|लॉग ?इन|log ?in|log on|sign ?in|signin|anmelden|einloggen|anmeldung|connexion|se connecter|identif\p{L}*|iniciar sesi[oó]n|acceder|ingresar|entrar|acessar|accedi|inloggen|zaloguj|войти|вход)(?!\p{L})|登录|登入|ログイン|サインイン|로그인|تسجيل الدخول|دخول|כניסה|התחבר/iu,
  register: /(?<!\p{L})(skapa konto|bli medlem|opret (konto|bruger)|registrer\p{L}*|luo tili|registrovat|registrace|vytvořit účet|üye ol|kayıt( ol)?|εγγραφή|đăng ký|zarejestruj|rejestracja|załóż konto|ouvrir un compte|open an account|aanmelden|account aanmaken|реєстрація|regisztr\p{L}*|înregistr\p{L}*|get started|start (a|your) free trial|join|sign ?up|register|registration|create (an |your )?account|join now|registrieren|konto erstellen|registrierung|inscription|s.inscrire|cr[eé]er un compte|registrarse|reg[ií]strate|crear (una )?cuenta|cadastr\p{L}*|criar conta|registrati|iscriviti|регистрация|зарегистр\p{L}*)|注册|註冊|新規登録|会員登録|アカウント作成|회원가입|إنشاء حساب|تسجيل جديد|הרשמה/iu,
  search: /(?<!\p{L})(sök|søg|søk|hae|haku|hledat|vyhled\p{L}*|ara|arama|αναζήτηση|tìm( kiếm)?|खोजें|пошук|keresés|căutare|procurar|rechercher|wyszukaj|искать|search|find|suche|suchen|recherche|rechercher|buscar|b[uú]squeda|pesquis\p{L}*|cerca|ricerca|zoeken|szukaj|поиск|найти)(?!\p{L})|搜索|搜尋|查询|查詢|検索|검색|بحث|ابحث|חיפוש/iu,
  results: /(?<!\p{L})(resultat\p{L}*|tulokset|výsledk\p{L}*|nalezen\p{L}*|sonuç\p{L}*|αποτελέσματα|kết quả|परिणाम|hits|matches|найден\p{L}*|znalezion\p{L}*|találat\p{L}*|rezultate|results?|ergebnisse|treffer|r[eé]sultats?|resultados?|risultati|resultaten|wyniki|результат\p{L}*)(?!\p{L})|结果|結果|검색결과|نتائج|תוצאות/iu,
  dashboard: /(?<!\p{L})(instrumentpanel|oversigt|oversikt|översikt|přehled|nástěnka|gösterge paneli|πίνακας ελέγχου|bảng điều khiển|pulpit|kokpit|личный кабинет|posici[oó]n global|vue d.ensemble|panoramica|overzicht|my account|mein konto|mon compte|minha conta|mina sidor|min side|dashboard|overview|control panel|console|analytics|[uü]bersicht|tableau de bord|panel de control|painel|cruscotto|обзор|панель)(?!\p{L})|仪表盘|儀表板|控制台|概览|ダッシュボード|대시보드|لوحة|לוח בקרה/iu,
  settings: /(?<!\p{L})(inställningar|indstillinger|innstillinger|asetukset|nastavení|ayarlar|ρυθμίσεις|cài đặt|सेटिंग|налаштування|beállítások|setări|voorkeuren|prefer[eê]ncias|preferenze|security|sicherheit|datenschutzeinstellungen|notifications|notifica[cç][oõ]es|benachrichtigungen|settings|preferences|configuration|options|einstellungen|param[eè]tres|pr[eé]f[eé]rences|ajustes|configuraci[oó]n|preferencias|configura[cç][oõ]es|impostazioni|instellingen|ustawienia|настройки)(?!\p{L})|设置|設定|偏好|설정|إعدادات|الإعدادات|הגדרות/iu,
  checkout: /(?<!\p{L})(kassa|betalning|betaling|maksu|pokladna|platba|ödeme|ολοκλήρωση|thanh toán|zamówienie|do kasy|płatność|panier|warenkorb|carrito|carrello|winkelwagen|koszyk|корзин\p{L}*|cart|basket|bestelling|bestellen|commande|ordine|pedido|kosár|проведення|pay|check ?out|payment|place (your )?order|pay now|billing|kasse|zur kasse|bezahlen|zahlung|paiement|commander|pagar|pago|finalizar (la )?compra|pagamento|checkout|afrekenen|оплат\p{L}*|оформ\p{L}*)(?!\p{L})|结账|結帳|付款|支付|お支払い|購入手続き|결제|الدفع|إتمام الشراء|תשלום/iu,
  inbox: /(?<!\p{L})(doručená pošta|inkorg|indbakke|innboks|saapuneet|gelen kutusu|εισερχόμενα|hộp thư đến|odebrane|skrzynka odbiorcza|postvak in|messagerie|courrier|вхідні|inbox|posteingang|bo[iî]te de r[eé]ception|bandeja de entrada|caixa de entrada|posta in arrivo|входящие)(?!\p{L})|收件箱|收件匣|受信トレイ|받은편지함|البريد الوارد|צד נכנס/iu,
  compose: /(?<!\p{L})(nová zpráva|skriv (mail|brev|e-?post)|nytt meddelande|ny (mail|besked)|kirjoita|yeni ileti|oluştur|σύνταξη|soạn thư|nowa wiadomość|utwórz|nieuw bericht|opstellen|nuevo mensaje|e-?mail schreiben|r[eé]diger|reply|antworten|compose|new (message|mail|e-?mail)|write (a )?message|verfassen|neue nachricht|nouveau message|redactar|escribir|nova mensagem|nuovo messaggio|написать)(?!\p{L})|写邮件|撰写|寫信|新規メール|メール作成|편지쓰기|رسالة جديدة/iu,
  send: /(?<!\p{L})(skicka|lähetä|odeslat|gönder|αποστολή|gửi|wyślij|inviare|надіслати|submit|send|senden|envoyer|enviar|invia|verzenden|отправить)(?!\p{L})|发送|傳送|送信|보내기|إرسال|שלח/iu,
  save: /(?<!\p{L})(spara|gem|lagre|tallenna|uložit|kaydet|αποθήκευση|lưu|zapisz|save changes|bewaren|salvare|зберегти|mentés|save|apply|update|speichern|[uü]bernehmen|enregistrer|guardar|salvar|salva|opslaan|сохранить)(?!\p{L})|保存|储存|儲存|저장|حفظ|שמור/iu,
  contact: /(?<!\p{L})(kontakta|yhteys|iletişim|επικοινωνία|liên hệ|đặt bàn|apply|bewerb\p{L}*|solicitud|demande|inscripci[oó]n|aanvraag|toevoegen|wniosek|заявк\p{L}*|žádost|book|reserv\p{L}*|contact|feedback|apply|application|request|survey|booking|kontakt|formular|anfrage|formulaire|contacto|formulario|contato|modulo|анкета|форма)(?!\p{L})|联系|表单|聯絡|お問い合わせ|フォーム|문의|اتصل|نموذج/iu,
  total: /(?<!\p{L})(total|sub-?total|order summary|gesamt(summe|betrag)?|zwischensumme|summe|total ttc|sous-total|totale|totaal|suma|razem|celkem|summa|i alt|sum|yhteensä|toplam|σύνολο|tổng|итого|всего|разом|összesen)(?!\p{L})|合计|总额|应付|總計|合計|합계|المجموع|סה"?כ/iu,
  shipping: /(?<!\p{L})(shipping|delivery|versand(kosten)?|lieferung|livraison|env[ií]o|entrega|frete|spedizione|consegna|verzend(kosten|ing)|bezorg\p{L}*|dostawa|doprava|frakt|levering|toimitus|kargo|αποστολή|vận chuyển|доставк\p{L}*|szállítás)(?!\p{L})|运费|配送|送货|收货|運費|送料|배송|الشحن|משלוח/iu,
  paying: /(?<!\p{L})(payment( method)?|card number|zahlungs(art|weise|methode)|moyen de paiement|paiement|forma de pago|m[eé]todo de pago|pagamento|forma de pagamento|betaalmethode|płatnoś\p{L}*|platb\p{L}*|betal\p{L}*|maksutapa|ödeme|πληρωμή|оплат\p{L}*|fizetés)(?!\p{L})|支付方式|付款方式|支払い方法|결제수단|طريقة الدفع|אמצעי תשלום/iu,
  order: /(?<!\p{L})(place (your )?order|pay now|pay [€$£¥]|check ?out|buy now|complete (order|purchase)|(zahlungspflichtig )?bestellen|kaufen|zur kasse|commander|payer|comprar|realizar pedido|finalizar|pagar|ordina|acquista|bestelling plaatsen|afrekenen|zamawiam|zapłać|objednat|köp nu|slutför|bestill|tilaa|siparişi|παραγγελία|đặt hàng|оформить заказ|заказать|оплатить|megrendel\p{L}*)(?!\p{L})|提交订单|去结算|立即购买|注文(を確定|する)|주문하기|결제하기|تأكيد الطلب|הזמן/iu,
  account: /(?<!\p{L})(profile?|account|security|privacy|notifications?|appearance|billing|language|emails?|password|general|konto|profil|sicherheit|datenschutz|benachrichtigungen|zahlungsmittel|pers[oö]nliche daten|compte|confidentialit[eé]|apparence|langue|g[eé]n[eé]ral|cuenta|perfil|privacidad|notificaciones|seguridad|conta|privacidade|notifica[cç][oõ]es|senha|seguran[cç]a|profilo|notifiche|sicurezza|meldingen|beveiliging|powiadomienia|prywatność|профиль|уведомления|безопасность|конфиденциальность|účet|soukromí|oznámení)(?!\p{L})|账号|隐私|通知|安全|个人资料|アカウント|プライバシー|계정|알림|الحساب|الخصوصية|חשבון|פרטיות/iu,
  logout: /(?<!\p{L})(logga ut|log ud|logg ut|odhlásit|çıkış|αποσύνδεση|đăng xuất|wyloguj|uitloggen|salir|выход|вихід|se déconnecter|esci|terminar sess[aã]o|log ?out|sign ?out|abmelden|d[eé]connexion|cerrar sesi[oó]n|sair|esci|выйти)(?!\p{L})|退出|登出|ログアウト|로그아웃|خروج/iu,
};
// The folders that every mail program has, in its words.
const FOLDERS = [
  /(?<!\p{L})(inbox|posteingang|bo[iî]te de r[eé]ception|bandeja de entrada|entrada|caixa de entrada|posta in arrivo|postvak in|odebrane|doručená pošta|inkorg|indbakke|innboks|saapuneet|gelen kutusu|εισερχόμενα|hộp thư đến|входящие|вхідні)(?!\p{L})|收件箱|收件匣|受信トレイ|받은 ?편지함|الوارد|דואר נכנס/iu,
  /(?<!\p{L})(sent( items| mail)?|gesendet\p{L}*|([eé]l[eé]ments |messages )?envoy[eé]s|enviados|inviat[ai]|posta inviata|verzonden( items)?|wysłane|odeslan\p{L}*( pošta)?|skickat|sendt( post)?|lähetetyt|gönderilmiş|απεσταλμένα|đã gửi|отправленные|надіслані)(?!\p{L})|已发送|已傳送|寄件備份|送信済み|보낸 ?편지함|المرسل|נשלח/iu,
  /(?<!\p{L})(drafts?|entw[uü]rfe|brouillons?|borradores|rascunhos|bozze|concepten|wersje robocze|szkice|koncepty|utkast|kladder|luonnokset|taslaklar|πρόχειρα|thư nháp|черновики|чернетки)(?!\p{L})|草稿|下書き|임시 ?보관함|المسودات|טיוטות/iu,
  /(?<!\p{L})(spam|junk|(courrier )?ind[eé]sirables?|correo no deseado|posta indesiderata|ongewenst|lixo eletr[oô]nico|nevyžádan\p{L}*( pošta)?|skräppost|uønsket|roskaposti|gereksiz|ανεπιθύμητα|thư rác|спам)(?!\p{L})|垃圾邮件|垃圾郵件|迷惑メール|스팸|دואר זבל|غير هام/iu,
  /(?<!\p{L})(trash|bin|deleted items|papierkorb|corbeille|([eé]l[eé]ments )?supprim[eé]s|papelera|lixeira|cestino|prullenbak|kosz|koš|papperskorg\p{L}*|papirkurv|roskakori|çöp( kutusu)?|κάδος|thùng rác|корзина|удал[её]нные|кошик)(?!\p{L})|回收站|已删除|垃圾桶|ゴミ箱|휴지통|المهملات|אשפה/iu,
];
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

// Brothers that look alike and each hold a link, a heading or a picture: the
// rows of a list. The largest such group, and all of them together. What stands
// in the frame of the page (navigation, header, footer, asides) is not counted.
const FRAME = "nav,footer,header,aside,[role=navigation],[role=complementary]";
const BAR = /(^|[\s_-])(side-?(bar|nav)|nav-?bar|top-?bar)(-(nav|menu|wrapper|inner))?(\s|$)/i;
const framed = new WeakMap();

// Whether an element stands in the frame that all pages of a site share: in a
// landmark, or in what is called a bar and does not hold the page itself.
function isFramed(el) {
  if (el === null || el === document.body || el.matches("main,[role=main]"))
    return false;
  if (!framed.has(el))
    framed.set(el, el.closest("main,[role=main]") === null && (el.matches(FRAME) ||
      (BAR.test((el.getAttribute("class") || "") + " " + el.id) && el.querySelector("main,[role=main],h1") === null) ||
      isFramed(el.parentElement)));
  return framed.get(el);
}

// Whether an element may be a row: it has a link, a heading or a picture, or is
// the line of a table that says something.
function isRow(el) {
  if (el.localName === "tr")
    return el.querySelectorAll("td").length > 1 && /\p{L}{2}/u.test(el.textContent.slice(0, 400));
  if (el.localName === "button")
    return el.textContent.length > 20 && el.querySelectorAll(":not(svg,svg *)").length >= 3;
  return el.matches("a[href]") || el.querySelector("a[href],button,[role=button],h2,h3,h4,img") !== null;
}

// Whether an element is alike in a weaker sense: it has a class and some parts,
// and nothing to fill in.
function isItem(el) {
  return isRow(el) || (el.localName !== "button" && el.classList.length > 0 && el.querySelectorAll("*").length >= 3 &&
    el.querySelector("input:not([type=checkbox]),select,textarea") === null);
}

function groupsOf() {
  let largest = 0;
  let rows = 0;
  let items = 0;
  for (const parent of document.querySelectorAll("ul,ol,main,section,div,tbody,table,[role=list],[role=grid],[role=feed]")) {
    if (spent())
      break;
    if (parent.childElementCount < 4 || parent.closest(FRAME) || isFramed(parent))
      continue;
    const groups = new Map();
    const alike = new Map();
    let seen = 0;
    for (const child of parent.children) {
      if (++seen > 300)
        break;
      const sign = child.localName + "." + (child.classList[0] || "");
      if (/^(p|br|h\d|script|style|hr|option)\./.test(sign) ||
          child.matches("[role=button],label") || !isItem(child))
        continue;
      alike.set(sign, (alike.get(sign) || 0) + clean(child.textContent.slice(0, 1000)).length);
      alike.set(sign + "#", (alike.get(sign + "#") || 0) + 1);
      if (isRow(child))
        groups.set(sign, (groups.get(sign) || 0) + 1);
    }
    for (const [sign, n] of alike)
      if (!sign.endsWith("#") && alike.get(sign + "#") >= 5)
        items = Math.max(items, n);
    for (const size of groups.values()) {
      largest = Math.max(largest, size);
      rows += size >= 4 ? size : 0;
    }
    if (seen > 300 && largest >= 300)
      largest = parent.childElementCount;
  }
  // Rows that are only lines.
  for (const pre of document.querySelectorAll("pre"))
    largest = Math.max(largest, spent() ? 0 : pre.querySelectorAll("a[href]").length);
  return {largest, items, rows: Math.max(rows, largest)};
}

const INLINE = new Set(["a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd",
  "mark", "q", "s", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"]);
const NO_TEXT = new Set(["script", "style", "noscript", "template", "option", "textarea",
  "button", "svg", "math"]);
const LONG = 80;

// A block that introduces something else: beside it stands a heading that is
// a link, or it is itself inside a link.
function isTeaser(block) {
  const box = block.parentElement;
  return block.closest("a[href]") !== null || (box !== null && !/^(body|main)$/.test(box.localName) &&
    box.querySelector(":scope > :is(h2,h3,h4) a[href],:scope > a[href] > :is(h2,h3,h4)," +
      ":scope > header :is(h2,h3,h4) a[href]") !== null);
}

// The text of the page by blocks, whatever their tags: how much there is, how
// much of it are links, and how much is prose, that is blocks of some length
// that are not mostly links and tell something themselves. together: blocks of
// prose that follow one another, in one parent or each in a box of its own.
function proseOf() {
  const blocks = new Map();
  const prose = {long: 0, together: 0, chars: 0, all: 0, main: 0, linkChars: 0, figures: 0, lines: "", own: ""};
  const walker = document.createTreeWalker(document.body || document, NodeFilter.SHOW_TEXT);
  // So much of a page says what it is. All parts of an extraction share one
  // limit of work, and this must not use it up.
  let left = 20000;
  for (let text = walker.nextNode(); text !== null && --left > 0; text = walker.nextNode()) {
    let n = text.length < 400 ? text.data.trim().length : text.length;
    let block = text.parentElement;
    if (n === 0 || NO_TEXT.has(block.localName))
      continue;
    // A Chinese or Japanese character says about as much as three letters.
    if (/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(text.data))
      n *= 3;
    let linked = false;
    for (; INLINE.has(block.localName) && block.parentElement; block = block.parentElement)
      linked = linked || block.localName === "a";
    prose.all += n;
    prose.linkChars += linked ? n : 0;
    const sum = blocks.get(block) || {n: 0, links: 0, text: ""};
    sum.n += n;
    sum.text += sum.text.length < LONG ? text.data.slice(0, LONG) : "";
    sum.links += linked ? n : 0;
    blocks.set(block, sum);
  }
  for (const [block, sum] of blocks) {
    prose.main += isFramed(block) ? 0 : sum.n;
    if (sum.n > LONG * 1.5 || prose.lines.length > 20000)
      continue;
    const line = clean(sum.text);
    prose.lines += line + "\n";
    if (isFramed(block))
      continue;
    prose.own += line + "\n";
    if (sum.links === 0 && isFigure(line) && !block.closest("table,a,pre"))
      prose.figures++;
  }
  // So many are the days of a calendar.
  if (prose.figures > 24)
    prose.figures = 0;
  const near = new Map();
  const count = (el) => {
    near.set(el, (near.get(el) || 0) + 1);
    prose.together = Math.max(prose.together, near.get(el));
  };
  const sections = new Map();
  const isSection = (el) => {
    if (!sections.has(el))
      sections.set(el, el.querySelector(":scope > :is(h2,h3,h4,h5)") !== null);
    return sections.get(el);
  };
  const long = [...blocks].filter(([, sum]) => sum.n >= LONG && sum.links <= sum.n / 2);
  const inBox = new Map();
  for (const [block] of long)
    inBox.set(block.parentElement, (inBox.get(block.parentElement) || 0) + 1);
  prose.long = long.length;
  for (const [block, sum] of long) {
    // An introduction is short; a heading with an anchor stands in any text.
    if (inBox.get(block.parentElement) <= 3 && isTeaser(block))
      continue;
    prose.chars += sum.n;
    const parent = block.parentElement;
    if (parent) {
      count(parent);
      // A section with a heading of its own is a part of what it stands in.
      for (let up = parent, n = 0; up.parentElement && up.parentElement.localName !== "body" &&
           n < 4 && isSection(up); up = up.parentElement, n++)
        count(up.parentElement);
      if (parent.childElementCount === 1 && parent.parentElement)
        count(parent.parentElement);
    }
    // Lines parted by br are paragraphs, too.
    for (let i = 1; i < block.getElementsByTagName("br").length && i < 12; i += 2)
      count(block);
  }
  return prose;
}

// A number with its unit that stands for itself, as on the tiles of a dashboard.
function isFigure(line) {
  return line.length <= 16 && /\p{Nd}/u.test(line) && !/^\d{1,2}[:.]\d\d$|\d{4}/.test(line) &&
    (line.match(/[\p{Nd}\p{P}\p{S}]/gu) || []).length * 2 >= line.length;
}

// What stands before a field that has no label: in the cell, the line or the
// box before it.
function textBefore(el) {
  if ((el.labels && el.labels.length > 0) || el.hasAttribute("aria-label") ||
      el.hasAttribute("aria-labelledby") || el.getAttribute("placeholder"))
    return "";
  for (let at = el, up = 0; at && up < 3; at = at.parentElement, up++) {
    for (let n = at.previousSibling, steps = 0; n && steps < 6; n = n.previousSibling, steps++) {
      const text = n.nodeType === 1 ? textIn(n) : n.nodeType === 3 ? clean(n.data.slice(-80)) : "";
      if (text !== "")
        return text.length <= 60 && !(n.nodeType === 1 && n.querySelector("input,select,textarea"))
          ? text : "";
    }
  }
  return "";
}

function linkedTypes() {
  let text = "";
  for (const s of document.querySelectorAll('script[type="application/ld+json"]'))
    text += s.textContent.slice(0, 20000);
  return new Set((text.match(/"@type"\s*:\s*"(\w+)"/g) || []).map((m) => m.replace(/.*"(\w+)"$/, "$1")));
}

// Whether the button of the form or box that holds the field says search.
function searches(field, items) {
  let box = field.closest("form");
  for (let up = field.parentElement, n = 0; !box && up && n < 4; up = up.parentElement, n++)
    box = up.querySelector("button,[role=button],input[type=submit]") ? up : null;
  return box !== null && items.some(({el, role}) => role === "button" && box.contains(el) &&
    WORDS.search.test(clean(nameOf(el, role).slice(0, 60)).replace(/(?<=^\S) (?=\S$)/, "")));
}

function signalsOf(items) {
  const s = {passwords: 0, newPassword: false, currentPassword: false, text: 0, selects: 0,
    areas: 0, toggles: 0, search: null, card: 0, address: 0, to: 0, subject: 0, editor: 0,
    email: 0, boxes: 0, username: 0, numbers: 0, options: 0};
  const radios = new Set();
  let fields = 0;
  for (const {el, role, region} of items) {
    if (role === "link" || role === "button")
      continue;
    const ac = (el.getAttribute("autocomplete") || "").toLowerCase();
    const name = (++fields <= 100 && textBefore(el)) || nameOf(el, role).slice(0, 80);
    const hint = [el.name, el.id, el.getAttribute("placeholder"), name].join(" ");
    if (role === "option" || role === "treeitem" || role === "tab" || role.startsWith("menuitem")) {
      s.options += role === "option" ? 1 : 0;
      continue;
    }
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
    if (ac.includes("username"))
      s.username++;
    if (WORDS.to.test(el.name || el.id || "") || WORDS.to.test(name))
      s.to++;
    if (WORDS.subject.test(hint))
      s.subject++;
    if (role === "radio")
      radios.add(el.name || el.closest("fieldset,[role=radiogroup]") || el.parentElement);
    if ((role === "checkbox" && !el.closest("td,th")) || role === "switch")
      s.toggles++;
    if (role === "checkbox")
      s.boxes++;
    if (el.localName === "textarea" || el.isContentEditable) {
      s.areas++;
      s.editor = s.editor || 1;
    } else if (role === "combobox" || role === "listbox")
      s.selects++;
    else if (role === "slider")
      s.toggles++;
    else if (role === "textbox" || role === "spinbutton") {
      s.text++;
      s.numbers += role === "spinbutton" ? 1 : 0;
      s.only = el;
    }
  }
  s.choices = radios.size;
  // The only field beside which stands a button that searches.
  if (s.search === null && s.text === 1 && s.areas === 0 && s.passwords === 0 && searches(s.only, items)) {
    s.search = s.only;
    s.text = 0;
  }
  return s;
}

function pageType(items, counts) {
  const path = decoded(location.pathname + location.hash);
  const h1 = document.querySelector("h1,[role=heading][aria-level='1']");
  const head = clean(document.title).slice(0, 300) + " \n " + (h1 ? clean(h1.textContent).slice(0, 300) : "");
  const buttons = items.filter((i) => i.role === "button").slice(0, 60)
    .map((i) => nameOf(i.el, "button").slice(0, 60)).join(" \n ");
  const links = items.filter((i) => i.role === "link" || i.role === "treeitem").slice(0, 80)
    .map((i) => clean(i.el.textContent.slice(0, 80))).join(" \n ");
  const heads = [...document.querySelectorAll("h1,h2,h3,h4,h5,legend,[role=heading]")].slice(0, 12)
    .filter((h) => visible(h) && !h.closest(FRAME)).map((h) => clean(h.textContent.slice(0, 100)));
  // An old page has no headings, but a line of bold text.
  if (heads.length === 0)
    heads.push(...[...document.querySelectorAll("b,strong,caption")].slice(0, 3)
      .map((h) => clean(h.textContent.slice(0, 100))));
  const subject = heads.join(" \n ");
  const og = document.querySelector('meta[property="og:type"]');
  const ogType = og ? og.content || "" : "";
  const ld = linkedTypes();
  const s = signalsOf(items);
  const prose = proseOf();
  const lines = prose.lines;
  const folders = FOLDERS.filter((f) => f.test(links) || f.test(lines)).length;
  const found = lines.split("\n").some((l) => /\p{Nd}/u.test(l) && WORDS.results.test(l));
  const setting = WORDS.settings.test(head) || WORDS.settings.test(subject) || PATHS.settings.test(path);
  const parts = new Set((setting ? links + " \n " + lines : prose.own).split("\n").map((t) => t.trim())
    .filter((t) => t.length < 30 && WORDS.account.test(t))).size;
  const bill = WORDS.total.test(lines) && (WORDS.shipping.test(lines) || WORDS.paying.test(lines));
  const charts = [...document.querySelectorAll("canvas,svg")].slice(0, 200)
    .filter((c) => visible(c) && !c.closest("a,button,li") && c.getBoundingClientRect().width >= 150).length;
  const bars = document.querySelectorAll("meter,progress,[role=progressbar]").length;
  const mailing = s.to > 0 && s.subject > 0;
  const {largest: group, rows, items: listed} = groupsOf();
  const bodyChars = prose.all;
  const fields = s.text + s.areas + s.selects + s.toggles + s.choices;
  const query = queryOf();
  const linkShare = bodyChars > 0 ? prose.linkChars / bodyChars : 0;
  const told = bodyChars > 0 ? prose.chars / bodyChars : 0;
  // A page that only asks who one is, and for the rest on the next.
  const asksName = s.passwords === 0 && fields >= 1 && fields <= 2 && 
    (WORDS.login.test(head) ? s.username > 0 || s.email > 0 : s.text === 1 && WORDS.login.test(subject));
  const teasers = document.querySelectorAll("h2 a,h3 a,h4 a,a h2,a h3,a h4").length;
  const paged = document.querySelector('[rel=next],[rel=prev],[class*=pagination],[class*=pager],nav[aria-label*="age"]') !== null;
  const has = (kind) => WORDS[kind].test(head);
  // A dashboard says so in its heading, or in a part of its title that says
  // little else: products are called so, too.
  const board = WORDS.dashboard.test(h1 ? clean(h1.textContent).slice(0, 300) : "") ||
    document.title.slice(0, 300).split(/\s[-–—|·:•]\s|[|:·]/).map(clean)
      .some((t) => t !== "" && (t.match(WORDS.dashboard) || [""])[0].length * 2 >= t.length);
  const drawn = prose.figures >= 3 || charts >= 1 || bars >= 3;
  // Several drawings, but not one in each row of a list.
  const overview = charts !== group && (charts >= 2 || (charts === 1 && prose.figures >= 3));
  // The cart is what the page is about.
  const cart = has("checkout") || WORDS.checkout.test(heads[0] || "");
  const codes = document.querySelectorAll("pre").length;
  // Paragraphs are longer than what advertising says of each advantage, unless
  // something else marks an article.
  const brief = prose.long >= 4 && prose.chars < 160 * prose.long && codes === 0 && counts.article !== 1 &&
    document.querySelector("time[datetime],meta[name=author]:not([content=''])") === null;
  // How much of what the page says its rows say.
  const share = prose.main > 0 ? listed / prose.main : 0;
  const yes = (cond, points) => (cond ? points : 0);
  const score = {
    login: s.passwords === 0 ? (asksName ? 5 + yes(s.username > 0, 2) : 0) : 5 + yes(s.currentPassword, 3) + yes(has("login"), 2) +
      yes(PATHS.login.test(path), 2) + yes(WORDS.login.test(buttons), 2) +
      yes(s.passwords > 1, -5) + yes(s.newPassword, -5) + yes(fields > 5 || s.text > 2, -3) +
      yes(has("register"), -2) + yes(has("settings"), -2) + yes(s.card > 0, -4),
    register: s.passwords === 0 && !has("register") ? 0 : yes(s.newPassword, 4) +
      yes(s.passwords > 1, 4) + yes(has("register"), 4) + yes(PATHS.register.test(path), 3) +
      yes(WORDS.register.test(buttons), 2) + yes(s.passwords > 0 && fields >= 3, 2) +
      yes(fields === 0 && s.passwords === 0, -6) + yes(has("settings"), -4) +
      yes(s.currentPassword, -3) + yes(fields > 8 && !has("register") && !PATHS.register.test(path), -4),
    search_engine: s.search === null || query !== "" || (isFramed(s.search) && !has("search")) ? 0 : 3 + yes(bodyChars < 1500, 2) +
      yes(items.length < 60, 1) + yes(prose.long === 0, 1) + yes(has("search"), 2) +
      yes(WORDS.search.test(subject) && !has("search"), 1) +
      yes(prose.all < 600 && group < 4, 2) + yes(group >= 5, -3) +
      yes(location.pathname === "/" || PATHS.search.test(path), 1) + yes(prose.long > 2, -4) +
      yes(group >= 8, -3) + yes(fields > 3, -3) + yes(has("results"), -2) +
      yes((counts.heading || 0) > 8, -3) + yes(folders >= 3, -4) + yes(bill, -4) +
      yes(prose.figures >= 3, -2) + yes(found, -3),
    search_results: yes(query !== "", 4) + yes(s.search !== null && s.search.value !== "", 3) +
      yes(PATHS.search.test(path), 2) + yes(has("results"), 3) + yes(has("search"), 1) +
      yes(group >= 5, 2) + yes(paged, 1) + yes(found, 3) +
      yes(query === "" && s.search !== null && s.search.value === "" && !PATHS.search.test(path) &&
        !has("results") && !has("search"), -4) +
      yes(query === "" && !found && (s.search === null || s.search.value === ""), -4) + yes(group < 3, -3),
    form: fields < 2 ? yes(fields === 1 && s.email === 1 && prose.main < 400 && group < 4 && prose.figures === 0, 5) : yes(fields >= 3, 3) + yes(fields >= 5, 1) + yes(s.areas > 0, 1) +
      yes(has("contact"), 3) + yes((counts.form || 0) > 0, 1) + yes(WORDS.send.test(buttons), 1) +
      yes(prose.long > 5, -4) + yes(group > 15, -3) + yes(s.passwords > 0 && fields < 7, -3) + yes(mailing, -3) + yes(board, -3),
    article: yes(counts.article === 1, 2) + yes(prose.together >= 3, 3) + yes(prose.together >= 6, 2) +
      yes(prose.chars > 3000, 1) + yes(told > 0.5, 2) + yes(told > 0.8 && prose.chars > 2000, 4) + yes(told > 0.3 && prose.chars > 6000, 3) +
      yes(/article|blog/.test(ogType), 3) +
      yes(["Article", "NewsArticle", "BlogPosting", "ReportageNewsArticle", "ScholarlyArticle"]
        .some((t) => ld.has(t)), 3) +
      yes(document.querySelector("time[datetime],meta[name=author],meta[property='article:published_time'],[rel=author]") !== null, 1) +
      yes(linkShare < 0.3, 1) + yes(h1 !== null, 1) + yes(PATHS.article.test(path), 1) +
      yes(group > 20 && told < 0.3, -4) + yes((counts.article || 0) > 3, -3) +
      yes(prose.together < 2, -4) + yes(prose.chars < 500 && prose.together < 3 && codes < 2, -2) + yes(codes >= 2 && heads.length >= 4, 3) + yes(fields > 8, -3) +
      yes(brief, -4),
    list: yes(group >= 5, 3) + yes(rows >= 10, 3) + yes(rows >= 20, 2) +
      yes(share > 0.5, 3) + yes(overview, -5) + yes(board, -4) + yes(fields > 5 && s.passwords > 0, -4) +
      yes(told > 0.5 && prose.long >= 5 && !((counts.article || 0) >= 3), -4) + yes(fields > 8 && s.boxes * 2 < fields, -4) +
      yes(linkShare > 0.5, 2) + yes((counts.article || 0) >= 3, 2) + yes(paged, 1) + yes(teasers >= 5, 2) +
      yes(ld.has("ItemList") || ld.has("CollectionPage"), 3) + yes(PATHS.list.test(path), 1) +
      yes(prose.together >= 3 && told > 0.5, -5) + yes(prose.together >= 6 && told > 0.3, -4) + yes(query !== "" || (found && (share <= 0.5 || s.search === null)), -5) +
      yes(folders >= 3, -3) + yes(bill, -2) + yes(parts >= 4 && s.toggles + s.selects > 1, -3),
    email_inbox: !has("inbox") && !PATHS.inbox.test(path) && folders < 3 ? 0 : yes(has("inbox"), 4) +
      yes(folders >= 3, 4) + yes(mailing, -6) + yes(WORDS.inbox.test(links), 2) + yes(PATHS.inbox.test(path), 2) +
      yes(WORDS.compose.test(buttons + links), 3) + yes(s.boxes >= 5 && group >= 5, 2) +
      yes(group < 5 && (counts.table || 0) === 0 && (counts.listitem || 0) < 5 && s.options < 3, -6),
    email_compose: s.to === 0 && s.subject === 0 ? 0 : yes(s.to > 0, 3) + yes(s.subject > 0, 2) +
      yes(s.editor > 0, 2) + yes(WORDS.send.test(buttons), 2) + yes(has("compose"), 3) +
      yes(PATHS.compose.test(path), 2) + yes(s.to === 0, -3),
    dashboard: yes(board, drawn ? 4 : 3) + yes(prose.figures >= 3, 2) + yes(charts >= 1, 1) + yes(charts >= 2, 2) +
      yes(found || query !== "", -3) + yes(fields > 4, -2) + yes(PATHS.dashboard.test(path), 2) +
      yes(charts + bars >= 3, 3) + yes(share > 0.5 && group >= 5 && !overview, -3) + yes(overview, 3) +
      yes(prose.figures >= 6 && group < 5 && fields < 5, 3) + yes(prose.chars > 700, -3) + yes(fields > 8, -4) +
      yes(WORDS.logout.test(links + buttons), 1) +
      yes(document.querySelectorAll("[class*=card],[class*=metric],[class*=stat],[class*=tile],[class*=widget],[class*=kpi]").length >= 3 && drawn, 2) +
      yes(prose.long > 5, -4),
    settings: yes(has("settings"), 4) + yes(!has("settings") && WORDS.settings.test(subject), 2) +
      yes(!setting && !(s.currentPassword && s.newPassword) && s.text > s.toggles + s.selects, -3) +
      yes(parts >= 3 && fields + s.passwords > 1, 2) + yes(parts >= 5 && fields + s.passwords > 1, 1) +
      yes(PATHS.settings.test(path), 2) +
      yes(s.currentPassword && s.newPassword, 4) + yes(s.toggles >= 3, 2) +
      yes(s.toggles + s.selects >= 4, 1) + yes(WORDS.save.test(buttons), 2) +
      yes(fields + s.passwords < 2, -5) + yes(prose.long > 5, -3),
    checkout: yes(has("checkout"), 4) + yes(!has("checkout") && cart, 2) + yes(bill, 2) +
      yes(bill && (s.card > 0 || s.address > 1 || WORDS.order.test(buttons + links)), 2) +
      yes(cart && WORDS.total.test(lines), 5) + yes(cart && s.numbers >= 2, 3) +
      yes(WORDS.order.test(links), 1) + yes(PATHS.checkout.test(path), 2) + yes(s.card > 0, 4) +
      yes(s.address >= 2, 2) + yes(WORDS.checkout.test(buttons) || WORDS.order.test(buttons), 2) +
      yes(s.numbers > 0 && WORDS.total.test(lines), 2) + yes(fields + s.options < 2, -5) + yes(prose.long > 5, -4),
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
