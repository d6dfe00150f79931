#!/usr/bin/perl
# A run outlives its client: adapters are killed with kill -9 at different
# moments of their calls; every run ends as if nobody had left, once, and another
# adapter reads it. Workers do what inputs say, and no browser.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use Test::More;
use Time::HiRes qw(time);

use constant AT_ONCE => 20;

my $kills = sized('killed adapters', 20, 200);
my $i = BrowserTask::Harness->new(scripted => 1, settings => [
	'maxConcurrentRuns=' . AT_ONCE, 'pingMs=200' ])->start;
my $c = client($i);

# With a run that its worker goes on with for a while.
sub begin {
	my ($n) = @_;
	my $m = BrowserTask::Mcp->new(instance => $i);

	$m->init;
	my $call = $m->call('run_task_template', { templateId => 'scripted',
		inputs => { do => [ 'item', 'pings:20', 'item' ] },
		options => { mode => $n % 2 ? 'sync' : 'async',
			idempotencyKey => "outlive $n" } },
		_meta => { progressToken => $n });
	return { m => $m, key => "outlive $n", call => $call };
}

# The same call by another client names the run.
sub run_of {
	my ($a) = @_;
	return $c->run('scripted', { do => [ 'item', 'pings:20', 'item' ] },
		{ mode => 'async', idempotencyKey => $a->{key} });
}

my (@runs, @wrong);
my $running = 0;
for (my $n = 0; $n < $kills; $n += AT_ONCE) {
	my $last = $n + AT_ONCE < $kills ? $n + AT_ONCE : $kills;
	my @some = map { begin($_) } $n .. $last - 1;
	for my $k (0 .. $#some) {
		my $a = $some[$k];
		# In the middle of its run, or when it has just been answered.
		wait_until(60, sub {
			$c->call('run.list', { limit => 1 })->{total} >= $last });
		my $r = run_of($a);
		push @wrong, "$a->{key}: $r->{status}" if !$r->{deduplicated};
		event($c, $r->{runId}, 120, sub {
			$_[0]{type} eq 'run_started' }) if $k % 3 == 0;
		done($c, $r->{runId}, 1) if $k % 3 == 1;
		$running++ if get($c, $r->{runId})->{status} eq 'running';
		$a->{m}->kill('KILL');
		push @runs, $r->{runId};
	}
	$_->{m}->wait(20) for @some;
	ended($c, $_, 120) for @runs;
}
is_deeply(\@wrong, [], 'every call was taken');
figure('%d kills, %d while the run went on', $kills, $running);
cmp_ok($running, '>', 0, 'some were killed while it ran');

my $other = BrowserTask::Mcp->new(instance => $i);
$other->init;
for my $run (@runs) {
	my $r = $other->tool('get_task_run', { runId => $run })
	    ->{structuredContent};
	my $of = $r->{result}{summary};
	push @wrong, explain $r if $r->{status} ne 'succeeded'
	    || $of->{succeeded} != 2;
}
is_deeply(\@wrong, [], "$kills kills, $kills results");
is($c->call('run.list', { limit => 1 })->{total}, $kills,
	'and no run that nobody asked for');
is_deeply([ grep { get($c, $_)->{attempt} != 1 } @runs ], [],
	'each began once');
$other->eof;
$other->wait(20);
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
