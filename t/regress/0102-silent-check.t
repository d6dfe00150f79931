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

my $i = BrowserTask::Harness->new(scripted => 1)->start;

sub gives_up {
	my ($what, @more) = @_;
	my $was = time;
	my ($status, $out, $err) = $i->ctl($what, @more);

	isnt($status, 0, "$what: fails");
	cmp_ok(time - $was, '<', GIVES_UP_S * SLOWER, "$what: in time");
	like($err, qr/no answer.* nothing for \d+ s/, "$what: says why");
	like($err, qr/the service hangs/, "$what: and what to do");
	return;
}

# It takes the request, and nothing begins.
kill 'STOP', $i->{pid};
gives_up('fsck');
kill 'CONT', $i->{pid};
my ($status, $out, $err) = $i->ctl('fsck');
is($status, 0, 'a check when it goes on') or diag $out, $err;
kill 'STOP', $i->{pid};
gives_up('backup', $i->dir . '/copy');
kill 'CONT', $i->{pid};
($status, $out, $err) = $i->ctl('backup', $i->dir . '/other');
is($status, 0, 'a backup') or diag $out, $err;
is($i->stop, 0, 'stops');
is(left(60), '', 'no process is left');
done_testing();
