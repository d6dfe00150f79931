#!/usr/bin/perl
# The browser of a session whose run went back to the queue, and ended there,
# waited for the next run for ever: nothing counted for how long.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Points;
use BrowserTask::Scenario;
use Test::More;

my $i = BrowserTask::Harness->new(scripted => 1, settings =>
    [ 'sessionIdleMs=1000', 'silentMs=600000' ])->start;
my $c = client($i);
my $session = $c->run('keeper', { do => ['result'] }, { mode => 'sync' })
    ->{sessionId};
my $run = $c->call('run.submit', { templateId => 'scripted',
	inputs => { do => [qw(item hold)] }, options => { mode => 'async' },
	sessionId => $session })->{runId};

sub row {
	my ($row) = grep { $_->{sessionId} eq $session }
	    @{ $c->call('session.list')->{sessions} };
	return $row;
}

# Its worker says nothing to the supervisord that takes it up and is lost then,
# but not the browser.
done($c, $run, 1);
my ($worker) = grep { $_->{cmd} =~ /^workerd\b/ && $_->{state} ne 'Z' }
    tree($i->{pid});
kill 'STOP', $worker->{pid};
$c->call('service.drain');
my $was = supervisord($i);
kill 'KILL', $was;
$c = wait_until(60, sub { (supervisord($i) // $was) != $was
    && eval { client($i) } }) or die $i->log;
ok(wait_until(60, sub { $i->log =~ /\Q$run\E: goes on with its worker/ }),
    'a run in a session goes on with its worker');
kill 'KILL', $worker->{pid};
ok(wait_until(60, sub { get($c, $run)->{status} eq 'queued' }),
    'without it, it goes back to the queue');
ok(row()->{living}, 'the browser of the session is there');
is($c->call('run.cancel', { runId => $run })->{status}, 'canceled',
    'the run is canceled there');
ok(wait_until(20, sub { !row()->{living} }), 'the idle browser is closed')
    or diag $i->log;
ok(wait_until(60, sub { gone($i, $worker->{ppid}) }), 'with its cell');
$c->call('service.resume');
my $next = $c->call('run.submit', { templateId => 'scripted',
	inputs => { do => ['item'] }, options => { mode => 'sync' },
	sessionId => $session });
is($next->{status}, 'succeeded', 'the next run of the session has another');
is($i->stop, 0, 'it stops');
done_testing();
