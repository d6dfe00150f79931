#!/usr/bin/perl
# A run that returned much was still sending it when its tab was collected as
# garbage, and the session went on without that tab.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new(programs => {
	workerd => "$build/t/scenario/keepworker" })->start;
my $c = client($i);

sub run {
	my ($session, $template, $store) = @_;
	my $r = $c->call('run.submit', { templateId => $template,
		inputs => { urls => [ $site->url('/login') ],
			store => $store },
		defined $session ? (sessionId => $session) : (),
		options => { mode => 'async' } });
	return ended($c, $r->{runId}, 120);
}

my $session = run(undef, 'keeper', 'x' x 200_000)->{sessionId};
my $r = run($session, 'visitor', 'little');
ok($r->{result}{truncated}, 'a run that returns much');
$r = run($session, 'visitor', 'little');
is($r->{result}{said}[0]{kept}, 'little', 'its tab is there for the next one')
    or diag explain $r;
is($i->stop, 0, 'stops');
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
