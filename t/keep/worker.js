// Answers the site's front page by itself, and notes that it was asked.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (e) => {
	if (new URL(e.request.url).pathname !== '/')
		return;
	e.respondWith(caches.open('asked').then(() =>
	    new Response('<title>worker</title>',
		{ headers: { 'content-type': 'text/html' } })));
});
