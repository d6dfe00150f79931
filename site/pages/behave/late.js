/* Fetches the text of the page 400 ms after the load event. */
'use strict';

addEventListener('load', function () {
	setTimeout(function () {
		fetch('/behave/late.json').then(function (answer) {
			return answer.json();
		}).then(function (story) {
			var box = document.getElementById('content');

			box.textContent = '';
			box.removeAttribute('aria-busy');
			story.paragraphs.forEach(function (text) {
				var p = document.createElement('p');

				p.textContent = text;
				box.appendChild(p);
			});
			document.title = story.title;
		});
	}, 400);
});
