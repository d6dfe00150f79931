#!/usr/bin/perl
# A browser that reset its connection while egressd had yet to answer its request
# made egressd spin until the time for the answer was over.
use strict;
use warnings;
use BrowserTask::Egress;
use BrowserTask::Harness;
use Socket qw(SOL_SOCKET SO_LINGER);
use Test::More;

use constant MOST_TICKS => 20;    # of 10 ms, in 4 s

sub ticks {
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/stat") or die "stat: $!\n";
	my @f = split ' ', <$fh> =~ s/.*\) //r;
	return $f[11] + $f[12];
}

# Sent whole, so that the reset finds it read.
sub asks {
	my ($e, $more) = @_;
	my $sock = $e->connect(1);

	syswrite $sock, "\5\1\0";
	is(exactly($sock, 2), "\5\0", 'greeted');
	syswrite $sock, "\5\1\0\3\4site\0\x50$more";
	return $sock;
}

# Nobody binds the cell: each request waits, and is refused in the end.
my $e = BrowserTask::Egress->new;
$e->cell(1);
my $before = ticks($e->{pid});
my @resets = map { asks($e, $_) } '', 'hello';
my $stays = asks($e, 'hello');
setsockopt($_, SOL_SOCKET, SO_LINGER, pack 'l2', 1, 0) for @resets;
close $_ for @resets;
is(ord substr(exactly($stays, 10), 1, 1), 2, 'one that stays is refused');
cmp_ok(ticks($e->{pid}) - $before, '<=', MOST_TICKS,
	'meanwhile two that were reset cost nothing');
is($e->stop, 0, 'stops');
is(left(60, $e->{drive}), '', 'nothing is left');
done_testing();
