/* Reads what it is told to. */
'use strict';

onmessage = function (m) {
	fetch(m.data).then(function (answer) {
		return answer.json();
	}).then(postMessage);
};
