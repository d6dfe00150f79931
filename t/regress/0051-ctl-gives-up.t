#!/usr/bin/perl
# browsertaskctl waited for ever for a service that hangs: "submit" and "wait"
# have no deadline, since a run may take long, and did not look whether anybody
# was still there. ctl.t ends services while it waits, and stops none.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

# Promised, and how many times as long a shared machine may take.
use constant { GIVES_UP_S => 75, SLOWER => 5 };

my $site = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $run = batch($c, [ map { $site->url("/never-headers?$_") } 1 .. 20 ],
	{ mode => 'async', timeoutMs => 600_000 })->{runId};
my $url = 'urls=' . $site->url('/never-headers');
# What is asked before the service stops, and after.
my %before = (
	wait => [ 'wait', $run ],
	submit => [ 'submit', 'batch_extract_pages', $url, '--mode', 'sync' ],
	'submit --wait' => [ 'submit', 'batch_extract_pages', $url, '--wait' ],
	events => [ 'events', $run, '--follow' ],
);
my %after = (
	status => ['status'],
	show => [ 'show', $run ],
	cancel => [ 'cancel', $run ],
	runs => ['runs'],
	sessions => ['sessions'],
	templates => ['templates'],
	artifacts => [ 'artifacts', $run ],
	doctor => ['doctor'],
);
my %job;

# In a process of its own; says its exit status, its seconds and its words.
sub begin {
	my ($name, @args) = @_;

	pipe(my $r, my $w) or die "pipe: $!\n";
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0) {
		close $r;
		my $was = time;
		my ($status, $out, $err) = $i->ctl(@args);
		syswrite $w, sprintf("%d %.1f\n%s%s", $status >> 8,
			time - $was, $out, $err);
		POSIX::_exit(0);
	}
	close $w;
	$job{$name} = $r;
}

sub finish {
	my ($name) = @_;
	my $text = do { local $/; readline $job{$name} } // '';
	my ($status, $took) = $text =~ /^(\d+) ([\d.]+)\n/;

	isnt($status // 'nothing', 0, "$name: fails") or diag $text;
	cmp_ok($took // 1e9, '<', GIVES_UP_S * SLOWER, "$name: in time");
	like($text, qr/answer/, "$name: says why");
	like($text, qr/^hint: |\x{2192}|\xe2\x86\x92/m, "$name: and what to do");
	note "$name: $text";
}

begin($_, @{ $before{$_} }) for sort keys %before;
ok(wait_until(60, sub {
	my $all = $c->call('run.list', { limit => 20 });
	return @{ $all->{runs} } == 3;
}), 'all runs are there');
ok(wait_until(60, sub {
	my @links = map { readlink } map { glob "/proc/$_->{pid}/fd/*" }
	    grep { $_->{cmd} =~ /browsertaskctl/ } tree();
	return 4 == grep { /^socket:/ } @links;
}), 'and those who wait for them');
my ($supervisord) = grep { $_->{cmd} =~ /^supervisord/ } tree($i->{pid});
kill 'STOP', $i->{pid}, $supervisord->{pid};
begin($_, @{ $after{$_} }) for sort keys %after;
finish($_) for sort keys %after, keys %before;
kill 'CONT', $supervisord->{pid}, $i->{pid};
my ($status) = $i->ctl('status');
is($status, 0, 'afterwards it is served');
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
