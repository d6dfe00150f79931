/* Results come into the page 300 ms after they were asked for. */
'use strict';

(function () {
	var form = document.getElementById('form');
	var results = document.getElementById('results');

	form.addEventListener('submit', function (e) {
		var q = form.elements.q.value;

		e.preventDefault();
		results.textContent = 'Searching\u2026';
		if (q === 'nothing')
			return;
		fetch('/data?ms=300').then(function () {
			var list = document.createElement('ol');

			list.className = 'hits';
			['harbour', 'bread', 'sorting'].forEach(function (w) {
				var li = document.createElement('li');
				var a = document.createElement('a');

				a.href = '/article-' + w;
				a.textContent = q + ': the article on ' + w;
				li.append(a);
				list.append(li);
			});
			results.replaceChildren(list);
			history.replaceState(null, '',
			    '?q=' + encodeURIComponent(q));
		});
	});
})();
