/*
 * Lists of four pages of three things: one that grows until its button goes
 * away, one that is exchanged until its button cannot be pressed.
 */
'use strict';

(function () {
	var list = document.getElementById('list');
	var more = document.getElementById('more');
	var back = document.getElementById('back');
	var page = 0;

	function show() {
		if (back)
			list.textContent = '';
		for (var i = 1; i <= 3; i++) {
			var li = document.createElement('li');

			li.textContent = 'Thing ' + (page * 3 + i) +
			    ' of the list';
			list.append(li);
		}
		page++;
		if (!back) {
			if (page === 4)
				more.remove();
			return;
		}
		document.getElementById('where').textContent =
		    'Page ' + page + ' of 4';
		more.disabled = page === 4;
		back.disabled = page === 1;
	}

	more.addEventListener('click', function () {
		fetch('/data?ms=200').then(show);
	});
	if (back)
		back.addEventListener('click', function () {
			page -= 2;
			show();
		});
	show();
})();
