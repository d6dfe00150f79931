/*
 * Lists of four pages of three things: one that grows when its end is scrolled
 * to, one with a number for each page, whose rows come late and below a clock.
 */
'use strict';

(function () {
	var list = document.getElementById('list');
	var end = document.getElementById('end');
	var numbers = document.getElementById('numbers');
	var page = 0;

	function add(tag, n) {
		var row = document.createElement(tag);

		row.textContent = 'Thing ' + n + ' of the list';
		list.append(row);
	}

	function rows(tag) {
		for (var i = 1; i <= 3; i++)
			add(tag, page * 3 + i);
		page++;
	}

	function grow() {
		if (page === 4)
			return;
		end.textContent = 'Loading…';
		fetch('/data?ms=200').then(function () {
			end.textContent = '';
			rows('li');
		});
	}

	function choose(n) {
		fetch('/data?ms=700').then(function () {
			page = n - 1;
			list.textContent = '';
			rows('tr');
			pager();
		});
	}

	function pager() {
		numbers.textContent = '';
		for (var i = 1; i <= 4; i++) {
			var b = document.createElement(i === page ? 'span' : 'a');

			b.textContent = i;
			if (i !== page) {
				b.href = '#';
				b.onclick = choose.bind(null, i);
			}
			numbers.append(b, ' ');
		}
	}

	if (numbers) {
		rows('tr');
		pager();
		setInterval(function () {
			document.getElementById('clock').textContent =
			    'It is ' + new Date().toLocaleTimeString();
		}, 1000);
		return;
	}
	rows('li');
	new IntersectionObserver(function (entries) {
		if (entries[0].isIntersecting)
			grow();
	}).observe(end);
})();
