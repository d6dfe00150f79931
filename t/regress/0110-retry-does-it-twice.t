#!/usr/bin/perl
# A run whose worker or browser was lost, or whose time was up, said retryable:
# true also when it had begun to click, type or send: whoever believed it had
# that done twice. OUTCOME_UNKNOWN said so after a restart of the service only.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use JSON::PP qw(decode_json);
use Test::More;

my %ends = (
	'a lost worker' => [ 'WORKER_LOST', 60000, 'exit' ],
	'a crashed browser' => [ 'PAGE_CRASHED', 60000, 'crash' ],
	'a run whose time is up' => [ 'RUN_TIMEOUT', 3000, 'hold' ],
	'a step that took too long' =>
	    [ 'NAVIGATION_TIMEOUT', 60000, 'fail:NAVIGATION_TIMEOUT' ],
);
my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

my %run;
for my $name (sort keys %ends) {
	my ($code, $ms, @words) = @{ $ends{$name} };

	for my $acts (0, 1) {
		$run{$name}[$acts] = $c->run('fragile',
			{ do => [ ($acts ? 'act' : ()), @words ] },
			{ mode => 'async', timeoutMs => $ms })->{runId};
	}
}
for my $name (sort keys %ends) {
	my ($still, $acted) = map { ended($c, $_, 120) } @{ $run{$name} };

	is($_->{error}{errorCode} =~ /^(?:EXECUTION_ERROR)$/
		? $_->{error}{details}{cause} : $_->{error}{errorCode},
	    $ends{$name}[0], "$name ends the run") for $still, $acted;
	ok($still->{error}{retryable},
	    "$name: one that changed nothing may be tried again");
	unlike($still->{error}{recoverHint}, qr/look at the site/,
	    '... and says nothing of what was done');
	ok(!$acted->{error}{retryable},
	    "$name: nothing invites to do twice what was done");
	like($acted->{error}{recoverHint},
	    qr/^The run had begun to click, type or send: look at the site/,
	    '... and says what to look at first');
	my ($art) = grep { $_->{kind} eq 'task_result' } @{ $c->call(
		'artifact.list', { runId => $acted->{runId} })->{artifacts} };
	my $envelope = decode_json(artifact($c, $art->{artifactId}));
	ok(!$envelope->{error}{retryable}, '... so does the TaskResult');
}
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
