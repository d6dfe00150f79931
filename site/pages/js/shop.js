/* Builds the shop's list from shop-data.js; filters, order, basket. */
'use strict';

(function () {
	var box = document.getElementById('items');
	var form = document.getElementById('filters');
	var sort = document.getElementById('sort');
	var count = document.getElementById('shop-count');
	var basket = 0;

	function make(tag, name, text, parent) {
		var node = document.createElement(tag);

		if (name)
			node.className = name;
		if (text !== undefined)
			node.textContent = text;
		if (parent)
			parent.appendChild(node);
		return node;
	}

	function price(cents) {
		return '\u20ac ' + Math.floor(cents / 100) + '.' +
		    String(cents % 100).padStart(2, '0');
	}

	function card(item) {
		var node = make('article', 'item');
		var link = make('a', 'item-link', undefined, node);
		var img = make('img', '', undefined, link);
		var h = make('h2', '', undefined, node);
		var a = make('a', '', item.name, h);
		var p = make('p', 'item-stars', undefined, node);
		var button;

		node.dataset.id = item.id;
		link.href = a.href = '#' + item.id;
		link.tabIndex = -1;
		img.src = item.icon;
		img.alt = '';
		img.width = img.height = 120;
		img.loading = 'lazy';
		make('span', 'stars', '\u2605'.repeat(Math.round(item.stars)) +
		    '\u2606'.repeat(5 - Math.round(item.stars)), p);
		make('small', '', ' ' + item.stars.toFixed(1) + ' (' +
		    item.votes + ')', p);
		make('p', 'item-note', item.note, node);
		p = make('p', 'item-price', undefined, node);
		make('strong', '', price(item.cents), p);
		if (item.old)
			make('del', '', price(Math.round(item.cents * 1.25)), p);
		make('p', 'tag ' + (item.stock ? 'good' : 'bad'), item.stock ?
		    item.stock + ' in stock' : 'sold out', node);
		button = make('button', '', 'Add to basket', node);
		button.type = 'button';
		button.disabled = item.stock === 0;
		button.setAttribute('aria-label', 'Add ' + item.name +
		    ' to basket');
		return node;
	}

	function wanted(item) {
		var data = new FormData(form);
		var cats = data.getAll('cat');

		return (cats.length === 0 || cats.indexOf(item.cat) !== -1) &&
		    item.cents >= Number(data.get('min') || 0) * 100 &&
		    item.cents <= Number(data.get('max') || 1e6) * 100 &&
		    item.stars >= Number(data.get('stars')) &&
		    (!data.get('stock') || item.stock > 0);
	}

	var orders = {
		featured: function () { return 0; },
		cheap: function (a, b) { return a.cents - b.cents; },
		dear: function (a, b) { return b.cents - a.cents; },
		stars: function (a, b) { return b.stars - a.stars; },
		name: function (a, b) { return a.name < b.name ? -1 : 1; }
	};

	function show() {
		var all = document.createDocumentFragment();
		var list = SHOP.filter(wanted).sort(orders[sort.value]);

		list.forEach(function (item) {
			all.appendChild(card(item));
		});
		box.textContent = '';
		box.appendChild(all);
		count.textContent = list.length.toLocaleString('en') +
		    ' things';
	}

	document.querySelectorAll('[data-count]').forEach(function (node) {
		node.textContent = '(' + SHOP.filter(function (item) {
			return item.cat === node.dataset.count;
		}).length + ')';
	});
	form.addEventListener('change', show);
	form.addEventListener('reset', function () { setTimeout(show, 0); });
	sort.addEventListener('change', show);
	box.addEventListener('click', function (e) {
		if (e.target.tagName !== 'BUTTON')
			return;
		document.getElementById('basket-count').textContent = ++basket;
		e.target.textContent = 'In your basket';
	});
	show();
})();
