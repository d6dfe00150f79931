#!/usr/bin/perl
# A memory limit that is no whole number of pages made every run fail: the
# browser ended when it divided what it was left.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $site = BrowserTask::Scenario::Site->new;

for my $bytes (300000001, 2000000000, 2 ** 31 - 1, 1025 * 2 ** 20) {
	my $i = BrowserTask::Harness->new(
		settings => [ "runMemoryBytes=$bytes" ])->start;
	my $r = batch(client($i), [ $site->url('/login') ], { mode => 'sync' });
	is($r->{status}, 'succeeded', "a run with at most $bytes bytes")
	    or diag explain $r->{error}, $i->log;
	is($i->stop, 0, 'stop');
}
done_testing();
