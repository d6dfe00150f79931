#!/usr/bin/perl
# A page got at WebGL in software, and so at the code of SwiftShader in a GPU
# process that had no sandbox: it had the browser's uid and filters, and nothing
# more. gate.t read the filters of renderers only.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use Test::More;

my $dir = tempdir(CLEANUP => 1);
open(my $fh, '>', "$dir/gl.html") or die "$dir: $!\n";
print $fh <<'PAGE';
<!DOCTYPE html><title>waiting</title><main><h1>Drawing</h1>
<p>This page says what it may draw with.</p><canvas id="c"></canvas></main>
<script>
(async () => {
	const got = [];
	for (const kind of ['webgl', 'webgl2', '2d'])
		if (document.createElement('canvas').getContext(kind))
			got.push(kind);
	if (navigator.gpu && await navigator.gpu.requestAdapter())
		got.push('webgpu');
	document.title = 'has ' + got.join(' ');
})();
</script>
PAGE
close $fh;
chmod 0755, $dir;

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
for my $mode (modes()) {
	for my $path ('/usr/lib/chromium/chromium-headless-shell',
	    '/usr/lib/chromium/chromium') {
		my ($name) = $path =~ m{([^/]+)$};
	SKIP: {
			skip "$name is not installed", 2 if !-x $path;
			my $i = BrowserTask::Harness->new(mode => $mode,
				browser => $path)->start;
			my $r = batch(client($i), [ $site->url('/gl.html') ],
				{ mode => 'sync' });
			my %item = items($r);
			is($item{ $site->url('/gl.html') }{title}, 'has 2d',
				"$mode $name: a page draws in two dimensions only")
			    or diag explain $r;
			is($i->stop, 0, 'stops');
		}
	}
}
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
