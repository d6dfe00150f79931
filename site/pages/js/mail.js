/* The inbox's rows from mail-data.js; the toolbar of the editor. */
'use strict';

(function () {
	var body = document.getElementById('messages');
	var editor = document.getElementById('editor');

	function cell(row, name) {
		var node = row.insertCell();

		node.className = name;
		return node;
	}

	function add(message, i) {
		var row = body.insertRow();
		var check = document.createElement('input');
		var star = document.createElement('button');
		var link = document.createElement('a');
		var snippet = document.createElement('span');

		row.className = message[3] ? 'unread' : '';
		check.type = 'checkbox';
		check.setAttribute('aria-label', 'Select ' + message[1]);
		cell(row, 'check-cell').appendChild(check);
		star.type = 'button';
		star.className = 'star';
		star.textContent = '\u2605';
		star.setAttribute('aria-label', 'Star');
		star.setAttribute('aria-pressed', String(i % 7 === 2));
		cell(row, 'star-cell').appendChild(star);
		cell(row, 'from').textContent = message[0];
		link.href = '/mail/inbox#m' + i;
		link.textContent = message[1];
		snippet.className = 'snippet';
		snippet.textContent = ' \u2014 ' + message[2];
		link.appendChild(snippet);
		cell(row, 'subject').appendChild(link);
		cell(row, 'date').textContent = message[4];
	}

	if (body) {
		MAIL.forEach(add);
		document.getElementById('mail-count').textContent =
		    '1\u2013' + MAIL.length + ' of ' + MAIL.length;
		body.addEventListener('click', function (e) {
			var on;

			if (e.target.className !== 'star')
				return;
			on = e.target.getAttribute('aria-pressed') === 'true';
			e.target.setAttribute('aria-pressed', String(!on));
		});
		document.getElementById('mark').addEventListener('click',
		    function () {
			body.querySelectorAll('input:checked').forEach(
			    function (c) {
				c.closest('tr').classList.remove('unread');
				c.checked = false;
			});
		});
	}
	if (editor)
		editor.addEventListener('input', function () {
			document.getElementById('saved').textContent =
			    'Draft saved, ' + editor.textContent.length +
			    ' characters';
		});
})();
