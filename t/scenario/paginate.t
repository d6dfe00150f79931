#!/usr/bin/perl
# paginated_extract with the real programs and the real browser: lists with
# every way of going on and of having an end.
use strict;
use warnings;
use utf8;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8;
my $false = JSON::PP::false;
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub pages {
	my ($path, $pagination, %more) = @_;
	my $r = task($c, 'paginated_extract', { startUrl => $site->url($path),
		$pagination ? (pagination => $pagination) : (), %more });
	is($r->{output}{task_type}, 'paginated_extract', "$path: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	return $r;
}

# The things that a page of the result lists, first and last.
sub things {
	my ($page) = @_;
	my @n = $json->encode($page->{content}) =~ /Thing (\d+) of the list/g;
	return @n ? "$n[0]-$n[-1]" : 'none';
}

sub css { return { mode => 'selector', selector => $_[0] } }

# path, pagination, pages, things of each, why it stopped
my @lists = (
	[ '/list/links?of=3', undef, '1-3 4-6 7-9', 'next_unavailable' ],
	[ '/list/links?of=9', { maxPages => 2 }, '1-3 4-6', 'max_pages' ],
	[ '/list/links', { next => css('a.next'), maxPages => 1 }, '1-3',
		'max_pages' ],
	[ '/list/zh?of=2', undef, '1-3 4-6', 'next_unavailable' ],
	[ '/list/zh?of=2', { next => { mode => 'semantic',
		query => '下一页' } }, '1-3 4-6', 'next_unavailable' ],
	[ '/list/dead?of=2', { maxPages => 9 }, '1-3 4-6',
		'next_unavailable' ],
	[ '/list/repeat?of=2', { maxPages => 9 }, '1-3 4-6',
		'repeated_page' ],
	[ '/try/pager', { maxPages => 9 }, '1-3 4-6 7-9 10-12',
		'next_unavailable' ],
	[ '/try/more', { maxPages => 9, next => { mode => 'semantic',
		query => 'load more' } }, '1-3 4-6 7-9 10-12',
		'next_unavailable' ],
	[ '/list/numbers?of=12', { maxPages => 20 }, join(' ', map {
		(3 * $_ - 2) . '-' . 3 * $_ } 1 .. 12), 'next_unavailable' ],
	[ '/list/head?of=3', undef, '1-3 4-6 7-9', 'next_unavailable' ],
	[ '/try/more', { maxPages => 9 }, '1-3 4-6 7-9 10-12',
		'next_unavailable' ],
	[ '/try/scroll', { maxPages => 9 }, '1-3 4-6 7-9 10-12',
		'next_unavailable' ],
	[ '/try/numbers', { maxPages => 9 }, '1-3 4-6 7-9 10-12',
		'next_unavailable' ],
	[ '/try/pager', { maxPages => 2, next => css('#more'),
		waitFor => { type => 'textIncludes', value => 'Page 2 of' } },
		'1-3 4-6', 'max_pages' ],
);

for my $row (@lists) {
	my ($path, $pagination, $things, $reason) = @$row;
	subtest "$path until $reason" => sub {
		my $r = pages($path, $pagination);
		my $res = $r->{result};
		my $n = split / /, $things;

		is($r->{status}, 'succeeded', 'succeeds')
		    or diag explain $r->{error};
		is(join(' ', map { things($_) } @{ $res->{pages} }), $things,
			'what the pages list');
		is($res->{stoppedReason}, $reason, 'why it stopped');
		is_deeply([ map { $_->{pageNumber} } @{ $res->{pages} } ],
			[ 1 .. $n ], 'numbers');
		is_deeply([ @{ $res->{summary} }{qw(totalPages extractedPages
			total succeeded failed)} ], [ ($n) x 4, 0 ], 'summary');
		is_deeply($r->{progress}, { doneSteps => $n,
			totalSteps => $n }, 'progress');
		my $row = artifact_of($r, 'extraction');
		my $all = $json->decode(artifact($c, $row->{artifact_id}));
		is(scalar @$all, $n, 'the artifact has them, too');
	};
}

subtest 'what is cut, and what is left, is said' => sub {
	my $r = pages('/list/links', { maxPages => 2 },
		extract => { maxContentLength => 30 });

	is($r->{result}{summary}{cutPages}, 2, 'both pages are cut');
	like("@{ $r->{warnings} }", qr/2 of 2 pages were cut: raise/, 'warns');
	like("@{ $r->{warnings} }", qr/there are more pages: raise/,
		'and says that there are more');
};

subtest 'a page that is long is shortened in the result only' => sub {
	my $r = pages('/shop', { next => css('#no-such-link') });
	my $in_result = $r->{result}{pages}[0]{content}{sections};
	my $row = artifact_of($r, 'extraction');
	my $all = $json->decode(artifact($c, $row->{artifact_id}));

	is($r->{result}{summary}{shortenedPages}, 1, 'the result counts it');
	like("@{ $r->{warnings} }", qr/1 of 1 pages are shortened in the result/,
		'a warning names the artifact');
	cmp_ok(scalar @{ $all->[0]{content}{sections} }, '>',
		scalar @$in_result, 'the artifact has more');
};

subtest 'a page that fails' => sub {
	my $r = pages('/list/links?of=3', { next => css('a.next'),
		waitFor => { type => 'textIncludes', value => 'Page 2 of',
			timeoutMs => 500 } });
	my $res = $r->{result};

	is($r->{status}, 'partial_success', 'what was read is kept')
	    or diag explain $r->{error};
	ok(!$res->{success}, 'it says so');
	is(join(' ', map { things($_) } @{ $res->{pages} }), '1-3 4-6',
		'two pages');
	is_deeply([ @{ $res->{summary} }{qw(totalPages extractedPages)} ],
		[ 3, 2 ], 'of three');
	is($res->{error}{errorCode}, 'NAVIGATION_TIMEOUT', 'and why');
	like("@{ $r->{warnings} }", qr/page 3 could not be read/, 'warns');
	ok(!(grep { !$_->{ok} } @{ $r->{output}{steps} }),
		'that is no failed step');
};

subtest 'one page only' => sub {
	my $r = pages('/article-bread', { next => css('#no-such-link') },
		extract => { pageInfo => $false });
	is($r->{result}{stoppedReason}, 'next_unavailable', 'nothing to go by');
	is(scalar @{ $r->{result}{pages} }, 1, 'one page');
	ok(!exists $r->{result}{pages}[0]{pageInfo}, 'no pageInfo asked for');
	like("@{ $r->{warnings} }", qr/nothing to go on by/, 'warns');

	$r = task($c, 'paginated_extract',
		{ startUrl => 'http://127.0.0.1:1/' });
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'NAVIGATION_FAILED',
		'a first page that is not there');
	for my $bad ({ maxPages => 0 }, { maxPages => 51 },
		{ next => 'next' }, { waitFor => { type => 'selector' } }) {
		$r = task($c, 'paginated_extract', { pagination => $bad,
			startUrl => $site->url('/list/links') });
		is($r->{errorCode}, 'INVALID_PARAMETER',
			'refused: ' . $json->encode($bad));
	}
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
