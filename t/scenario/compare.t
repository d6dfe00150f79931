#!/usr/bin/perl
# multi_tab_compare with the real programs and the real browser: what is the
# same and what is not, and what is left when pages cannot be read.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my $dir = tempdir('bt-compare-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;

sub page {
	my ($name, $title, $links, @sections) = @_;
	open(my $fh, '>:encoding(UTF-8)', "$dir/$name.html") or die;
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>$title</title>";
	print $fh "<main>";
	print $fh "<h2>$_->[0]</h2><p>$_->[1]</p>" for @sections;
	print $fh "</main>";
	print $fh "<a href='/x$_'>link $_</a> " for 1 .. $links;
	close $fh;
}

page('a', 'The  Lamp', 3, [ 'Price', 'Ten crowns' ], [ 'Size', 'Small' ],
	[ 'Colour', '红色的灯' ], [ 'Fourth', 'is not looked at: a' ]);
page('b', ' the lamp ', 5, [ 'PRICE', "Ten\n   crowns" ],
	[ 'Size', 'Large' ], [ 'Colour', '红色的灯' ],
	[ 'Fourth', 'is not looked at: b' ]);
page('c', 'The lantern', 3, [ 'Price', 'Ten crowns' ], [ 'Size', 'Small' ]);
for ([ 10, 'one', 1 ], [ 99, 'two', 2 ]) {
	my ($price, $end, $weight) = @$_;
	page("offer-$price", 'An offer', 1, (map { [ "Part $_", 'agrees' ] }
		1 .. 3), [ 'Price', "EUR $price" ], [ 'Long', '1' x 200
		. " ends with $end</p><table><tr><td>Weight<td>$weight kg"
		. '</table><p>' ]);
}
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub compare {
	my ($paths, %more) = @_;
	my $r = task($c, 'multi_tab_compare', {
		urls => [ map { m{^/} ? $site->url($_) : $_ } @$paths ],
		%more });
	is($r->{output}{task_type}, 'multi_tab_compare', "@$paths: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	return ($r, map { $_->{field} => $_ } @{ $r->{result}{diffs} });
}

subtest 'three pages' => sub {
	my ($r, %diff) = compare([ '/a', '/b', '/c' ]);
	my @snap = @{ $r->{result}{snapshots} };
	my ($n, $m) = map { $_->{elementCount} } @snap;

	is($r->{status}, 'succeeded', 'succeeds');
	is_deeply($r->{progress}, { doneSteps => 4, totalSteps => 4 },
		'progress: the pages and the comparison');
	is_deeply([ map { $_->{name} } @{ $r->{output}{steps} } ],
		[ qw(read_pages compare) ], 'two steps');
	is_deeply($r->{result}{summary},
		{ total => 3, succeeded => 3, failed => 0 }, 'summary');
	is_deeply([ map { $_->{url} } @snap ],
		[ map { $site->url($_) } qw(/a /b /c) ], 'in order');
	is_deeply([ map { $_->{field} } @{ $r->{result}{diffs} } ],
		[ qw(title elementCount topSections content) ],
		'one of each field');
	ok(!$diff{title}{same}, 'titles differ');
	ok(!$diff{elementCount}{same}, 'so do the numbers of elements');
	is($m - $n, 2, 'by two links');
	is($diff{elementCount}{delta}, 2, 'which is said');
	is_deeply($diff{elementCount}{values},
		[ map { $_->{elementCount} } @snap ], 'with the values');
	is_deeply($diff{topSections}{changedPositions}, [ 2, 3 ],
		'sections differ by position');
	is_deeply($snap[0]{topSections}, [ 'Price: Ten crowns', 'Size: Small',
		'Colour: 红色的灯' ], 'three of them');
	my $row = artifact_of($r, 'extraction');
	my $all = $json->decode(artifact($c, $row->{artifact_id}));
	is(scalar @{ $all->[0]{content}{sections} }, 5,
		'the artifact has all, the links behind them too');
};

subtest 'what differs anywhere is told' => sub {
	my ($r, %diff) = compare([ '/offer-10', '/offer-99' ]);

	ok($diff{topSections}{same}, 'the first three sections agree');
	is_deeply([ @{ $diff{topSections} }{qw(compared total)} ],
		[ [ 3, 3 ], [ 6, 6 ] ], 'which are three of six');
	ok(!$diff{content}{same}, 'but not the whole text');
	ok($diff{content}{complete}, 'which was read to its end');
	is_deeply($diff{content}{values}[0][0], 'EUR 10', 'the price of one')
	    or diag explain $diff{content};
	is_deeply($diff{content}{values}[1][0], 'EUR 99', 'and of the other');
	like($diff{content}{values}[0][1], qr/^\.\.\.1* ends with one$/,
		'a long line from where it differs');
	like($diff{content}{values}[1][2], qr/Weight\s+2 kg/,
		'a row of a table');
	is_deeply($diff{content}{differing}, [ 3, 3 ], 'three lines each');

	($r, %diff) = compare([ '/offer-10', '/offer-99' ], extract => {
		maxContentLength => 60 });
	ok(!$diff{content}{complete}, 'what is not read to its end is told');
};

subtest 'what counts' => sub {
	my ($r, %diff) = compare([ '/a', '/b' ], compare => {
		fields => [ 'elementCount', 'title' ],
		numericTolerance => 2 });

	is(scalar keys %diff, 2, 'only what was asked for');
	ok($diff{title}{same}, 'case and white space do not count');
	ok($diff{elementCount}{same}, 'within the tolerance');
	is($diff{elementCount}{delta}, 2, 'the difference is told');
	($r, %diff) = compare([ '/a', '/b' ],
		compare => { fields => ['topSections'], topSections => 1 },
		extract => { pageInfo => $false, content => $false });
	ok($diff{topSections}{same}, 'one section is the same');
	is_deeply($diff{topSections}{changedPositions}, [], 'so none changed');
	is($r->{result}{snapshots}[0]{elementCount}, undef,
		'what was not asked for is null');
};

subtest 'pages that cannot be read' => sub {
	my ($r, %diff) = compare([ '/a', 'http://127.0.0.1:1/', '/a' ]);
	my $bad = $r->{result}{snapshots}[1];

	is($r->{status}, 'partial_success', 'two of three are partly good');
	is_deeply($r->{result}{summary},
		{ total => 3, succeeded => 2, failed => 1 }, 'summary');
	ok($diff{$_}{same}, "$_: of those that were read") for keys %diff;
	is_deeply([ map { $diff{title}{values}[$_] } 0 .. 2 ],
		[ 'The Lamp', undef, 'The Lamp' ], 'null for the other');
	ok(!$bad->{success}, 'it says so');
	is($bad->{error}{cause}, 'NAVIGATION_FAILED', 'and why');
	like("@{ $r->{warnings} }", qr{127\.0\.0\.1:1/}, 'and warns');

	($r, %diff) = compare([ '/a', 'http://127.0.0.1:1/' ]);
	is($r->{status}, 'partial_success', 'one of two, too');
	is($diff{title}{same}, undef, 'but there is nothing to compare');

	($r, %diff) = compare([ '/a', ('http://127.0.0.1:1/') x 2 ]);
	is($r->{status}, 'failed', 'one of three is too few');
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'BELOW_THRESHOLD',
		'which is why');
	is($r->{output}{result}{snapshots}[0]{title}, 'The Lamp',
		'the TaskResult keeps what was read');
};

subtest 'inputs that are refused' => sub {
	my $url = $site->url('/a');
	for my $bad ([ [$url] ], [ [ ($url) x 11 ] ],
		[ [ $url, $url ], fields => [] ],
		[ [ $url, $url ], fields => ['colour'] ],
		[ [ $url, $url ], topSections => 0 ],
		[ [ $url, $url ], numericTolerance => -1 ]) {
		my ($urls, %compare) = @$bad;
		my $r = task($c, 'multi_tab_compare', { urls => $urls,
			%compare ? (compare => \%compare) : () });
		is($r->{errorCode}, 'INVALID_PARAMETER',
			"refused: " . $json->canonical->encode($bad))
		    or diag explain $r;
	}
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
