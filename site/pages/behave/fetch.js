/*
 * Asks for data when the page is loaded and says in the page what came of it.
 * Nothing shows meanwhile that something is still to come. How it asks is the
 * last part of the path.
 */
'use strict';

var ms = new URLSearchParams(location.search).get('ms') || '400';
var data = '/data?ms=' + ms;

function say(text) {
	var p = document.createElement('p');

	p.textContent = text;
	document.getElementById('content').appendChild(p);
}

function failed() {
	say('The data could not be read.');
}

function read(url, options) {
	return fetch(url, options).then(function (answer) {
		return answer.json();
	});
}

var ways = {
	/* One request. */
	'/fetch-late': function () {
		read(data).then(function (d) {
			say(d.text);
		});
	},
	/* The second is made when the first has been answered. */
	'/fetch-chain': function () {
		read(data).then(function (d) {
			say('First: ' + d.text);
			return read(data);
		}).then(function (d) {
			say('Second: ' + d.text);
		});
	},
	/* The old way. */
	'/fetch-xhr': function () {
		var x = new XMLHttpRequest();

		x.open('GET', data);
		x.responseType = 'json';
		x.onload = function () {
			say(x.response.text);
		};
		x.send();
	},
	/* By way of three redirects. */
	'/fetch-redirect': function () {
		read('/redirect-data/3').then(function (d) {
			say(d.text);
		});
	},
	/* An answer that is none, and an address where nobody listens. */
	'/fetch-fail': function () {
		read('/missing').catch(failed).then(function () {
			return read('http://127.0.0.1:9/');
		}).catch(failed);
	},
	/* Given up by the page itself. */
	'/fetch-abort': function () {
		var stop = new AbortController();

		read('/hold/abort', { signal: stop.signal }).catch(failed);
		setTimeout(function () {
			stop.abort();
		}, 200);
	},
	/* A long poll: no answer until there is news, and there is none. */
	'/fetch-never': function () {
		read('/hold/poll');
		read(data).then(function (d) {
			say(d.text);
		});
	},
	/* From another thread. */
	'/fetch-worker': function () {
		var w = new Worker('/behave/fetch-worker.js');

		w.onmessage = function (m) {
			say(m.data.text);
		};
		w.postMessage(data);
	},
	/* What nobody waits for must not be held back either. */
	'/fetch-beacon': function () {
		navigator.sendBeacon(data, 'beacon');
		fetch(data, { keepalive: true, method: 'POST', body: 'kept' });
		say('Said and done.');
	}
};

addEventListener('load', function () {
	ways[location.pathname]();
});
