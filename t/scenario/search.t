#!/usr/bin/perl
# search_extract with the real programs and the real browser: searches that
# load a page, searches that change theirs, results that open.
use strict;
use warnings;
use utf8;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $json = JSON::PP->new->utf8;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { () });
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub named { return { mode => 'semantic', query => $_[0] } }
sub css { return { mode => 'selector', selector => $_[0] } }

sub search {
	my ($path, $query, %more) = @_;
	my $r = task($c, 'search_extract', { startUrl => $site->url($path),
		query => $query, %more });
	is($r->{output}{task_type}, 'search_extract', "$path: has ended")
	    or diag explain $r;
	result_fits($c, $r) if $r->{result};
	return $r;
}

subtest 'a search that loads its results' => sub {
	my $r = search('/search', 'harbour');
	my $res = $r->{result};

	is($r->{status}, 'succeeded', 'succeeds') or diag explain $r->{error};
	is_deeply($r->{progress}, { doneSteps => 5, totalSteps => 5 },
		'five steps of five');
	is_deeply([ map { $_->{name} } @{ $r->{output}{steps} } ],
		[ qw(open_page search wait_for_results open_result extract) ],
		'named');
	is($res->{finalPage}{url}, $site->url('/results?q=harbour'),
		'the address of the results');
	like($res->{finalPage}{title}, qr/^harbour - Findling/, 'the title');
	ok($res->{success}, 'is successful');
	ok(!$res->{resultOpened}, 'opens none');
	is($res->{query}, 'harbour', 'says what was searched');
	is($res->{pageInfo}{type}, 'search_results', 'what the page is');
	ok(@{ $res->{content}{sections} } > 0, 'what it says');
	my $row = artifact_of($r, 'extraction');
	my $all = $json->decode(artifact($c, $row->{artifact_id}));
	is($all->{pageInfo}{type}, 'search_results', 'whole in an artifact');
};

subtest 'a result is opened' => sub {
	my $r = search('/search', 'harbour', searchField => css('#q'),
		submit => named('search'),
		waitForResults => { type => 'selector', value => '.r-list' },
		openResult => named('The harbour that moved twice'),
		extract => { pageInfo => $false });
	my $res = $r->{result};

	is($r->{status}, 'succeeded', 'succeeds') or diag explain $r->{error};
	ok($res->{resultOpened}, 'says that one was');
	is($res->{finalPage}{url}, $site->url('/article-harbour'), 'which');
	ok(!exists $res->{pageInfo}, 'what was not asked for is not there');
	like($json->encode($res->{content}), qr/harbour/, 'the article');
};

subtest 'results that come by script' => sub {
	my $r = search('/try/search-script', 'ropes & lamps',
		openResult => named('the article on bread'));

	is($r->{status}, 'succeeded', 'succeeds') or diag explain $r->{error};
	is($r->{result}{finalPage}{url}, $site->url('/article-bread'),
		'opens one of them');
	$r = search('/try/search-script', 'lamps',
		waitForResults => { type => 'selector', value => 'ol.hits a' });
	like($r->{result}{finalPage}{url}, qr/\?q=lamps$/, 'stays with them');
	$r = search('/try/search-script', 'nothing',
		waitForResults => { type => 'selector', value => 'ol.hits a',
			timeoutMs => 700 });
	is($r->{status}, 'failed', 'results that do not come');
	error_is($r->{error}, 'NAVIGATION_TIMEOUT', 'NAVIGATION_TIMEOUT',
		'are a timeout');
	is($r->{error}{details}{failedStep}, 'wait_for_results',
		'of that step');
	like($r->{error}{message}, qr/not ready.*ol\.hits a/, 'in words');
};

subtest 'other pages' => sub {
	my $r = search('/try/search-zh', '灯台');
	is($r->{result}{finalPage}{url},
		$site->url('/results?q=%E7%81%AF%E5%8F%B0'), '搜索');
	$r = search('/try/search-bare', 'x', searchField => named('Words'),
		openResult => named('Bread on an island'));
	is($r->{result}{finalPage}{url}, $site->url('/article-bread'),
		'a box alone, and results in new windows');
	ok($r->{result}{resultOpened}, 'which are opened');
};

# what is called so, where that leads to
my @named = (
	[ 'first result', '/django-admin' ],
	[ 'the second search result', '/roundcube-mail' ],
	[ 'erstes Ergebnis', '/django-admin' ],
	[ 'berths rules', '/roundcube-mail' ],
);

for my $row (@named) {
	my ($query, $path) = @$row;

	subtest "the result called $query" => sub {
		my $r = task($c, 'search_extract', { query => 'harbour',
			startUrl => $apps->url('/results'),
			openResult => named($query) });
		is($r->{result}{finalPage}{url}, $apps->url($path),
			'is opened') or diag explain $r->{error};
	};
}

subtest 'a result that opens nothing' => sub {
	my $r = task($c, 'search_extract', { query => 'harbour',
		startUrl => $apps->url('/results'),
		openResult => named('closed result') });
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'STEP_EXECUTION_FAILED',
		'is a failure');
	is($r->{error}{details}{failedStep}, 'open_result', 'of its step');
	like($r->{error}{message}, qr/closed result of the harbour.*opened no/,
		'that names what was clicked');
};

subtest 'what cannot be done' => sub {
	my $r;

	$r = task($c, 'search_extract', { query => 'x',
		startUrl => 'http://127.0.0.1:1/' });
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'NAVIGATION_FAILED',
		'a page that is not there');
	for my $bad ({ mode => 'semantic' }, { mode => 'selector', query => 'x' },
		{ mode => 'magic', query => 'x' }, 'x') {
		$r = task($c, 'search_extract', { query => 'x',
			startUrl => $site->url('/search'),
			searchField => $bad });
		is($r->{errorCode}, 'INVALID_PARAMETER',
			'refused: ' . (ref $bad ? $json->encode($bad) : $bad));
	}
	$r = search('/search', 'x', searchField => css('###'));
	error_is($r->{error}, 'INVALID_PARAMETER', 'INVALID_PARAMETER',
		'no CSS selector');
};

is($i->stop, 0, 'stops');
is(left(60, $site->{pid}, $apps->{pid}), '', 'nothing is left');
$site->stop;
is($apps->stop, 0, 'the applications, too');
done_testing();
