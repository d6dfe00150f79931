/* Says what is missing instead of sending it. */
'use strict';

(function () {
	var form = document.getElementById('order');
	var alert = document.getElementById('alert');

	form.addEventListener('submit', function (e) {
		var bad = Array.from(form.elements).find(function (f) {
			return !f.checkValidity();
		});

		if (!bad)
			return;
		e.preventDefault();
		alert.hidden = false;
		alert.textContent = 'Please look at ' + bad.name + ' again.';
	});
})();
