#!/usr/bin/perl
# The way to the network is lost: egressd is killed while a run loads pages,
# and one that never works. Runs end clearly, and all is well afterwards.
use strict;
use warnings;
use Test::More;
use BrowserTask::Harness;
use BrowserTask::Scenario;

my $site = BrowserTask::Scenario::Site->new;

sub egressd {
	my ($i) = @_;
	my ($p) = grep { $_->{cmd} =~ /^egressd/ && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return $p && $p->{pid};
}

subtest 'killed' => sub {
	my $i = BrowserTask::Harness->new(settings => [ 'warmCells=1' ])->start;
	my $c = client($i);
	my $r = batch($c, [ map { $site->url("/login?$_") } 1 .. 30 ],
		{ mode => 'async' });
	done($c, $r->{runId}, 1);
	my $pid = egressd($i);
	ok(kill('KILL', $pid), 'egressd is killed while a run is active');
	ok(wait_until(60, sub { (egressd($i) // $pid) != $pid }),
		'another one is started');
	my $end = ended($c, $r->{runId}, 120);
	like($end->{status}, qr/^(?:succeeded|partial_success)$/,
		'the run goes on') or diag explain $end;
	my %items = items($end);
	my @failed = grep { !$_->{success} } values %items;
	cmp_ok(scalar @failed, '<=', 10, scalar(@failed) . ' pages of 30 failed');
	is_deeply([ grep { $_->{error}{errorCode} ne 'STEP_EXECUTION_FAILED' }
		@failed ], [], 'as pages that could not be loaded');
	ok($items{ $site->url('/login?30') }{success}, 'the last one did not');
	$end = batch($c, [ $site->url('/login') ], { mode => 'sync' });
	is($end->{status}, 'succeeded', 'the next run') or diag explain $end;
	is(($i->stop // -1) >> 8, 0, 'the service ends well');
	is(left(60, $site->{pid}), '', 'nothing is left');
};

subtest 'one that does not start' => sub {
	my $i = BrowserTask::Harness->new(programs => { egressd => '/bin/false' })
	    ->start;
	my $c = client($i);
	my $before = { $site->fetched }->{'/login'} // 0;
	my $r = batch($c, [ $site->url('/login') ], { mode => 'sync' });
	is($r->{status}, 'failed', 'a run fails');
	error_is($r->{error}, 'EXECUTION_ERROR', 'EGRESS_UNAVAILABLE',
		'with its cause');
	ok($r->{error}{retryable}, 'and may be tried again');
	like($r->{error}{message}, qr/egressd/, 'the message says who');
	is({ $site->fetched }->{'/login'} // 0, $before,
		'and no page was asked for');
	is(($i->stop // -1) >> 8, 0, 'the service ends well');
};

done_testing();
