#!/usr/bin/perl
# A run that supervisord could not go on with, since its spool could not be
# opened, failed whatever its template and whatever its worker had said, and
# before its processes were gone. Now that is settled as after any crash. What
# stands in the way here is a directory.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Scenario;
use Test::More;

my $i = crashing();
my $c = client($i);

sub submit {
	my ($template, @words) = @_;
	return $c->run($template, { do => \@words }, { mode => 'async' })
	    ->{runId};
}

# Where the spool of a run is, and where it is kept meanwhile.
sub spool {
	my ($run) = @_;
	my $id = $run =~ s/^run_//r;
	return ($i->state_dir . "/spool/$id", $i->dir . "/$id");
}

sub block {
	for my $run (@_) {
		my ($spool, $kept) = spool($run);
		rename $spool, $kept or die "$spool: $!\n";
		mkdir $spool or die "$spool: $!\n";
	}
}

sub unblock {
	my ($spool, $kept) = spool($_[0]);
	rmdir $spool or die "$spool: $!\n";
	rename $kept, $spool or die "$spool: $!\n";
}

# It ends in that moment, and the next one serves.
sub replaced {
	my ($pid) = @_;

	kill 'KILL', $pid;
	$c = wait_until(60, sub { (supervisord($i) // $pid) != $pid
	    && eval { client($i) } }) or die $i->log;
}

my $safe = submit('scripted', qw(item hold1 item));
my $fragile = submit('fragile', qw(step:s hold));
done($c, $safe, 1);
event($c, $fragile, 60, sub { $_[0]{type} eq 'step_started' });
my @cells = map { $_->{ppid} } grep { $_->{cmd} =~ /^workerd\b/ }
    tree($i->{pid});
is(@cells, 2, 'two runs have a cell each');
# So that nothing is started while the spools cannot be opened.
$c->call('service.drain');
block($safe, $fragile);
replaced(supervisord($i));
my $r = ended($c, $fragile, 60);
error_is($r->{error}, 'EXECUTION_ERROR', 'SUPERVISOR_RESTART',
    'a run that may have clicked fails');
is($r->{error}{details}{failedStep}, 's', 'in its step');
ok(wait_until(60, sub { get($c, $safe)->{status} ne 'running' }),
    'one that is restart-safe ends, too');
$r = get($c, $safe);
is("$r->{status} $r->{attempt}", 'queued 2', 'but in the queue')
    or diag $i->log;
ok(gone($i, @cells), 'the processes of both are gone');
is($c->call('profile.get')->{activeRuns}, 0, 'no slot is held');
unblock($safe);
$c->call('service.resume');
$r = ended($c, $safe, 60);
is("$r->{status} $r->{attempt}", 'succeeded 2', 'it is begun again');
is($r->{result}{summary}{succeeded}, 2, 'behind its journal');

# Supervisord stops when what a worker said at its end is stored.
put($i, 'crash', 'run_end_stored:1:stop');
my $over = submit('fragile', 'result');
my $pid = supervisord($i);
ok(met($i), 'a worker says that it is over');
wait_until(60, sub { grep { $_->{pid} == $pid && $_->{state} eq 'T' }
    tree($i->{pid}) }) or die $i->log;
block($over);
replaced($pid);
$r = ended($c, $over, 60);
is("$r->{status} $r->{attempt}", 'succeeded 1', 'which holds')
    or diag $i->log;
is_deeply($r->{result}, { answer => 42 }, 'so does its result')
    or diag explain $r->{result};
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
