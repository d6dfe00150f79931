#!/usr/bin/perl
# A run that ended badly while none of its steps was in flight blamed a step
# "start", although it had been far beyond that.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Harness->new(programs => {
	workerd => "$ENV{builddir}/t/scenario/scripted" })->start;
my $c = client($i);

sub begun {
	my ($words) = @_;
	return $c->run('fragile', { do => [ split ' ', $words ] },
		{ mode => 'async' })->{runId};
}

sub blames {
	my ($run, $status, $code, $step, @steps) = @_;
	my $r = ended($c, $run);
	my @events = map { $_->{type} } @{ $c->call('run.events',
		{ runId => $run, limit => 500 })->{events} };

	is($r->{status}, $status, $status);
	is($r->{error}{details}{failedStep}, $step, "it names $step");
	is($r->{error}{details}{stepErrorCode}, $code, 'with the code');
	is($r->{output}{error}{step}, $step, 'so does the TaskResult');
	is(join(', ', map { "$_->{name} " . ($_->{error_code} // 'ok') }
	    @{ $r->{output}{steps} }), join(', ', @steps, "$step $code"),
	    'steps stay as they ended');
	is(scalar(grep { $_ eq 'step_succeeded' } @events), scalar @steps,
	    'as the events tell it');
}

# Canceled behind its last step, and before its first one.
my $run = begun('step:look done:look step:click done:click hold');
my $n = 0;
event($c, $run, 60, sub { $_[0]{type} eq 'step_succeeded' && ++$n == 2 });
ok($c->call('run.cancel', { runId => $run })->{success}, 'canceled');
blames($run, 'canceled', 'RUN_CANCELED', 'click', 'look ok', 'click ok');
$run = begun('warn hold');
event($c, $run, 60, sub { $_[0]{type} eq 'run_started' });
ok($c->call('run.cancel', { runId => $run })->{success}, 'canceled');
blames($run, 'canceled', 'RUN_CANCELED', 'start');

# Failed, and lost, behind one.
blames(begun('step:look done:look fail:TEMPLATE_FAULT'), 'failed',
	'TEMPLATE_FAULT', 'look', 'look ok');
blames(begun('step:look done:look exit'), 'failed', 'WORKER_LOST', 'look',
	'look ok');

is($i->stop, 0, 'stop');
done_testing;
