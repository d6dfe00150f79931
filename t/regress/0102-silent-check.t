#!/usr/bin/perl
# "browsertaskctl fsck" and "backup" waited for ever for a service that hangs once
# it had taken the request. 0051 has all commands that end soon.
use strict;
use warnings;
use BrowserTask::Harness;
use Test::More;
use Time::HiRes qw(time);

# Promised, and how many times as long a shared machine may take.
use constant { GIVES_UP_S => 75, SLOWER => 5 };

sub gives_up {
	my ($i, $what, @more) = @_;
	my $was = time;
	my ($status, $out, $err) = $i->ctl($what, @more);

	isnt($status, 0, "$what: fails");
	cmp_ok(time - $was, '<', GIVES_UP_S * SLOWER, "$what: in time");
	like($err, qr/no answer.* nothing for \d+ s/, "$what: says why");
	like($err, qr/the service hangs/, "$what: and what to do");
	return;
}

# The service takes the request, and nothing begins. One of its own for each:
# a request that comes right behind another one waits for its turn.
for my $what ('fsck', 'backup') {
	my $i = BrowserTask::Harness->new(scripted => 1)->start;
	my $to = $what eq 'backup' ? $i->dir . '/copy' : undef;

	kill 'STOP', $i->{pid};
	gives_up($i, $what, $to // ());
	kill 'CONT', $i->{pid};
	my ($status, $out, $err) = $i->ctl($what, defined $to ? "$to-2" : ());
	is($status, 0, "$what: done when the service goes on") or diag $out, $err;
	is($i->stop, 0, "$what: the service stops");
}
is(left(60), '', 'no process is left');
done_testing();
