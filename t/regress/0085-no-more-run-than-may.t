#!/usr/bin/perl
# A run whose end was not stored yet had given its slot to the next one: for that
# time lists and the profile showed more running than may run at once. No page
# is opened.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

use constant { SLOTS => 2, RUNS => 120 };
my $i = BrowserTask::Harness->new(scripted => 1,
	settings => [ 'maxConcurrentRuns=' . SLOTS, 'warmCells=2' ])->start;
my ($c, $looker) = (client($i), client($i));
my @runs = map { $c->run('scripted', { do => [ ('item') x 20 ] },
	{ mode => 'async' })->{runId} } 1 .. RUNS;
my ($looks, $most, $told) = (0, 0, 0);

for (;;) {
	my $list = $looker->call('run.list', { status => 'running',
		limit => 10 });
	my $p = $looker->call('profile.get');
	$looks++;
	$most = $list->{total} if $list->{total} > $most;
	$most = @{ $list->{runs} } if @{ $list->{runs} } > $most;
	$told = $_ > $told ? $_ : $told
	    for $p->{runs}{running}, $p->{activeRuns};
	last if $p->{runs}{succeeded} + $p->{runs}{failed} == RUNS;
}
note("looked $looks times");
is($most, SLOTS, 'never more were listed as running than may run');
is($told, SLOTS, '... nor told by the profile');
is((grep { $c->call('run.get', { runId => $_ })->{status} ne 'succeeded' }
	@runs) + 0, 0, 'all have succeeded');
is($i->stop, 0, 'stops');
is(left(2), '', 'nothing is left');
done_testing();
