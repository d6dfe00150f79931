#!/usr/bin/perl
# The launcher is killed at each of its crash points, LAUNCHER_POINT of
# common/crashpoint.def, while it hands its cells to the program that takes its
# place. All of it ends then, and a start at once goes on by the rules of a crash:
# what clients were told is true (BrowserTask::Oracle). A program that ends in its
# trial changes nothing.
#
# SEED repeats a sequence, POINT takes one point only.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Oracle;
use BrowserTask::Points;
use BrowserTask::Size qw(figure seeded sized);
use List::Util qw(shuffle);
use Test::More;

my $rounds = sized('rounds of each point', 1, 20);
seeded();

# Passed when a signal asks for it, not when a person does.
my %signal = map { $_ => 1 } qw(renew_asked renew_told);
my %trial = map { $_ => 1 } qw(probe_read probe_opened);

# Runs of all kinds; one of them, which is returned, works until it is released.
sub submit_some {
	my ($o) = @_;

	$o->submit('scripted', 'step:s item big art item done:s',
		mode => 'async');
	$o->submit('fragile', 'step:s art result done:s', mode => 'async');
	$o->submit('keeper', 'state result', mode => 'sync', close => 1);
	my $key = $o->submit('fragile', 'step:s hold', mode => 'async',
		steady => 1);
	$o->pump(0.05) while !$o->works($key) && !$o->{c}{eof};
	return $key;
}

sub anew {
	my ($i, $o, $point) = @_;

	put($i, 'crash', "$point:1");
	if ($signal{$point} || rand() < 0.5) {
		kill 'USR2', $i->{pid};
	} else {
		$o->restart;
	}
	1 while $o->pump(1);
	return met($i);
}

# It ends in its trial: all goes on as it was.
sub tried {
	my ($i, $o, $point) = @_;
	my $key = submit_some($o);

	my $met = anew($i, $o, $point) && !defined $i->wait(0);
	$o->connect;
	$o->check;
	$o->release($key);
	return $met && $i->log =~ /does not take over/;
}

sub killed {
	my ($i, $o, $point) = @_;

	submit_some($o);
	my @before = ($i->{pid}, map { $_->{pid} } tree($i->{pid}));
	my $met = anew($i, $o, $point) && ($i->wait // 0) == 9;
	$i->start;
	my %now = map { $_ => 1 } $i->{pid}, map { $_->{pid} } tree($i->{pid});
	$met &&= wait_until(10, sub {
		left(0);
		!grep { !$now{$_} && -d "/proc/$_" } @before;
	});
	$o->all_died;
	$o->connect;
	$o->check;
	return $met;
}

sub crashes {
	my ($mode, @plan) = @_;
	my $i = crashing(mode => $mode, settings => ['maxConcurrentRuns=4']);
	my $o = BrowserTask::Oracle->new($i);
	my (@missed, @faults);

	for my $point (@plan) {
		my $do = $trial{$point} ? \&tried : \&killed;
		push @missed, $point if !$do->($i, $o, $point);
		push @faults, map { "after $point: $_" } $o->faults;
	}
	put($i, 'crash', '');
	$o->finish(60);
	push @faults, $o->faults;
	is_deeply(\@missed, [], 'all ended there, or what was tried did');
	is_deeply(\@faults, [], 'nothing told was lost or done twice')
	    or diag $i->log;
	my %told = $o->told;
	figure('%s: %d crashes; it had told of %s', $mode, scalar @plan,
	    join ', ', map { "$told{$_} $_" } sort keys %told);
	is(($i->ctl('audit', 'verify'))[0], 0, 'the audit log is whole');
	is(($i->ctl('fsck'))[0], 0, 'so is the store');
	is($i->stop, 0, 'it stops');
	is(left(5), '', 'no process is left');
}

# Each mode has its share of the same sequence.
my @points = grep { $_ eq ($ENV{POINT} // $_) } crash_points('LAUNCHER_POINT');
my @plan = shuffle((@points) x $rounds);
my @modes = modes();
beside(map {
	my $n = $_;
	my @share = @plan[ grep { $_ % @modes == $n } 0 .. $#plan ];
	$modes[$n] => sub { crashes($modes[$n], @share) };
} 0 .. $#modes);
done_testing();
