#!/usr/bin/perl
# The sixteen error codes, each reached by something that really happens, with
# the real programs and the real browser. The output has a table that names the
# condition of each. supervisord is t/scenario/clocked, so that an artifact can
# outlive its time.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP ();
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);

use constant DAY => 86_400_000;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $srcdir = $ENV{srcdir} // '.';
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(
	programs => { supervisord => "$build/t/scenario/clocked" });
$i->{env} = { BROWSERTASK_TEST_CLOCK => $i->dir . '/clock' };
open(my $clock, '>', $i->dir . '/clock') or die "clock: $!\n";
$i->start;
my $c = client($i);
my %reached;

# The error that something was answered with, or that a run ended with; it is
# what the contract says an error is.
sub reached {
	my ($code, $condition, $error) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	subtest "$code: $condition" => sub {
		is($error->{errorCode}, $code, 'the code')
		    or diag explain $error;
		ok(length($error->{message} // ''), 'a message')
		    and note $error->{message};
		ok(length($error->{recoverHint} // ''), 'what to do next');
		ok(JSON::PP::is_bool($error->{retryable}),
			'whether to try again');
		like($error->{details}{cause} // '', qr/^[A-Z_]+$/, 'a cause');
	} and push @{ $reached{$code} }, $condition;
}

# As reached(), of a run: its error, and its envelope agrees.
sub run_reached {
	my ($code, $condition, $r) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $e = $r->{error};

	reached($code, $condition, $e);
	like($e->{details}{failedStep}, qr/^\w+$/, "$code: names the step");
	is($r->{output}{error}{step}, $e->{details}{failedStep},
		"$code: so does the envelope");
	is($r->{result}, undef, "$code: there is no result");
	like($r->{status}, $code eq 'RUN_CANCELED' ? qr/^canceled$/
	    : qr/^failed$/, "$code: the status");
}

sub begun {
	my ($run) = @_;
	return event($c, $run, 120, sub { $_[0]{type} eq 'phase_changed'
		&& $_[0]{data}{phase} eq 'acting' });
}

# A run whose page never answers, when it has begun.
sub endless {
	my ($options) = @_;
	my $r = batch($c, [ $site->url('/never-headers') ],
		{ mode => 'async', %{ $options // {} } });
	begun($r->{runId});
	my %parts;
	wait_until(60, sub {
		%parts = parts($i, $r->{runId});
		return @{ $parts{worker} } && @{ $parts{browser} };
	});
	return ($r->{runId}, %parts);
}

my $ok = batch($c, [ $site->url('/corpus/1') ], { mode => 'sync' });
is($ok->{status}, 'succeeded', 'a run that is well') or diag explain $ok;
my @page = (urls => [ $site->url('/corpus/1') ]);

# Refused before there is a run.
reached('INVALID_PARAMETER', 'an input that the schema does not allow',
	batch($c, []));
reached('INVALID_PARAMETER', 'an option that there is not',
	batch($c, [ $site->url('/') ], { speed => 1 }));
reached('TEMPLATE_NOT_FOUND', 'a template that there is not',
	$c->run('make_coffee', {}));
reached('TEMPLATE_VERSION_UNSUPPORTED', 'a version that is not served',
	$c->call('run.submit', { templateId => 'batch_extract_pages',
		templateVersion => '0.0.1', inputs => { @page } }));
reached('SESSION_NOT_FOUND', 'a session that nobody keeps',
	$c->call('run.submit', { templateId => 'batch_extract_pages',
		sessionId => 'sess_01ARZ3NDEKTSV4RRFFQ69G5FAV',
		inputs => { @page } }));
my $remote = BrowserTask::Client->new($i->client_sock, trust => 'remote');
reached('TRUST_LEVEL_NOT_ALLOWED',
	'a login asked for by a client that is not of this machine',
	$remote->run('login_keep_session', {
		startUrl => $site->url('/try/login'),
		credentials => { username => 'a', password => 'b' } }));
reached('TRUST_LEVEL_NOT_ALLOWED', 'a command of such a client',
	$remote->call('service.drain'));

# What is not there.
reached('RUN_NOT_FOUND', 'a run that there never was', $c->call('run.get',
	{ runId => 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV' }));
reached('ARTIFACT_NOT_FOUND', 'an artifact that there never was',
	$c->call('artifact.get',
	{ artifactId => 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV' }));

# Runs that fail. The first two wait some time for what does not come.
my $field = $c->run('search_extract', { startUrl => $site->url('/corpus/1'),
	query => 'x', searchField => { mode => 'selector',
	selector => '#there-is-none' } }, { mode => 'async' });
my $form = $c->run('login_keep_session', { startUrl => $site->url('/corpus/1'),
	credentials => { username => 'a', password => 'b' } },
	{ mode => 'async' });
run_reached('STEP_EXECUTION_FAILED', 'a batch of which no page can be opened',
	task($c, 'batch_extract_pages',
	{ urls => [ 'http://127.0.0.1:9/' ] }));
run_reached('NAVIGATION_TIMEOUT', 'a page that does not answer in its time',
	task($c, 'search_extract', { startUrl => $site->url('/never-headers'),
		query => 'x', navigationTimeoutMs => 1000 }));
run_reached('NAVIGATION_TIMEOUT', 'results that do not come', task($c,
	'search_extract', { startUrl => $site->url('/search'), query => 'x',
		waitForResults => { type => 'selector', value => '#none',
		timeoutMs => 500 } }));

my ($run, %parts) = endless({ timeoutMs => 4000 });
run_reached('RUN_TIMEOUT', 'a run that takes longer than its limit',
	ended($c, $run));
run_reached('ELEMENT_NOT_FOUND', 'a search field that the page has not',
	ended($c, $field->{runId}));
run_reached('TPL_LOGIN_FIELD_NOT_FOUND', 'a login on a page without a form',
	ended($c, $form->{runId}));

($run, %parts) = endless();
$c->call('run.cancel', { runId => $run });
run_reached('RUN_CANCELED', 'a run that somebody canceled', ended($c, $run));

($run, %parts) = endless();
kill 'KILL', @{ $parts{browser} };
run_reached('PAGE_CRASHED', 'a browser that was killed', ended($c, $run));

($run, %parts) = endless();
kill 'KILL', @{ $parts{worker} };
run_reached('EXECUTION_ERROR', 'a worker that was killed', ended($c, $run));

# Beyond its time. The clock does not go back.
print $clock $ok->{endedAt} + DAY;
close $clock;
reached('ARTIFACT_EXPIRED', 'an artifact, 24 hours after its run',
	$c->call('artifact.get', { artifactId => $ok->{artifactIds}[0] }));
reached('RUN_NOT_FOUND', 'a run, long after its end',
	$c->call('run.get', { runId => $ok->{runId} }));

# The sixteen are those whose two names are equal in the table.
open(my $def, '<', "$srcdir/model/errors.def") or die "errors.def: $!\n";
my @codes = sort grep { defined } map {
	/^ERR\((\w+),\s*(\w+),/ && $1 eq $2 ? $1 : undef
    } do { local $/; <$def> =~ /^(ERR\(\w+,\s*\w+,)/mg };
is(scalar @codes, 16, 'there are sixteen codes');
is_deeply([ sort keys %reached ], \@codes, 'each was reached');
note sprintf '%-29s %s', $_, join '; ', @{ $reached{$_} // ['NOT REACHED'] }
    for @codes;

$i->stop;
is(left(60, $site->{pid}), '', 'no process is left');
done_testing();
