#!/usr/bin/perl
# The log of a run that goes well, of one whose compartment is killed and of
# one that cannot start: every line has a priority and a program, and every
# line about a run begins with its id, whichever process wrote it.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use POSIX ();
use Test::More;

my $site = BrowserTask::Scenario::Site->new;
my $run_id = qr/run_[0-9A-HJKMNP-TV-Z]{26}/;

sub about {
	my ($i, $run) = @_;
	return grep { /\Q$run\E/ } split /\n/, $i->log;
}

# Only the process's own user may do it everywhere.
sub take_descriptors {
	my ($target) = @_;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0) {
		my ($uid, $gid) = (stat "/proc/$target")[4, 5];
		$) = "$gid $gid";
		POSIX::setgid($gid);
		POSIX::setuid($uid);
		exec 'prlimit', '--pid', $target, '--nofile=4:'
		    or POSIX::_exit(127);
	}
	waitpid $pid, 0;
	return $?;
}

sub test_log {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    settings => [ 'debug=1' ])->start;
	my $c = client($i);

	my $good = batch($c, [ $site->url('/corpus/1') ], { mode => 'async' });
	is(ended($c, $good->{runId})->{status}, 'succeeded',
	    "$mode: a run that goes well");
	my $dead = batch($c, [ $site->url('/never-headers') ],
	    { mode => 'async' });
	event($c, $dead->{runId}, 120, sub { $_[0]{type} eq 'run_started' });
	my %parts;
	wait_until(60, sub {
		%parts = parts($i, $dead->{runId});
		return @{ $parts{browser} } > 0;
	});
	kill KILL => @{ $parts{cell} };
	is(ended($c, $dead->{runId})->{status}, 'failed',
	    "$mode: and one whose cell is killed");

	my $off = batch($c, [ $site->url('/never-headers') ],
	    { mode => 'async' });
	$c->call('run.cancel', { runId => $off->{runId} });

	# From here on no cell can start: there is no descriptor for it.
	is(take_descriptors($i->{pid}), 0, "$mode: no descriptors left");
	my $none = batch($c, [ $site->url('/corpus/2') ], { mode => 'async' });
	error_is(ended($c, $none->{runId})->{error}, 'EXECUTION_ERROR',
	    'SPAWN_FAILED', "$mode: and one that cannot start");
	is($i->stop, 0, "$mode: stopped");

	my @lines = split /\n/, $i->log;
	is(join("\n", grep { !/^<[2-7]>(browsertaskd|supervisord|egressd): \S/ }
	    @lines), '', "$mode: all lines are of one form");
	is(join("\n", grep { /$run_id/
	    && !/^<\d>\w+: $run_id: \S/ } @lines), '',
	    "$mode: a run's id comes first");
	is(join("\n", grep { /: cell \d+: /
	    && !/^<\d>\w+: ($run_id|describe): cell / } @lines), '',
	    "$mode: a cell is named with its run");
	for my $run ($good, $dead, $none) {
		my @about = about($i, $run->{runId});
		like($about[0], qr/: created for uid \d+, batch_ex/,
		    "$mode: created");
		like($about[-1], qr/: (succeeded$|failed, [A-Z_]+$)/,
		    "$mode: and how it ended");
	}
	like(join("\n", about($i, $off->{runId})),
	    qr/^<6>supervisord: $run_id: cancel asked for by uid \d+$/m,
	    "$mode: who canceled one");
	like(join("\n", about($i, $none->{runId})),
	    qr/^<3>browsertaskd: $run_id: cell \d+: .*: Too many open files/m,
	    "$mode: the launcher names the run, too");
	like(join("\n", about($i, $good->{runId})),
	    qr/^<7>supervisord: $run_id: (?!cell)/m,
	    "$mode: what the browser prints has the run, too")
	    if $i->log =~ /ERROR:/;
}

test_log($_) for modes();
is(left(60, $site->{pid}), '', 'nothing is left');
done_testing;
