#!/usr/bin/perl
# Submissions that are wrong: each is refused with its code, cause, message and
# advice, before anything is written; the run after it succeeds.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(settings => ['maxQueuedRuns=1',
	'maxConcurrentRuns=1'])->start;
my $c = client($i);

my %advice = (
	INVALID_PARAMETER => 'Correct what the message names; types and ranges '
	    . 'of a template\'s inputs are in its schema.',
	UNKNOWN_METHOD => 'Use a method of the control protocol.',
	TEMPLATE_NOT_FOUND => 'List the templates and use one of their ids.',
	TEMPLATE_VERSION_UNSUPPORTED => 'Leave templateVersion out or ask for '
	    . 'a version that is listed.',
	SESSION_NOT_FOUND => 'Leave sessionId out to get a new session, then '
	    . 'run the task again.',
	QUEUE_FULL => 'Wait until queued runs have started, then submit '
	    . 'again.',
);
my %code = (UNKNOWN_METHOD => 'INVALID_PARAMETER',
	QUEUE_FULL => 'EXECUTION_ERROR');

sub refused {
	my ($answer, $cause, $message, $name) = @_;
	is_deeply($answer, { errorCode => $code{$cause} // $cause,
		message => $message, recoverHint => $advice{$cause},
		retryable => $cause eq 'QUEUE_FULL' ? $BrowserTask::Client::true
		: $BrowserTask::Client::false,
		details => { cause => $cause } }, $name)
	    or diag explain $answer;
}

