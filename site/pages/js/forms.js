/* Validation in place, password meter, the Show button, the range's value. */
'use strict';

(function () {
	function byId(id) {
		return document.getElementById(id);
	}

	function check(field) {
		var error = byId(field.id + '-error');
		var text = field.validationMessage;

		if (field.id === 'again' &&
		    field.value !== byId('new-password').value)
			text = 'The two passwords are not the same.';
		if (error)
			error.textContent = text;
		if (text)
			field.setAttribute('aria-invalid', 'true');
		else
			field.removeAttribute('aria-invalid');
		return text === '';
	}

	document.querySelectorAll('form[novalidate]').forEach(function (form) {
		var fields = form.querySelectorAll('input[id], select[id]');

		fields.forEach(function (f) {
			f.addEventListener('change', function () {
				check(f);
			});
		});
		form.addEventListener('submit', function (e) {
			var good = Array.from(fields).map(check)
			    .every(Boolean);
			var alert = byId('alert');

			if (good)
				return;
			e.preventDefault();
			if (alert) {
				alert.hidden = false;
				alert.textContent =
				    'Please fill in what is missing.';
			}
		});
	});

	var reveal = byId('reveal');
	if (reveal)
		reveal.addEventListener('click', function () {
			var p = byId('password');
			var shown = p.type === 'text';

			p.type = shown ? 'password' : 'text';
			reveal.textContent = shown ? 'Show' : 'Hide';
		});

	var secret = byId('new-password');
	if (secret)
		secret.addEventListener('input', function () {
			var part = Math.min(1, secret.value.length / 20);
			var bar = byId('strength');

			bar.style.width = part * 100 + '%';
			bar.style.background = part < 0.5 ? '#b3261e' :
			    part < 0.8 ? '#d9a441' : '#1c7a45';
		});

	var pace = byId('pace');
	if (pace)
		pace.addEventListener('input', function () {
			byId('pace-out').textContent = pace.value;
		});
})();
