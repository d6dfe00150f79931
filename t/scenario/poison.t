#!/usr/bin/perl
# What makes supervisord end each time it goes on with a run takes that run down,
# and not the service: after four ends within ten seconds, supervisord is started
# without the cells of before, and settles what was running.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Points qw(supervisord);
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use Test::More;
use Time::HiRes qw(time);

my $build = $ENV{builddir} // '.';

sub submit {
	my ($c, $template, $words) = @_;
	return $c->run($template, { do => [ split ' ', $words ] },
	    { mode => 'async' })->{runId};
}

each_mode(sub {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode, scripted => 1,
	    settings => ['maxConcurrentRuns=2'],
	    programs => { supervisord => "$build/supervisord/supervisord-test" });
	# Each one that goes on with a run ends by that.
	$i->{env} = { BROWSERTASK_TEST_CRASH => 'adopt_told:1' };
	$i->start;
	my $c = client($i);
	my $safe = submit($c, 'scripted', 'item hold');
	my $fragile = submit($c, 'fragile', 'step:s hold');
	my $queued = submit($c, 'scripted', 'item');
	done($c, $safe, 1);
	event($c, $fragile, 60, sub { $_[0]{type} eq 'step_started' });

	my $was = time;
	kill 'KILL', supervisord($i);
	$c = wait_until(60, sub {
		my $new = eval { client($i) };
		return eval { $new->call('run.get', { runId => $queued })
			->{status} eq 'succeeded' } && $new;
	});
	ok($c, 'it serves again, and what was queued runs')
	    or return diag $i->log;
	figure('%s: served again after %.1f s', $mode, time - $was);
	for my $run ($safe, $fragile) {
		my $r = $c->call('run.get', { runId => $run });
		is("$r->{status} $r->{attempt}", 'failed 1',
		    'a run that was running fails, and is not begun again');
		is($r->{error}{details}{cause}, 'SUPERVISOR_RESTART',
		    'for that reason');
		ok($r->{error}{retryable}, 'and may be tried again by whoever wants');
	}
	my $log = $i->log;
	is(() = $log =~ /supervisord is started once more, without/g, 1,
	    'which is logged, once');
	my $r = $c->run('scripted', { do => ['item'] }, { mode => 'sync' });
	is($r->{status}, 'succeeded', 'the next run succeeds');
	is($i->stop, 0, 'it stops');
	is(left(60), '', 'nothing is left');
});
done_testing();
