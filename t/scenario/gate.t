#!/usr/bin/perl
# No page is loaded by a browser whose renderers are not confined: a headless
# shell that has its own sandbox off is put in the browser's place, and the whole
# system refuses to use it. With the real one the run's log has what was seen.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $site = BrowserTask::Scenario::Site->new;

sub acting {
	my ($c, $run) = @_;
	my $e = event($c, $run, 120, sub { $_[0]{type} eq 'phase_changed'
	    && $_[0]{data}{phase} eq 'acting' });
	return $e && $e->{data};
}

sub test_confined {
	my ($mode, $warm) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    settings => ["warmCells=$warm"])->start;
	my $c = client($i);
	my $r = batch($c, [ $site->url('/article') ], { mode => 'sync' });
	my $s = acting($c, $r->{runId})->{sandbox};

	is($r->{status}, 'succeeded', 'the real browser: a run succeeds');
	cmp_ok($s->{renderers}, '>=', 1, 'its log says: a renderer was seen');
	is($s->{seccomp}, 2, 'with a filter of its own');
	cmp_ok($s->{namespaces}, '>=', 2, 'and namespaces of its own');
	ok($s->{noNewPrivs}, 'and no new privileges');
	is($i->stop, 0, 'stop');
}

sub test_bare {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
	    browser => "$build/t/launch/bare-headless-shell")->start;
	my $c = client($i);

	$site->reset;
	my $r = batch($c, [ $site->url('/article') ], { mode => 'sync' });
	is($r->{status}, 'failed', 'without a sandbox: the run fails');
	error_is($r->{error}, 'EXECUTION_ERROR', 'SANDBOX_MISSING',
	    'and says why');
	my %fetched = $site->fetched;
	is($fetched{'/article'}, undef, 'no page was asked for');
	like($i->log, qr/$r->{runId}: cell \d+: sandbox is not active: /,
	    'so does the log');
	note($1) if $i->log =~ /(sandbox is not active.*)/;
	is($c->call('profile.get')->{browser}{confined}, 0,
	    'and profile.get');
	is($i->stop, 0, 'stop');
	is(left(60, $site->{pid}), '', 'nothing is left');
}

beside(mode_parts(confined => sub { test_confined($_[0], 0) },
	'confined spare' => sub { test_confined($_[0], 1) },
	'not confined' => \&test_bare));
done_testing();
