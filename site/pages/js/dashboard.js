/* Figures, charts and table of the dashboard, from a fixed generator. */
'use strict';

(function () {
	var SVG = 'http://www.w3.org/2000/svg';
	var seed = 7;

	function next() {
		seed = (seed * 48271) % 2147483647;
		return seed / 2147483647;
	}

	function svg(parent, tag, attributes, text) {
		var node = document.createElementNS(SVG, tag);

		Object.keys(attributes).forEach(function (name) {
			node.setAttribute(name, attributes[name]);
		});
		if (text !== undefined)
			node.textContent = text;
		parent.appendChild(node);
		return node;
	}

	function html(parent, tag, name, text) {
		var node = document.createElement(tag);

		node.className = name;
		node.textContent = text;
		parent.appendChild(node);
		return node;
	}

	function tiles() {
		var box = document.getElementById('tiles');

		[['Level now', '1,185 mm', '+12 since yesterday', 'up'],
		    ['Flow', '615 l/s', '+3.1 %', 'up'],
		    ['Sand at the lock', '1.91 g/l', 'above the limit', 'down'],
		    ['Arrivals today', '46', '7 waiting for the tide', 'up']
		].forEach(function (t) {
			var tile = html(box, 'article', 'tile', '');

			html(tile, 'h2', '', t[0]);
			html(tile, 'p', 'value', t[1]);
			html(tile, 'p', t[3], t[2]);
		});
	}

	function level(days) {
		var canvas = document.getElementById('level');
		var c = canvas.getContext('2d');
		var w = canvas.width, h = canvas.height, x, y, i;

		seed = days;
		c.clearRect(0, 0, w, h);
		c.font = '12px sans-serif';
		for (i = 0; i <= 4; i++) {
			y = 20 + i * (h - 50) / 4;
			c.strokeStyle = '#e2e6ee';
			c.strokeRect(50, y, w - 60, 0);
			c.fillStyle = '#5a6577';
			c.fillText(String(1300 - i * 100), 8, y + 4);
		}
		c.beginPath();
		for (x = 0; x <= w - 60; x += 2) {
			y = h / 2 - 46 * Math.sin(x / 38) -
			    24 * Math.sin(x / 131) + 10 * next();
			c.lineTo(50 + x, y);
		}
		c.strokeStyle = '#0b5cad';
		c.lineWidth = 2;
		c.stroke();
		c.lineTo(w - 10, h - 30);
		c.lineTo(50, h - 30);
		c.fillStyle = 'rgba(11, 92, 173, 0.12)';
		c.fill();
		c.lineWidth = 1;
		c.fillStyle = '#5a6577';
		for (i = 0; i <= 6; i++)
			c.fillText(Math.round(days - i * days / 6) + ' days ago',
			    50 + i * (w - 120) / 6, h - 8);
	}

	function sand() {
		var box = document.getElementById('sand');

		[['Mill', 0.03], ['Pier', 0.04], ['Ferry', 0.62], ['Mole', 1.2],
		    ['Lock', 1.91]].forEach(function (s, i) {
			var tall = s[1] * 85;

			svg(box, 'rect', { x: 20 + i * 68, y: 190 - tall,
			    width: 44, height: Math.max(tall, 2), rx: 4,
			    fill: s[1] > 1.5 ? '#b3261e' : '#2f6f8f' });
			svg(box, 'text', { x: 42 + i * 68, y: 208,
			    'text-anchor': 'middle' }, s[0]);
			svg(box, 'text', { x: 42 + i * 68, y: 182 - tall,
			    'text-anchor': 'middle' }, s[1]);
		});
	}

	function arrivals() {
		var box = document.getElementById('arrivals');
		var round = 2 * Math.PI * 70, from = 0;

		[['Fishing', 21, '#0b5cad'], ['Ferry', 8, '#1c7a45'],
		    ['Visitors', 13, '#d9a441'], ['Pilots', 4, '#9a3412']
		].forEach(function (k, i) {
			var part = k[1] / 46 * round;

			svg(box, 'circle', { cx: 110, cy: 110, r: 70,
			    fill: 'none', stroke: k[2], 'stroke-width': 34,
			    'stroke-dasharray': part + ' ' + (round - part),
			    'stroke-dashoffset': -from });
			svg(box, 'rect', { x: 225, y: 56 + i * 30, width: 14,
			    height: 14, rx: 3, fill: k[2] });
			svg(box, 'text', { x: 248, y: 68 + i * 30 },
			    k[0] + ', ' + k[1]);
			from += part;
		});
		svg(box, 'text', { x: 110, y: 116, 'text-anchor': 'middle',
		    style: 'font-size:24px' }, '46');
	}

	function readings() {
		var body = document.querySelector('#readings tbody');
		var names = ['mill', 'pier', 'lock', 'ferry'];
		var i, row, hour, sandy;

		for (i = 0; i < 48; i++) {
			row = body.insertRow();
			hour = String(23 - Math.floor(i / 4)).padStart(2, '0');
			sandy = i % 4 === 2 ? 1.4 + next() : next() / 10;
			row.insertCell().textContent = hour + ':' +
			    ['50', '40', '20', '00'][i % 4];
			row.insertCell().textContent = names[i % 4];
			[1150 + Math.floor(next() * 80),
			    580 + Math.floor(next() * 70), sandy.toFixed(2)
			].forEach(function (v) {
				var cell = row.insertCell();

				cell.className = 'num';
				cell.textContent = v;
			});
			html(row.insertCell(), 'span',
			    'tag ' + (sandy > 2 ? 'bad' : 'good'),
			    sandy > 2 ? 'too much' : 'good');
		}
	}

	tiles();
	level(30);
	sand();
	arrivals();
	readings();
	document.getElementById('period').addEventListener('change',
	    function (e) {
		level(Number(e.target.value));
	});
})();
