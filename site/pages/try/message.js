/* A form that is built late, sends itself and stays where it is. */
'use strict';

(function () {
	var app = document.getElementById('app');

	function build() {
		var form = document.createElement('form');
		var label = document.createElement('label');
		var box = document.createElement('textarea');
		var send = document.createElement('button');

		label.textContent = 'Your message ';
		box.name = 'text';
		label.append(box);
		send.textContent = 'Send';
		send.type = 'button';
		send.disabled = true;
		box.addEventListener('input', function () {
			send.disabled = box.value.length < 3;
		});
		send.addEventListener('click', function () {
			fetch('/echo', { method: 'POST',
				body: new URLSearchParams(new FormData(form)) })
			    .then(function (r) {
				return r.text();
			}).then(function (html) {
				document.getElementById('status').textContent =
				    html.includes('Thank you') ?
				    'Your message was sent.' : 'It failed.';
				form.remove();
			});
		});
		form.append(label, send);
		app.replaceChildren(form);
	}

	fetch('/data?ms=200').then(build);
})();
