/* Suggestions under the search box, and the query in the results' page. */
'use strict';

(function () {
	var words = ['harbour', 'harbour board', 'harbour depth', 'bread',
	    'bread without yeast', 'sorting office', 'ferry timetable', 'tide',
	    'tide table', 'lighthouse', 'library', 'map fair', 'weather mast'];
	var input = document.getElementById('q');
	var list = document.getElementById('suggestions');
	var query = new URLSearchParams(location.search).get('q');
	var shown = document.getElementById('r-query');

	if (shown && query) {
		shown.textContent = query;
		input.value = query;
		document.title = query + ' - Findling search';
	}
	if (!list)
		return;
	input.addEventListener('input', function () {
		var typed = input.value.trim().toLowerCase();
		var hits = typed === '' ? [] : words.filter(function (w) {
			return w.indexOf(typed) === 0;
		});

		list.textContent = '';
		hits.forEach(function (w) {
			var li = document.createElement('li');

			li.textContent = w;
			li.setAttribute('role', 'option');
			li.addEventListener('mousedown', function () {
				input.value = w;
				document.getElementById('s-form').submit();
			});
			list.appendChild(li);
		});
		list.hidden = hits.length === 0;
		input.setAttribute('aria-expanded', String(!list.hidden));
	});
})();
