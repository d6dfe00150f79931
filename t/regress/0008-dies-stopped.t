#!/usr/bin/perl
# A process that changes its uid for files loses the signal that it asked for,
# should its parent die. A cell does so to count a kept profile: from then on it
# lived on without its launcher, if it could not see for itself that it was
# alone. Here nobody can: all are stopped.
use strict;
use warnings;
use BrowserTask::Harness;
use IO::Socket::UNIX;
use Test::More;

use constant { BROWSER => 1, FULL => 8, KEEP => 16 };
my $build = $ENV{builddir} // die "builddir is not set\n";

$SIG{PIPE} = 'IGNORE';

sub switches {
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/status") or return 0;
	my ($n) = join('', <$fh>) =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
	return $n // 0;
}

sub dies_with_launcher {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
		browser => "$build/t/launch/hog", programs => {
			supervisord => "$build/t/launch/fakesup",
			workerd => "$build/t/launch/fakework" })->start;
	my $sock = wait_until(60, sub {
		IO::Socket::UNIX->new(Peer => $i->admin_sock);
	}) or die "connect: $!\n" . $i->log;
	my $lines = lines($sock);

	syswrite $sock, 'spawn 1 0 0 ' . (BROWSER | FULL | KEEP)
	    . " 01ARZ3NDEKTSV4RRFFQ69G5FA1 kept\n";
	my $line = '';
	1 while $line !~ /^worker 1 hello/
	    && defined($line = $lines->next(20));
	like($line // 'nothing', qr/^worker/, "$mode: a kept cell is up");
	my @all = tree($i->{pid});
	my ($cell) = grep { ($_->{nspid} // '') =~ /^\d+\s+1$/ } @all;
	# It has nothing to do but to look, once a second.
	my $before = switches($cell->{pid});
	ok(wait_until(60, sub { switches($cell->{pid}) >= $before + 3 }),
		"$mode: it has looked at the profile");
	@all = tree($i->{pid});
	# egressd, supervisord, cell, worker; sanitizers end the browser soon.
	cmp_ok(@all, '>=', 4, "$mode: with it there are " . @all)
	    or diag explain \@all;
	kill 'STOP', map { $_->{pid} } @all;
	kill 'KILL', $i->{pid};
	is(left(60), '', "$mode: all die with the launcher");
}

dies_with_launcher($_) for modes();
done_testing();
