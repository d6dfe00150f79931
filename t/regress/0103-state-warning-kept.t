#!/usr/bin/perl
# That the state of a session could not be stored was a warning in memory only: a
# supervisord that ended before the run's terminal state was written took it
# along, and the run ended well without a word. points.t has disks that work.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Points::crashing();
my $c = client($i);
my $sessions = $i->state_dir . '/sessions';

is($c->run('keeper', { do => [qw(state result)] }, { mode => 'sync' })
    ->{status}, 'succeeded', 'a run whose state is stored');
chmod 0500, $sessions or die "$sessions: $!\n";
BrowserTask::Points::put($i, 'crash', 'end_ready:1');
my $r = $c->call('run.submit', { templateId => 'keeper',
	inputs => { do => [qw(state result)] }, options => { mode => 'async' } });
my $id = $r->{runId};
ok($id, 'a run whose state cannot be') or diag explain $r;
ok(BrowserTask::Points::met($i), 'supervisord ends before its terminal state is');
wait_until(60, sub { $c = eval { client($i) } });
$r = ended($c, $id);
is($r->{status}, 'succeeded', 'the run ends as its worker said');
like(join("\n", @{ $r->{warnings} // [] }),
	qr/cookies and storage could not be stored/, 'with a warning')
    or diag explain $r;
chmod 0700, $sessions;
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
