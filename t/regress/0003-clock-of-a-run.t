#!/usr/bin/perl
# The time a browser took to start did not count for the limit of its run, so
# that a run could take as much longer.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my $i = BrowserTask::Harness->new(programs => {
	workerd => "$ENV{builddir}/t/scenario/scripted" })->start;
my $c = BrowserTask::Client->new($i->client_sock);

# No browser starts within a millisecond.
my $r = $c->run('scripted', { do => ['item'] },
	{ mode => 'sync', timeoutMs => 1 });
is($r->{error}{errorCode}, 'RUN_TIMEOUT', 'its time is over');
is($r->{error}{message}, 'the run took longer than its limit of 1 ms',
	'and says how much it was');
is($r->{error}{details}{failedStep}, 'start', 'while it was starting');
my $e = $c->call('run.events', { runId => $r->{runId} });
is_deeply([ map { $_->{type} } @{ $e->{events} } ],
	[qw(run_created run_started artifact_created run_failed)],
	'no page was touched');
is($c->run('scripted', { do => ['item'] }, { mode => 'sync' })->{status},
	'succeeded', 'the next run has its time');

done_testing;
