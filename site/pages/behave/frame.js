/* Puts ?path= of this server, as another host, into a frame. */
'use strict';

(function () {
	var query = new URLSearchParams(location.search);
	var frame = document.createElement('iframe');

	frame.title = 'From elsewhere';
	frame.width = 600;
	frame.height = 300;
	frame.src = 'http://elsewhere.localhost:' + location.port +
	    (query.get('path') || '/article-bread');
	document.querySelector('main').appendChild(frame);
})();
