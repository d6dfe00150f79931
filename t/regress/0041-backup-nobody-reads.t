#!/usr/bin/perl
# A backup that nobody reads (Ctrl-Z) held its view of the store for ever: no
# page of it was used again, and under load the store grew tenfold and stayed
# so. Every test read what it had asked for.
use strict;
use warnings;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure);
use Test::More;
use Time::HiRes qw(time);

# In inspect.c, and how many times as long a shared machine may take.
use constant { PATIENCE_S => 20, SLOWER => 5 };

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);

sub readers {
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ /^supervisord: backup/ }
	    tree($i->{pid});
}

# More than a socket holds.
is($c->run('scripted', { do => [ ('big') x 6 ] }, { mode => 'sync' })->{status},
	'succeeded', "run $_") for 1 .. 4;
my $copy = BrowserTask::Client->new($i->admin_sock);
ok($copy->call('store.backup', {})->{accepted}, 'a backup begins');
is(($copy->event // [''])->[0], 'store.file', '... with a file');
my $was = time;
ok(wait_until(60, sub { readers() }), 'a process reads the store');
ok(wait_until(PATIENCE_S * SLOWER, sub { !readers() }),
	'and ends when nobody takes what it sends');
my $took = time - $was;
figure('after %.1f s', $took);
cmp_ok($took, '>', PATIENCE_S / 2, 'not at once');
like($i->log, qr/the other end has taken nothing for too long/, 'it is logged');
my $last = '';
while (my $e = $copy->event(30)) {
	$last = $e->[0];
}
isnt($last, 'store.done', 'what was sent does not look complete');
my ($status, undef, $err) = $i->ctl('backup', $i->dir . '/copy');
is($status, 0, 'the next backup is whole') or diag $err;
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
