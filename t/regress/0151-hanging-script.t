#!/usr/bin/perl
# A page whose script never ends gave NAVIGATION_TIMEOUT, twice, and nothing of
# what had arrived. The script is stopped when the page's time is over; what is
# there is read without scripts, and the item says that it is partial.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my %page = (
	loop => '<p>Before it.<script>for (;;);</script><p>Behind it.',
	promises => '<p>Before it.<script>const f = () => '
	    . 'Promise.resolve().then(f); f()</script><p>Behind it.',
	onload => '<p>Before it.<script>onload = () => { for (;;); }</script>'
	    . '<p>Behind it.',
	twice => '<p>Before it.<script>for (;;);</script><p>Behind it.'
	    . '<script>for (;;);</script>',
	nothing => '<script>for (;;);</script>',
	good => '<p>Before it.<p>Behind it.',
);
my $dir = tempdir('bt-hang-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
for my $name (keys %page) {
	open(my $fh, '>', "$dir/$name.html") or die "$name: $!\n";
	print $fh "<!DOCTYPE html><title>$name</title><body>$page{$name}";
	close $fh;
}

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my @names = sort keys %page;
my $r = ended($c, batch($c, [ map { $site->url("/$_") } @names ],
	{ mode => 'async' }, navigationTimeoutMs => 4000,
	concurrency => 3)->{runId}, 200);
my $row = artifact_of($r, 'extraction');
my %full = map { $_->{url} => $_ } @{ JSON::PP->new->utf8->decode(
	artifact($c, $row->{artifact_id})) };
my %item = items($r);

for my $name (@names) {
	my $url = $site->url("/$name");
	my ($item, $full) = ($item{$url}, $full{$url});
	my $text = JSON::PP->new->encode($full->{content} // {});

	if ($name eq 'nothing') {
		is($item->{error}{errorCode}, 'NAVIGATION_TIMEOUT',
			'a page without a text has failed');
		next;
	}
	ok($item->{success}, "$name: is read") or diag explain $item;
	is(!!$item->{partial}, $name ne 'good',
		"$name: says whether only a part was");
	is($item->{title}, $name, "$name: has its title");
	like($text, qr/Before it.*Behind it/, "$name: and its text");
}
ok((grep { /script of a page did not end/ }
	map { ref ? $_->{message} // '' : $_ } @{ $r->{warnings} }),
	'a warning says so') or diag explain $r->{warnings};
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
