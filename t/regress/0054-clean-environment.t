#!/usr/bin/perl
# supervisord had the whole environment of whoever started the service, and a
# copy in its heap: keys of other programs, for one. compartment.t looks at the
# environment of the browser only.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $canary = 'canary-' . $$ . '-8841';
my $site = BrowserTask::Scenario::Site->new;

# What of a process's memory can be written to, read.
sub holds {
	my ($pid) = @_;
	open(my $maps, '<', "/proc/$pid/maps") or return 0;
	open(my $mem, '<:raw', "/proc/$pid/mem") or return 0;
	no warnings 'portable';
	for my $line (<$maps>) {
		my ($from, $to) = $line =~ /^([0-9a-f]+)-([0-9a-f]+) rw/ or next;
		my $size = hex($to) - hex($from);
		next if $size > 64 << 20;
		sysseek($mem, hex($from), 0) or next;
		sysread($mem, my $bytes, $size) or next;
		return 1 if index($bytes, $canary) >= 0;
	}
	return 0;
}

for my $mode (modes()) {
	my $i = BrowserTask::Harness->new(mode => $mode,
		env => { AGENT_API_KEY => $canary, TZ => 'Asia/Tokyo' })->start;
	my $c = client($i);
	my $r = batch($c, [ $site->url('/article'),
		$site->url('/never-headers') ], { mode => 'async' },
		concurrency => 1);
	ok(done($c, $r->{runId}, 1), "$mode: a run is active");
	my @tree = tree($i->{pid});
	my (@told, @held);
	for my $p (@tree) {
		my $env = BrowserTask::Harness::slurp("/proc/$p->{pid}/environ")
		    // '';
		push @told, $p->{name} if $env =~ /\Q$canary/;
		# As an ordinary user nobody may look.
		push @held, $p->{name} if $> == 0 && holds($p->{pid});
	}
	cmp_ok(scalar @tree, '>', 5, "$mode: of " . @tree . ' processes');
	is_deeply(\@told, [], "$mode: none was started with it");
	is_deeply(\@held, [], "$mode: none has it in its memory");
	ok(holds($i->{pid}), "$mode: the launcher itself was given it")
	    if $> == 0;
	is($i->stop, 0, "$mode: stops");
}
$site->stop;
done_testing();
