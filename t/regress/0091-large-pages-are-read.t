#!/usr/bin/perl
# A page of 10 MB and more was read as one without any text, as if that were
# all: the parts of an extraction shared one budget of work, and the first had
# used it up.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my @paths = ('/dom?n=250000', '/big?n=12000000');
my $s = batch($c, [ map { $site->url($_) } @paths ], { mode => 'async' },
	concurrency => 1, extract => { readability => JSON::PP::true });
my $r = ended($c, $s->{runId}, 300);
is($r->{status}, 'succeeded', 'large pages are read') or diag explain $r;
my $row = artifact_of($r, 'extraction');
my %full = map { $_->{url} => $_ } @{ JSON::PP->new->utf8->decode(
	artifact($c, $row->{artifact_id})) };
for my $path (@paths) {
	my $page = $full{ $site->url($path) };
	my $content = $page->{content};
	my $text = join "\n", map { $_->{text} } @{ $content->{sections} };
	like($text, qr/node 1\nnode 2\n|^All of this text/, "$path: its text");
	ok($content->{truncated}, "$path: which is said to be cut");
	cmp_ok($content->{textLength}, '>', 100_000,
		"$path: with how much there was");
	cmp_ok(length($page->{readability}{text} // ''), '>', 100_000,
		"$path: its text whole")
	    or diag explain [ %{ $page->{readability} // {} } ];
	my $seen = $content->{seen};
	ok(!$seen || ($seen->{nodes} > 10_000
			&& $seen->{elementsOfPage} >= 250_000),
		"$path: or how much was looked at");
}
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
