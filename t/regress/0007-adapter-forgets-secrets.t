#!/usr/bin/perl
# The adapter kept the lines in which its client had sent credentials in freed
# memory, until something else was written there.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use Test::More;

my $build = $ENV{builddir} // '.';
plan skip_all => 'sanitizers keep freed memory'
    if qx(nm -D $build/mcp/browsertask-mcp 2>&1) =~ /__asan_init|__ubsan/;

# As a word that occurs nowhere else, made where this file does not have it.
my $canary = join '', map { chr(ord('A') + ($_ * 7) % 26) } 1 .. 40;
my $i = BrowserTask::Harness->new(mode => 'user',
    settings => ['warmCells=0'])->start;
my $m = BrowserTask::Mcp->new(instance => $i);

sub places {
	my ($pid) = @_;
	my ($n, @found) = (0);

	open(my $mem, '<:raw', "/proc/$pid/mem") or return ('unread');
	for (split /\n/, BrowserTask::Harness::slurp("/proc/$pid/maps")) {
		no warnings 'portable';
		my ($from, $to) = /^(\w+)-(\w+) rw.p/ or next;
		my $bytes;
		sysseek $mem, hex $from, 0;
		next if !sysread $mem, $bytes, hex($to) - hex($from);
		$n++;
		while ($bytes =~ /$canary/g) {
			push @found, "$_: " . substr $bytes,
			    $-[0] > 20 ? $-[0] - 20 : 0, 80;
		}
	}
	return $n > 2 ? @found : ('unread');
}

ok($m->init, 'an adapter');
for my $long (0, 200_000) {
	my $r = $m->tool('run_task_template', {
		templateId => 'login_keep_session',
		inputs => { startUrl => 'http://127.0.0.1:1/' . 'x' x ($long / 200),
			credentials => { username => "u$canary",
			    password => "$canary" } },
		options => { mode => 'async', traceId => 'a' x 32,
			$long ? (idempotencyKey => 'k' . 'y' x 100) : () },
		$long ? (padding => 'z' x $long) : (),
	});
	ok($r->{structuredContent}{runId}, 'a run with credentials')
	    or diag($r->{content}[0]{text});
	is_deeply([ places($m->{pid}) ], [], '  nothing of them is left');
	$m->tool('cancel_task_run',
		{ runId => $r->{structuredContent}{runId} });
}
$m->eof;
is($m->wait, 0, 'ends');
is($i->stop, 0, 'stops');
done_testing();
