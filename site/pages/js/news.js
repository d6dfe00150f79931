/* The line at the top of the front page. */
'use strict';

(function () {
	var lines = [
		'High water at 17:42. Ferry running. Wind north-east, four.',
		'Bridge open to carts until noon.',
		'Gauge at the mill: 1,185 mm, 615 litres a second.',
		'The museum closes early on account of the band.'
	];
	var box = document.getElementById('ticker'), i = 0;

	setInterval(function () {
		i = (i + 1) % lines.length;
		box.textContent = lines[i];
	}, 6000);
})();
