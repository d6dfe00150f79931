/*
 * The Gazette's pages: table of contents, share buttons, order of comments,
 * cookie banner. All of it is built here; the pages read well without.
 */
'use strict';

(function () {
	function make(tag, attributes, text) {
		var node = document.createElement(tag);

		Object.keys(attributes || {}).forEach(function (name) {
			node.setAttribute(name, attributes[name]);
		});
		if (text !== undefined)
			node.textContent = text;
		return node;
	}

	function contents() {
		var box = document.getElementById('toc');
		var list = make('ol');

		if (!box)
			return;
		document.querySelectorAll('.story h2[id^="part-"]').forEach(
		    function (h) {
			var item = make('li');

			item.appendChild(make('a', { href: '#' + h.id },
			    h.textContent));
			list.appendChild(item);
		});
		box.appendChild(list);
	}

	function share() {
		var box = document.getElementById('share');

		if (!box)
			return;
		['Copy link', 'Print', 'Save for later'].forEach(function (name) {
			box.appendChild(make('button', { type: 'button',
			    'class': 'quiet' }, name));
		});
		box.firstChild.addEventListener('click', function () {
			box.firstChild.textContent = 'Copied';
		});
	}

	function comments() {
		var list = document.getElementById('comment-list');
		var order = document.getElementById('comment-order');
		var text = document.getElementById('comment-text');

		if (!list)
			return;
		order.addEventListener('change', function () {
			var items = Array.from(list.children);
			var key = order.value === 'liked' ? 'likes' : 'order';
			var sign = order.value === 'old' ? 1 : -1;

			items.sort(function (a, b) {
				return sign * (a.dataset[key] - b.dataset[key]);
			});
			items.forEach(function (item) {
				list.appendChild(item);
			});
		});
		list.addEventListener('click', function (e) {
			var button = e.target.closest('.like');
			var on;

			if (!button)
				return;
			on = button.getAttribute('aria-pressed') !== 'true';
			button.setAttribute('aria-pressed', on);
			button.querySelector('span').textContent =
			    Number(button.closest('li').dataset.likes) + on;
		});
		text.addEventListener('input', function () {
			document.getElementById('comment-left').textContent =
			    2000 - text.value.length;
		});
	}

	function cookieBanner() {
		var words = {
			ar: ['نستخدم ملف ارتباط واحدًا لنتذكر أنك رأيت هذه الرسالة.',
			    'أوافق', 'لا أوافق'],
			he: ['אנחנו משתמשים בעוגייה אחת בלבד, כדי לזכור שראית את ההודעה הזאת.',
			    'מסכים', 'לא מסכים'],
			ja: ['このお知らせを見たことを覚えるために、クッキーを一つだけ使います。',
			    '同意する', '同意しない'],
			zh: ['本站只使用一个 Cookie，用来记住您已看过这条提示。',
			    '同意', '不同意'],
			en: ['We use one cookie, and we use it to remember that ' +
			    'you have seen this note about it.', 'Accept',
			    'Decline']
		};
		var w = words[document.documentElement.lang.slice(0, 2)] || words.en;
		var box, buttons;

		if (/(?:^|; )seen=1/.test(document.cookie))
			return;
		box = make('div', { 'class': 'cookie-banner', role: 'dialog',
		    'aria-label': 'Cookies' });
		buttons = make('div', { 'class': 'cookie-buttons' });
		box.appendChild(make('p', {}, w[0]));
		w.slice(1).forEach(function (name, i) {
			var b = make('button', { type: 'button',
			    'class': i ? 'quiet' : '' }, name);

			b.addEventListener('click', function () {
				document.cookie = 'seen=1; path=/; max-age=86400';
				box.remove();
			});
			buttons.appendChild(b);
		});
		box.appendChild(buttons);
		document.body.appendChild(box);
	}

	contents();
	share();
	comments();
	cookieBanner();
})();
