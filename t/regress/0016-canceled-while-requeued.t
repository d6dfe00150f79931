#!/usr/bin/perl
# A run that lost its worker, and was canceled in the same turn of the loop that
# put it back into the queue, ended and was started nevertheless: its slot was
# never free again. And when supervisord ended between the commit of both and
# what followed, the next one started a run that was to be canceled, which neither
# began nor ended.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Scenario;
use Test::More;

my $i = crashing(settings => [ 'maxConcurrentRuns=1', 'silentMs=600000' ]);

sub state_of {
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/stat") or return '';
	my ($state) = (<$fh> // '') =~ /\) (\S)/;
	return $state // '';
}

sub stopped {
	my ($pid) = @_;
	kill 'STOP', $pid;
	return wait_until(60, sub { state_of($pid) eq 'T' });
}

# The one worker and its cell.
sub worker {
	my ($p) = grep { $_->{cmd} =~ /^workerd\b/ && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return @$p{qw(pid ppid)};
}

# A run with a worker that a second supervisord took up and that has not said a
# word to it: if it is lost, the run goes back to the queue.
sub taken_up {
	my $c = client($i);
	my $run = $c->run('scripted', { do => [qw(item hold)] },
	    { mode => 'async' })->{runId};

	done($c, $run, 1);
	my ($worker, $cell) = worker();
	stopped($worker);
	my $was = supervisord($i);
	kill 'KILL', $was;
	wait_until(60, sub {
		return (supervisord($i) // $was) != $was
		    && $i->log =~ /\Q$run\E: goes on with its worker/;
	}) or die $i->log;
	return $run, $worker, $cell;
}

# Supervisord finds that the run has no processes, and behind it the wish that it
# be canceled. Whether it did so in that order its log says.
sub requeued_and_canceled {
	my ($point) = @_;

	for (1 .. 20) {
		my ($run, $worker, $cell) = taken_up();
		my $c = wait_until(60, sub { eval { client($i) } });
		my $pid = supervisord($i);
		stopped($pid);
		put($i, 'crash', $point) if $point;
		kill 'KILL', $worker;
		# The launcher has waited for it, told so and sleeps.
		wait_until(60, sub { gone($i, $cell)
		    && state_of($i->{pid}) eq 'S' }) or die "cell $cell lives\n";
		$c->send('run.cancel', { runId => $run });
		kill 'CONT', $pid;
		met($i, 20) if $point;
		$c = wait_until(60, sub { eval { client($i) } });
		my ($between) = $i->log =~ /\Q$run\E:\ goes\ back\ to\ the\ queue
		    (.*?)\Q$run\E:\ cancel$/msx;
		return $c, $run
		    if defined $between && $between !~ /: starts, attempt/;
		# It came too early, or too late and was lost to the crash.
		put($i, 'crash', '');
		$c->call('run.cancel', { runId => $run });
		ended($c, $run);
	}
	return;
}

sub is_free {
	my ($c, $name) = @_;

	is($c->call('profile.get')->{activeRuns}, 0, "$name: no slot is held");
	my $next = $c->run('scripted', { do => ['item'] },
	    { mode => 'async' })->{runId};
	is((ended($c, $next, 20) // get($c, $next))->{status}, 'succeeded',
	    "$name: the next run is run");
}

for my $point ('', 'requeue_written:1') {
	my $name = $point ? 'supervisord ends meanwhile' : 'in one turn';
	my ($c, $run) = requeued_and_canceled($point);
	ok($run, "$name: a run is put back and canceled")
	    or die $i->log;
	my $r = ended($c, $run, 20) // get($c, $run);
	is($r->{status}, 'canceled', "$name: it is canceled");
	my @events = @{ $c->call('run.events', { runId => $run })->{events} };
	is_deeply([ grep { /^run_/ } map { $_->{type} } @events ],
	    [qw(run_created run_started run_canceled)],
	    "$name: and not started again");
	is_free($c, $name);
}
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
