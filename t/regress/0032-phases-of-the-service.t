#!/usr/bin/perl
# A template could say that its run waits for a person, or that a person has taken
# it over: phases by which clients ask people to act. Those are the service's
# alone; taskresult.t and contract.t took any phase there is.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

sub run_of {
	my ($phase) = @_;
	my $s = $c->run('fragile', { do => [ "phase:$phase", 'result' ] },
		{ mode => 'async' });
	return ended($c, $s->{runId}, 60);
}

for my $phase (qw(waiting_user waiting_approval takeover none)) {
	my $r = run_of($phase);
	error_is($r->{error}, 'EXECUTION_ERROR', 'WORKER_PROTOCOL',
	    "$phase is refused");
	my $log = $c->call('run.events', { runId => $r->{runId} });
	is_deeply([ grep { ($_->{data}{phase} // '') eq $phase }
	    @{ $log->{events} } ], [], 'nobody is told of it');
}
for my $phase (qw(preparing acting retrying)) {
	is(run_of($phase)->{status}, 'succeeded', "$phase is a template's");
}
is($i->stop, 0, 'it stops');
is(left(60), '', 'nothing is left');
done_testing();
