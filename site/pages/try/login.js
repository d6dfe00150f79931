/* A login built by script; with data-steps="2" the password comes second. */
'use strict';

(function () {
	var app = document.getElementById('app');
	var steps = Number(app.dataset.steps || 1);

	function field(label, name, type) {
		var p = document.createElement('p');
		var l = document.createElement('label');
		var i = document.createElement('input');

		l.textContent = label + ' ';
		i.name = name;
		i.type = type;
		l.append(i);
		p.append(l);
		return p;
	}

	function tell(text) {
		var p = document.createElement('p');

		p.setAttribute('role', 'alert');
		p.textContent = text;
		app.prepend(p);
	}

	function submit(form) {
		var body = new URLSearchParams(new FormData(form));

		body.set('api', '1');
		fetch('/account/login', { method: 'POST', body: body })
		    .then(function (r) {
			if (r.ok)
				location.href = '/account/member';
			else
				tell('The user name or the password is wrong.');
		});
	}

	function build() {
		var form = document.createElement('form');
		var button = document.createElement('button');
		var password = field('Password', 'password', 'password');

		button.textContent = steps > 1 ? 'Continue' : 'Sign in';
		form.append(field('User name', 'user', 'text'));
		if (steps === 1)
			form.append(password);
		form.append(button);
		form.addEventListener('submit', function (e) {
			e.preventDefault();
			if (steps > 1) {
				steps = 1;
				setTimeout(function () {
					button.before(password);
					button.textContent = 'Sign in';
				}, 200);
				return;
			}
			submit(form);
		});
		app.replaceChildren(form);
	}

	fetch('/data?ms=200').then(build);
})();
