#!/usr/bin/perl
# One page whose script took memory without end among nine good ones ended the
# whole batch with MEMORY_LIMIT, and no page was left of it. The renderer that
# grows is ended before the limit is reached, its item says why, and the others
# are read: whether a script fills its own heap in a loop that lets nothing else
# in, takes buffers outside of it, or makes elements.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my %grows = (
	microtasks => 'const a = []; const f = () => { a.push(new Array(4096)'
	    . '.fill(a.length + .5)); Promise.resolve().then(f) }; f()',
	buffers => 'const a = []; for (;;) a.push(new Uint8Array(8 << 20).fill(1))',
	elements => 'for (;;) { const d = document.createElement("div");'
	    . 'd.innerHTML = "<p title=t><b>x</b></p>".repeat(5000);'
	    . 'document.body.append(d) }',
);
my $dir = tempdir('bt-grow-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
for my $name (keys %grows, 'good') {
	open(my $fh, '>', "$dir/$name.html") or die "$name: $!\n";
	print $fh "<!DOCTYPE html><title>$name</title><body><h1>$name</h1>",
	    '<p>Some text that is there from the begin on.</p>',
	    $grows{$name} ? "<script>$grows{$name}</script>" : '';
	close $fh;
}

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new(settings => [
	'runMemoryBytes=' . (768 << 20), 'maxConcurrentRuns=3' ])->start;
my $c = client($i);
my %run = map { my $bad = $_; $_ => batch($c, [ map {
	$site->url($_ == 4 ? "/$bad" : "/good?$_") } 0 .. 9 ],
	{ mode => 'async' }, concurrency => 3)->{runId} } sort keys %grows;

for my $name (sort keys %run) {
	my $r = ended($c, $run{$name}, 300) // {};
	my @items = @{ $r->{result}{items} // [] };
	my $error = @items > 4 && $items[4]{error} || {};

	is($r->{status}, 'partial_success', "$name: the run goes on")
	    or diag explain $r->{error} // $r;
	is((grep { $_->{success} } @items), 9, "$name: nine pages are read");
	is($error->{errorCode}, 'PAGE_CRASHED',
		"$name: the page that grows is ended");
	like($error->{message}, qr/memory/, "$name: and it says why")
	    or diag explain $error;
}
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
