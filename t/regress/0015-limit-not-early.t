#!/usr/bin/perl
# A run's limit was counted from when the loop had woken up: on a slow disk the
# run ended as much earlier as its start took to be stored.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use POSIX ();
use Test::More;

use constant { DELAY_US => 200_000, LIMIT_MS => 1500 };

plan skip_all => 'strace is not installed'
    if system('command -v strace >/dev/null') != 0;

my $i = BrowserTask::Harness->new(scripted => 1)->start;
my $c = client($i);
my ($sup) = grep { $_->{cmd} =~ /^supervisord\b/ } tree($i->{pid});

pipe(my $r, my $w) or die "pipe: $!\n";
my $strace = fork() // die "fork: $!\n";
if ($strace == 0) {
	open(STDERR, '>&', $w);
	exec 'strace', '-o', '/dev/null', '-e', 'trace=fdatasync', '-e',
	    'inject=fdatasync:delay_exit=' . DELAY_US, '-p', $sup->{pid}
	    or POSIX::_exit(127);
}
close $w;
if ((lines($r)->next(20) // '') !~ /attached/) {
	$i->stop;
	plan skip_all => 'strace may not attach';
}

my @runs = map { $c->run('scripted', { do => [ 'item', 'hold' ] },
	{ mode => 'async', timeoutMs => LIMIT_MS })->{runId} } 1 .. 3;
for my $run (@runs) {
	ok(event($c, $run, 60, sub { $_[0]{type} eq 'run_started' }),
		'a run starts while the disk is slow');
}
kill 'INT', $strace;
waitpid $strace, 0;
for my $run (@runs) {
	my $e = ended($c, $run);
	is($e->{error}{errorCode}, 'RUN_TIMEOUT', 'it reaches its limit');
	cmp_ok($e->{metrics}{elapsedMs}, '>=', LIMIT_MS, 'and not before');
}
is($i->stop, 0, 'stop');
done_testing();
