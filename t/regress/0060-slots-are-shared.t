#!/usr/bin/perl
# One user's runs that hang, however urgent they were said to be, took every
# slot, and whatever another user submitted waited for all of them.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

plan skip_all => 'only root can be several users' if $> != 0;

use constant { ANN => 65501, BEN => 65502, EVE => 65503, HANGING => 60 };

sub hang {
	my ($c, %options) = @_;
	return $c->run('scripted', { do => [qw(item hold)] },
		{ mode => 'async', %options });
}

sub quick { return $_[0]->run('scripted', { do => ['item'] }, $_[1]) }

sub running {
	my ($c) = @_;
	return $c->call('run.list', { status => 'running' })->{total};
}

sub with_slots {
	my ($slots, @more) = @_;
	return BrowserTask::Harness->new(scripted => 1,
		settings => [ 'clientGroup=65534', "maxConcurrentRuns=$slots",
			'silentMs=600000', 'warmCells=0', @more ])->start;
}

subtest 'several slots' => sub {
	my $i = with_slots(3);
	my ($ann, $ben, $eve) = map { client_of($i, $_) } ANN, BEN, EVE;
	my $no = hang($ann, priority => 'critical');
	error_is($no, 'INVALID_PARAMETER', 'NOT_PERMITTED',
		'critical is not for everybody');
	like($no->{message}, qr/"critical" .*\(the setting userPriorities\): use/,
		'which says what to do');
	ok(quick(client($i), { priority => 'critical' })->{runId},
		'but for root');
	my @held = map { hang($ann) } 1 .. HANGING;
	is((grep { !$_->{runId} } @held), 0, HANGING . ' runs of one user');
	ok(wait_until(60, sub { running($ann) == 2 }), 'two of them hang');
	is(quick($ben, { mode => 'sync' })->{status}, 'succeeded',
		"another user's run has a slot at once");
	is(running($ann), 2, 'the first user has no more');
	my $ben_held = hang($ben);
	ok(wait_until(60, sub { running($ben) }), 'the last slot is taken');
	my $next = quick($eve, { mode => 'async' });
	is(get(client($i), $next->{runId})->{queuePosition}, 1,
		'who has none is the next, before all that wait');
	$ann->call('run.cancel', { runId => $held[0]{runId} });
	is(ended($eve, $next->{runId})->{status}, 'succeeded',
		'and gets the slot that is given up');
	is($i->stop, 0, 'stops');
};

subtest 'one slot, and users with priorities' => sub {
	my $i = with_slots(1, 'userPriorities=yes');
	my ($ann, $ben) = map { client_of($i, $_) } ANN, BEN;
	my @held = map { hang($ann, priority => 'critical') } 1 .. 3;
	is((grep { !$_->{runId} } @held), 0, 'a setting permits critical');
	ok(wait_until(60, sub { running($ann) }), 'one hangs');
	my $next = quick($ben, { mode => 'async' });
	$ann->call('run.cancel', { runId => $held[0]{runId} });
	is(ended($ben, $next->{runId})->{status}, 'succeeded',
		'each user in turn');
	is($i->stop, 0, 'stops');
};

done_testing();