# What is wrong with the fields of the call itself.
sub test_call {
	my %good = (templateId => 'batch_extract_pages',
		inputs => { urls => [ $site->url('/login') ] });
	my $bytes = sub { "field $_[0] has $_[1] bytes, but must have from "
		. "$_[2]" };
	my @rows = (
		[ { templateId => 'nosuch' }, 'TEMPLATE_NOT_FOUND',
			'there is no template "nosuch"' ],
		[ { templateVersion => '9.9.9' },
			'TEMPLATE_VERSION_UNSUPPORTED', 'template '
			. 'batch_extract_pages is served in version 1.0.0, '
			. 'not 9.9.9' ],
		[ { sessionId => 'sess_x' }, 'SESSION_NOT_FOUND',
			'sessionId is not of the form sess_ and 26 characters' ],
		[ { templateId => '' }, undef,
			$bytes->('templateId', 0, '1 to 64') ],
		[ { templateId => 'x' x 65 }, undef,
			$bytes->('templateId', 65, '1 to 64') ],
		[ { templateId => 7 }, undef,
			'field templateId must be string' ],
		[ { templateId => undef }, undef,
			'field templateId is missing' ],
		[ { inputs => undef }, undef, 'field inputs is missing' ],
		[ { inputs => 'urls' }, undef, 'field inputs must be JSON' ],
		[ { inputs => \'' }, undef,
			$bytes->('inputs', 0, '1 to 4194304') ],
		[ { inputs => \(' ' x 4194305) }, undef,
			$bytes->('inputs', 4194305, '1 to 4194304') ],
		[ { options => \(' ' x 65537) }, undef,
			$bytes->('options', 65537, '1 to 65536') ],
	);

	for my $row (@rows) {
		my ($bad, $cause, $message) = @$row;
		my %call = (%good, %$bad);
		delete $call{$_} for grep { !defined $call{$_} } keys %call;
		$message = "run.submit: $message" if !$cause;
		refused($c->call('run.submit', \%call),
			$cause // 'INVALID_PARAMETER', $message, $message);
	}
	refused($c->call('run.sbmit', \%good), 'UNKNOWN_METHOD',
		'unknown method run.sbmit', 'a misspelt method');
}

# What is wrong with the documents inside: JSON text, then what is said of it.
sub test_documents {
	my ($what, @rows) = @_;

	while (my ($json, $message) = splice @rows, 0, 2) {
		my $short = length $json > 60 ? substr($json, 0, 60) . '...'
		    : $json =~ s/[^ -~]/?/gr;
		refused($c->call('run.submit', {
			templateId => 'batch_extract_pages',
			inputs => { urls => [ $site->url('/login') ] },
			$what => \$json }), 'INVALID_PARAMETER',
			"/$what$message", "$what $short");
	}
}

sub urls {
	my ($n, $url) = @_;
	return '{"urls":[' . join(',', ("\"$url\"") x $n) . ']}';
}

sub inputs {
	my ($more) = @_;
	return '{"urls":["http://127.0.0.1:1/"],' . $more . '}';
}

# In range, but no more: these are accepted.
sub test_edges {
	my @good = ('{"concurrency":1,"navigationTimeoutMs":1000}',
		'{"concurrency":5.0,"navigationTimeoutMs":1.2e5}',
		'{"extract":{"maxElements":1000,"maxContentLength":50000}}');

	for my $more (@good) {
		my $r = $c->call('run.submit', {
			templateId => 'batch_extract_pages',
			inputs => \('{"urls":["' . $site->url('/login') . '"],'
				. substr $more, 1),
			options => \'{"mode":"sync","timeoutMs":600000}' });
		is($r->{status}, 'succeeded', "accepted: $more")
		    or diag explain $r;
	}
}

# As many as may be, and addresses that are none.
sub test_many {
	my $r = $c->call('run.submit', {
		templateId => 'batch_extract_pages',
		inputs => \urls(1000, 'x:' . 'y' x 2046),
		options => \'{"mode":"sync"}' });

	is($r->{errorCode}, undef, '1000 addresses of 2048 characters');
	error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'BELOW_THRESHOLD',
		'none of which is one');
	like($r->{error}{message}, qr/^0 of 1000 items succeeded, too few; 1000 of /,
		'which is said');
	ok(!$r->{error}{retryable}, 'and no retry helps');
	is($r->{error}{recoverHint},
		q{Too many items failed; look at the items' errors.},
		'with advice');
}

# The queue holds one; what is refused for that is not kept, either.
sub test_full {
	my @runs = map { batch($c, [ $site->url('/never-headers') ],
		{ mode => 'async' }) } 1 .. 2;

	refused(batch($c, [ $site->url('/login') ]), 'QUEUE_FULL',
		'1 runs are waiting already', 'a full queue');
	ok($c->call('run.cancel', { runId => $_->{runId} })->{success},
		'canceled') for reverse @runs;
}

sub check_next {
	my ($name) = @_;
	my $r = batch($c, [ $site->url('/login') ], { mode => 'sync' });
	is($r->{status}, 'succeeded', "the next run succeeds after $name")
	    or diag explain $r;
	is((grep { $_->{cmd} !~ /^(?:supervisord|egressd)/ } tree($i->{pid})), 0,
		'nothing of any run is left');
}

subtest 'the call' => \&test_call;
subtest 'inputs: no JSON' => sub {
	test_documents('inputs',
		'{"urls":[' => ': unexpected end of text (line 1, column 10)',
		"{\n \"urls\": nul}" => ': expected a value (line 2, column 10)',
		'{"urls":NaN}' => ': expected a value (line 1, column 9)',
		'{} x' => ': something follows the value (line 1, column 4)',
		'{"urls":["a"],"urls":["b"]}' =>
			': the object has this key already (line 1, column 15)',
		"{\"urls\":[\"\xff\"]}" => ': not UTF-8 (line 1, column 11)',
		'[' x 100000 => ': nested too deep (line 1, column 65)');
};
subtest 'inputs: not what the template takes' => sub {
	test_documents('inputs',
		'[]' => ': expected an object',
		'null' => ': expected an object',
		'{}' => ': missing field "urls"',
		'{"urls":"http://x/"}' => '/urls: expected array, got string',
		'{"urls":[1]}' => '/urls/0: expected string, got number',
		'{"urls":[]}' => '/urls: too few elements: 0, at least 1',
		urls(1001, 'http://x/') =>
			'/urls: too many elements: 1001, at most 1000',
		urls(1, 'http://x/' . 'a' x 2040) =>
			'/urls/0: too many characters: 2049, at most 2048',
		inputs('"concurrency":"3"') =>
			'/concurrency: expected integer, got string',
		inputs('"concurrency":1.5') =>
			'/concurrency: expected integer, got 1.5',
		inputs('"concurrency":0') =>
			'/concurrency: 0 is out of range (from 1 up to 5)',
		inputs('"concurrency":6') =>
			'/concurrency: 6 is out of range (from 1 up to 5)',
		inputs('"concurrency":1e400') =>
			'/concurrency: 1e400 is out of range (from 1 up to 5)',
		inputs('"navigationTimeoutMs":999') =>
			'/navigationTimeoutMs: 999 is out of range '
			. '(from 1000 up to 120000)',
		inputs('"navigationTimeoutMs":120001') =>
			'/navigationTimeoutMs: 120001 is out of range '
			. '(from 1000 up to 120000)',
		inputs('"csv":"yes"') => '/csv: expected boolean, got string',
		inputs('"extract":{"maxElements":1001}') =>
			'/extract/maxElements: 1001 is out of range '
			. '(from 1 up to 1000)',
		inputs('"extract":{"page":true}') =>
			'/extract: unknown field "page"',
		inputs('"colour":1') => ': unknown field "colour"');
};
subtest 'options' => sub {
	my $ms = '/timeoutMs: expected an integer from 1 to 600000';
	my $key = '/idempotencyKey: expected a string of 1 to 256 bytes';
	my $mode = '/mode: expected "sync", "async" or "auto"';
	test_documents('options',
		'{' => ': unexpected end of text (line 1, column 2)',
		'[]' => ': expected an object',
		'{"modus":"sync"}' => '/modus: there is no such option',
		'{"mode":"later"}' => $mode,
		'{"mode":1}' => $mode,
		'{"timeoutMs":0}' => $ms,
		'{"timeoutMs":600001}' => $ms,
		'{"timeoutMs":-1}' => $ms,
		'{"timeoutMs":1.5}' => $ms,
		'{"timeoutMs":"10"}' => $ms,
		'{"priority":"urgent"}' => '/priority: expected "low", '
			. '"normal", "high" or "critical"',
		'{"idempotencyKey":""}' => $key,
		'{"idempotencyKey":"' . 'k' x 257 . '"}' => $key,
		'{"factsSnapshotId":"x"}' => '/factsSnapshotId: expected 64 '
			. 'lower-case hex digits');
};
is($c->call('run.list', {})->{total}, 0, 'nothing was written');
subtest 'a full queue' => \&test_full;
subtest 'at the edge' => \&test_edges;
subtest 'many' => \&test_many;
check_next('all of these');
is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
