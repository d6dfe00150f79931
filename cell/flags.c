/*
 * flags: the one table of browser flags. Runs in the cell. A fixed argv: no
 * flag ever comes from a client, and --no-sandbox is in no row.
 */
#include <stdio.h>

#include "cell/flags.h"
#include "common/panic.h"

enum {
	SHELL = 1 << 0,
	FULL = 1 << 1,
	TEXT = 1 << 2,
	KEEP = 1 << 3
};

static const struct flag_row {
	unsigned int when; /* SHELL, FULL; with TEXT only in text-only runs,
			      with KEEP only with a kept profile */
	const char *arg;
} flag_rows[] = {
	/* The pipe on 3 and 4 is the only way in: no debugging port. */
	{ SHELL | FULL, "--remote-debugging-pipe" },
	{ FULL, "--headless" },
	{ FULL, "--no-startup-window" },
	{ SHELL | FULL, "--no-first-run" },
	{ FULL, "--no-default-browser-check" },
	/* Cross-site iframes in processes and sessions of their own. */
	{ SHELL | FULL, "--site-per-process" },
	/*
	 * No WebGL and no WebGPU: a GPU process that draws them in software has
	 * threads before it could confine itself. Without them it confines
	 * itself, and cell/sandbox.c sees that.
	 */
	{ SHELL | FULL, "--disable-gpu" },
	{ SHELL | FULL, "--disable-software-rasterizer" },
	{ SHELL | FULL, "--disable-3d-apis" },
	/* As that of a person: narrow ones get layouts with less in them. */
	{ SHELL | FULL, "--window-size=1280,800" },
	{ SHELL | FULL, "--mute-audio" },
	/*
	 * All that it loads comes by egressd, where names are resolved and
	 * addresses judged; loopback ones are no exception.
	 */
	{ SHELL | FULL, "--proxy-server=socks5://127.0.0.1:1080" },
	{ SHELL | FULL, "--proxy-bypass-list=<-loopback>" },
	/* No traffic of its own, and none past the proxy. */
	{ SHELL | FULL, "--disable-background-networking" },
	{ SHELL | FULL, "--disable-component-update" },
	{ SHELL | FULL, "--disable-domain-reliability" },
	{ SHELL | FULL, "--disable-quic" },
	{ SHELL | FULL, "--disable-sync" },
	{ SHELL | FULL, "--metrics-recording-only" },
	{ SHELL | FULL,
	    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp" },
	{ SHELL | FULL, "--webrtc-ip-handling-policy=disable_non_proxied_udp" },
	/* Tabs that work at the same time are all in the foreground. */
	{ SHELL | FULL, "--disable-background-timer-throttling" },
	{ SHELL | FULL, "--disable-backgrounding-occluded-windows" },
	{ SHELL | FULL, "--disable-renderer-backgrounding" },
	{ SHELL | FULL, "--disable-hang-monitor" },
	{ SHELL | FULL, "--num-raster-threads=1" },
	/* Fatal errors only: the rest is noise, and may quote pages. */
	{ SHELL | FULL, "--enable-logging=stderr" },
	{ SHELL | FULL, "--log-level=3" },
	/*
	 * In memory, with all else that a kept profile need not keep: pages as
	 * they came, with what a form had put into their address.
	 */
	{ SHELL | FULL | KEEP, "--disk-cache-dir=/tmp/browsertask-cache" },
	{ SHELL | FULL | KEEP, "--disk-cache-size=67108864" },
	/* No key ring, no crash dumps, no hidden pages of the interface. */
	{ SHELL | FULL, "--disable-breakpad" },
	{ SHELL | FULL, "--password-store=basic" },
	{ FULL, "--disable-extensions" },
	{ FULL, "--disable-default-apps" },
	/*
	 * A tab's documents share its frame: one commit costs a fifth less.
	 * Nothing is loaded before it is asked for, and no names are resolved.
	 */
	{ SHELL,
	    "--disable-features=RenderDocument,Prerender2,AsyncDns,"
	    "DnsOverHttpsUpgrade" },
	/*
	 * The network service has no sandbox of its own here: in a process of
	 * its own it may do just what the browser's main process may.
	 */
	{ SHELL | FULL, "--enable-features=NetworkServiceInProcess2" },
	{ FULL,
	    "--disable-features=RenderDocument,Prerender2,AsyncDns,"
	    "DnsOverHttpsUpgrade,Translate,OptimizationHints,MediaRouter,"
	    "SpareRendererForSitePerProcess,WebUIOmniboxPopup,"
	    "WebUIOmniboxAimPopup,PreloadTopChromeWebUI" },
	{ SHELL | FULL | TEXT, "--blink-settings=imagesEnabled=false" },
	{ SHELL | FULL | TEXT, "--disable-remote-fonts" },
	/*
	 * The compositor's threads cost a quarter of the time of a page that
	 * is only read. Without them there is no animation frame at all;
	 * page/undrawn.js gives pages what they wait for in its place.
	 */
	{ SHELL | FULL | TEXT, "--disable-threaded-compositing" },
};

void
flags_fill(enum launch_browser kind, uint32_t spawn_flags, const char *dir,
    char dir_arg[LAUNCH_PATH_BYTES + 32], const char *argv[FLAGS_MAX])
{
	unsigned int is = kind == LAUNCH_BROWSER_FULL ? FULL : SHELL;
	size_t n = 0;

	_Static_assert(sizeof(flag_rows) / sizeof(flag_rows[0]) + 3 < FLAGS_MAX,
	    "room for program name, directory and end");
	ASSERT(kind != LAUNCH_BROWSER_NONE);
	snprintf(dir_arg, LAUNCH_PATH_BYTES + 32, "--user-data-dir=%s", dir);
	argv[n++] = is == FULL ? "chromium" : "chromium-headless-shell";
	argv[n++] = dir_arg;
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++) {
		if ((flag_rows[i].when & is) == 0)
			continue;
		if ((flag_rows[i].when & TEXT) != 0 &&
		    (spawn_flags & SPAWN_TEXT_ONLY) == 0)
			continue;
		if ((flag_rows[i].when & KEEP) != 0 &&
		    (spawn_flags & SPAWN_KEEP) == 0)
			continue;
		argv[n++] = flag_rows[i].arg;
	}
	argv[n] = NULL;
}
