#!/usr/bin/perl
# Clients give up a call after a minute. A call of mode auto is answered before,
# like async; the end of a run is waited for in one call; a service that is
# stopped is told as an error by each call that needs it, whenever it stopped.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);
my $m = BrowserTask::Mcp->new(instance => $i, args => [ '--wait', 2 ]);
$m->init;

sub submit {
	my ($adapter, $words, $mode) = @_;
	return $adapter->call('run_task_template', { templateId => 'scripted',
		inputs => { do => [ split ' ', $words ] },
		$mode ? (options => { mode => $mode }) : () });
}

sub told {
	my ($adapter, $id, $seconds) = @_;
	my $a = $adapter->answer($id, $seconds // 60) // return {};
	my $r = $a->{result} // return $a->{error};
	return $r->{structuredContent} // $adapter->doc($r);
}

# Mode auto.
my $sync = submit($m, 'hold', 'sync');
ok(wait_until(60, sub { $c->call('profile.get')->{runs}{running} == 1 }),
	'one runs');
my $begin = time;
my $d = told($m, submit($m, 'hold'));
my $took = time - $begin;
my $run = $d->{runId};
is("$d->{mode} $d->{status}", 'async running', 'auto is answered like async');
cmp_ok($took, '>', 1.5, sprintf('... when its time is over: %.1f s', $took));
cmp_ok($took, '<', 20, '... and not much later');
is_deeply([ @{ $d->{nextActions}[0] }{qw(tool arguments)} ], [ 'get_task_run',
	{ runId => $run, waitMs => 45000 } ], '... with how to wait for the end');
ok(!exists $m->{answers}{$sync}, 'sync is waited for');
for my $r (@{ $c->call('run.list', { status => 'running' })->{runs} }) {
	$c->call('run.cancel', { runId => $r->{runId} }) if $r->{runId} ne $run;
}
is(told($m, $sync)->{status}, 'canceled', '... to its end');
is(told($m, submit($m, 'item'))->{status}, 'succeeded',
	'auto waits for what is short');

# The end of a run, in one call.
sub look { return $_[0]->call('get_task_run', { runId => $run, @_[1 .. $#_] }) }

is(told($m, look($m, waitMs => 100))->{status}, 'running',
	'waitMs: as it is when the time is over');
my $wait = look($m, waitMs => 60000, include => ['output']);
$m->tool('get_runtime_profile');
ok(!exists $m->{answers}{$wait}, 'waitMs: not answered while it runs');
$c->call('run.cancel', { runId => $run });
$d = told($m, $wait);
is($d->{status}, 'canceled', '... but when it has ended');
is(ref $d->{output}, 'HASH', '... with what was asked for');
is(told($m, look($m, waitMs => 60000))->{status}, 'canceled',
	'one that has ended: at once');
like(told($m, look($m, waitMs => -1))->{message},
	qr{^/waitMs: expected an integer from 0 to 600000}, 'a bad waitMs');
is(told($m, $m->call('get_task_run', { runId => 'run_' . '0' x 26,
	waitMs => 10 }))->{errorCode}, 'RUN_NOT_FOUND', 'an unknown run');

# A service that is stopped; nobody there restarts it.
$run = told($m, submit($m, 'hold', 'async'))->{runId};
my $new = BrowserTask::Mcp->new(instance => $i);
$new->init;
my @stopped = ($i->{pid}, map { $_->{pid} }
    grep { $_->{cmd} =~ /supervisord/ } tree($i->{pid}));
my %asked = ('the end of a run' => [ $m, look($m, waitMs => 20000) ]);
$m->tool('get_runtime_profile');
kill 'STOP', @stopped;
$begin = time;
$asked{'a run'} = [ $m, look($m) ];
$asked{'a submission'} = [ $m, submit($m, 'item') ];
$asked{'a resource'} = [ $m, $m->request('resources/read',
	{ uri => "run://$run" }) ];
$asked{'a new connection'} = [ $new, $new->call('get_runtime_profile') ];
for my $name (sort keys %asked) {
	my ($adapter, $id) = @{ $asked{$name} };
	$d = told($adapter, $id, 120);
	like($d->{message} // 'no answer', qr/^the service at \S+ does not answer/,
		"stopped: $name");
}
cmp_ok(time - $begin, '<', 58, 'before clients give up');
kill 'CONT', @stopped;
is(told($m, look($m))->{runId}, $run, 'it goes on: so does all else');
$c->call('run.cancel', { runId => $run });
for ($m, $new) {
	$_->eof;
	is($_->wait, 0, 'the adapter ends');
}
is($i->stop, 0, 'stops');
is(left(2), '', 'nothing is left');
done_testing();
