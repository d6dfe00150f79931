#!/usr/bin/perl
# A check that nobody reads (Ctrl-Z) held its view of the store until it had said
# all that it found, and no test looked at what that costs: no page is used again
# meanwhile. 0041 has a backup, and does not look at the size of the store.
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
use constant { ROUND => 40, FIRST => 3 };

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);
my $rounds = 0;

sub readers {
	return grep { $_->{state} ne 'Z' && $_->{cmd} =~ /^supervisord: check/ }
	    tree($i->{pid});
}

sub bytes { return -s $i->state_dir . '/store/data.mdb' }

# Writes the same pages again and again: each run changes the indexes of all.
sub churn {
	for (1 .. ROUND) {
		my $r = $c->run('scripted', { do => [qw(item step:s done:s)] },
			{ mode => 'sync' });
		$r->{status} eq 'succeeded' or die "a run: $r->{status}\n";
	}
	$rounds++;
	return bytes();
}

churn() for 1 .. FIRST;
my $before = bytes();
my $free = churn() - $before;
figure('%d KiB for %d runs', $free / 1024, ROUND);

my $check = BrowserTask::Client->new($i->admin_sock);
ok($check->call('store.check', {})->{accepted}, 'a check begins');
ok(wait_until(60, sub { readers() }), 'a process reads the store');
my ($was, $start) = (time, bytes());
$rounds = 0;
churn() while readers() && time - $was < PATIENCE_S * SLOWER;
my $held = (bytes() - $start) / $rounds;
figure('%d KiB for as many while it is not read, %.1f s', $held / 1024,
	time - $was);
ok(!readers(), 'it ends when nobody takes what it says');
cmp_ok(time - $was, '>', PATIENCE_S / 2, 'not at once');
cmp_ok($held, '>', 2 * ($free > 0 ? $free : 1),
	'meanwhile no page was used again');
like($i->log, qr/the other end has taken nothing for too long/, 'it is logged');

# All that grew is free now.
$start = bytes();
churn() for 1 .. FIRST;
my $after = (bytes() - $start) / FIRST;
figure('%d KiB for as many after it', $after / 1024);
cmp_ok($after, '<', $held / 10,
	'afterwards its pages are used again');
my $last = '';
while (my $e = $check->event(30)) {
	$last = $e->[0];
}
isnt($last, 'store.done', 'what was said does not look complete');
my ($status, $out) = $i->ctl('fsck');
is($status, 0, 'the next check finds all sound') or diag $out;
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
