#!/usr/bin/perl
# A step that was in flight when the service was killed was forgotten: the run
# that failed for it blamed a step "start".
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use Test::More;

my $i = BrowserTask::Harness->new(programs => {
	workerd => "$ENV{builddir}/t/scenario/scripted" })->start;

sub client { return BrowserTask::Client->new($i->client_sock) }

sub get {
	my ($run) = @_;
	return eval { client()->call('run.get',
		{ runId => $run, include => 'output' }) };
}

# Submits, waits for the event and kills the service with its workers.
sub cut_off {
	my ($template, $words, $event) = @_;
	my $c = client();
	my $run = $c->run($template, { do => $words },
		{ mode => 'async' })->{runId};
	my $seen = wait_until(60, sub {
		my $e = $c->call('run.events', { runId => $run });
		return grep { $_->{type} eq $event } @{ $e->{events} };
	});
	ok($seen, "$template: $event");
	$i->stop('KILL');
	$i->start;
	return $run;
}

sub ended {
	my ($run) = @_;
	return wait_until(60, sub {
		my $r = get($run);
		return $r && $r->{endedAt} && $r;
	});
}

# Not restart-safe: it fails, and a page may have been changed in that step.
my $r = ended(cut_off('fragile', [qw(step:look done:look step:click hold)],
	'step_succeeded'));
my @steps = @{ $r->{output}{steps} };
is($r->{error}{details}{cause}, 'SUPERVISOR_RESTART', 'fails for the restart');
is($r->{error}{details}{failedStep}, 'click', 'in the step in flight');
is($r->{output}{error}{step}, 'click', 'the TaskResult says so, too');
is_deeply([ map { $_->{name} } @steps ], [qw(look click)], 'steps are kept');
is($steps[1]{error_code}, 'SUPERVISOR_RESTART', 'closed with the code');
is_deeply([ sort keys %{ $steps[1] } ],
	[qw(duration_ms error_code meta name ok)], 'and has the five keys');

# Restart-safe: it goes on, does the step again, and has it once.
$r = ended(cut_off('scripted', [qw(step:read item hold1 done:read)],
	'progress'));
is($r->{status}, 'succeeded', 'a restart-safe one goes on');
is($r->{attempt}, 2, 'in another attempt');
is_deeply([ map { "$_->{name} $_->{ok}" } @{ $r->{output}{steps} } ],
	['read 1'], 'its step was done once');

done_testing;
