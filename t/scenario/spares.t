#!/usr/bin/perl
# Spares with the real browser: taken by a run, used once, made again, killed in
# every way, also when a run has just got it, gone with the service. Prints what
# a run of one page takes with a spare and without.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

my $site = BrowserTask::Scenario::Site->new;

sub instance {
	my ($mode, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
	    settings => [@settings])->start;
}

sub ready { return $_[0]->call('profile.get')->{warmCells} }

# Waits for that many spares.
sub spares {
	my ($c, $n) = @_;
	return wait_until(60, sub { ready($c) == $n });
}

# What is below the launcher but supervisord: pids by kind.
sub cell_parts {
	my ($i) = @_;
	my %parts;

	for my $p (grep { $_->{state} ne 'Z' } tree($i->{pid})) {
		push @{ $parts{worker} }, $p->{pid} if $p->{cmd} =~ /^workerd/;
		push @{ $parts{cell} }, $p->{pid} if $p->{cmd} =~ /^cell:/;
		push @{ $parts{browser} }, $p->{pid}
		    if $p->{cmd} =~ /--remote-debugging/
		    && $p->{cmd} !~ /--type=/;
		push @{ $parts{supervisord} }, $p->{pid}
		    if $p->{cmd} =~ /^supervisord/;
	}
	return \%parts;
}

# How many descriptors below the launcher watch files; a build without filters
# of system calls lets a browser do that.
sub watching {
	my ($i, $parts) = @_;
	my $n = 0;

	return 0 if BrowserTask::Harness::slurp("/proc/$parts->{browser}[0]/status")
	    !~ /^Seccomp:\s+2$/m;
	for my $p (tree($i->{pid})) {
		$n += grep { (readlink($_) // '') =~ /inotify/ }
		    glob("/proc/$p->{pid}/fd/*");
	}
	return $n;
}

sub one_page {
	my ($c, %options) = @_;
	return batch($c, [ $site->url('/article') ],
	    { mode => 'sync', %options });
}

sub test_use {
	my ($mode) = @_;
	my $i = instance($mode, 'warmCells=1');
	my $c = client($i);
	my (@warm, @cold);

	ok(spares($c, 1), 'a spare is ready before any run');
	is($c->call('profile.get')->{browser}{confined}, 1,
	    'its sandbox was seen');
	for (1 .. 2) {
		my $spare = cell_parts($i);
		is(scalar @{ $spare->{cell} }, 1, 'there is one cell');
		is(watching($i, $spare), 0, 'which watches no files');
		my ($took, $r) = timed(sub { one_page($c) });
		push @warm, $took;
		is($r->{status}, 'succeeded', 'a run');
		like($i->log, qr/$r->{runId}: cell \d+: takes a spare/,
		    'takes it');
		ok(wait_until(60, sub { gone($i, @{ $spare->{cell} },
		    @{ $spare->{worker} }) }), 'which ends with the run');
		ok(spares($c, 1), 'and another one is made');
	}
	my $r = one_page($c, resources => 'all');
	is($r->{status}, 'succeeded', 'a run that wants images');
	unlike($i->log, qr/$r->{runId}: cell \d+: takes a spare/,
	    'gets no spare without');
	ok(wait_until(60, sub {
		my ($p) = grep { $_->{cmd} =~ /--remote-/
		    && $_->{cmd} !~ /--type=/ } tree($i->{pid});
		ready($c) && $p && $p->{cmd} !~ /imagesEnabled=false/;
	}), 'the next spare has them');
	$i->stop;
	is(left(60, $site->{pid}), '', 'nothing is left');

	$i = instance($mode, 'warmCells=0');
	$c = client($i);
	push @cold, (timed(sub { one_page($c) }))[0] for 1 .. 2;
	ok(!cell_parts($i)->{cell}, 'without the setting there is none');
	diag(sprintf '%s: submit to result of one page: %d ms with a spare, '
	    . '%d ms without (best of 2)', $mode,
	    map { 1000 * quantile(0, @$_) } \@warm, \@cold);
	$i->stop;
	is(left(60, $site->{pid}), '', 'nothing is left');
}

sub test_deaths {
	my ($mode) = @_;
	my $i = instance($mode, 'warmCells=1');
	my $c = client($i);

	for my $kind (qw(worker browser cell)) {
		ok(spares($c, 1), 'a spare');
		my $parts = cell_parts($i);
		kill 'KILL', @{ $parts->{$kind} };
		ok(wait_until(60, sub { gone($i, map { @{ $parts->{$_} } }
		    qw(worker browser cell)) }),
		    "its $kind is killed: nothing of it is left");
		is(one_page($c)->{status}, 'succeeded', 'runs go on');
	}
	like($i->log, qr/a spare was lost: .*; the next one is made in 1 s/,
	    'it is not made again at once');
	ok(spares($c, 1), 'a spare');
	my $parts = cell_parts($i);
	kill 'KILL', @{ $parts->{supervisord} };
	ok(wait_until(60, sub { gone($i, @{ $parts->{cell} }) }),
	    'supervisord is killed: the spare goes');
	ok(wait_until(60, sub { eval { $c = client($i); spares($c, 1) } }),
	    'and comes back');
	kill 'KILL', $i->{pid};
	is(left(60, $site->{pid}), '', 'the launcher is killed: nothing is left');
	$i->wait;
}

# An instance whose spare stands still before it is ready, and what it consists
# of.
sub half_ready {
	for (1 .. 10) {
		my $i = instance((modes())[0], 'warmCells=1');
		my $c = client($i);
		my $parts;

		wait_until(60, sub {
			$parts = cell_parts($i);
			$parts->{browser} && $parts->{worker};
		});
		kill 'STOP', map { @{ $parts->{$_} // [] } } qw(browser worker);
		return ($i, $c, $parts)
		    unless wait_until(0.1, sub { ready($c) });
		kill 'KILL', $i->{pid};
		$i->wait;
	}
	die "every spare was ready at once\n";
}

# A run is not told to a spare that is not ready: it gets another cell.
sub test_claimed {
	for my $kind (qw(worker browser cell)) {
		my ($i, $c, $parts) = half_ready();
		my $run = batch($c, [ $site->url('/article') ],
		    { mode => 'async' })->{runId};

		ok(wait_until(60,
		    sub { $i->log =~ /$run: cell \d+: takes a spare/ }),
		    'a run takes a spare that is starting');
		kill 'KILL', @{ $parts->{$kind} };
		my $r = ended($c, $run);
		is($r->{status}, 'succeeded', "its $kind is killed: it goes on");
		is($r->{attempt}, 1, 'at its first attempt');
		is((scalar grep { ($_->{data}{phase} // '') eq 'acting' }
		    @{ $c->call('run.events', { runId => $run,
		    afterSeq => 0 })->{events} }), 1, 'and begins once');
		$i->stop;
		is(left(60, $site->{pid}), '', 'nothing is left');
	}
}

sub test_settings {
	my $i = BrowserTask::Harness->new(settings => ['warmCells=2',
	    'maxConcurrentRuns=2'])->start;
	my $c = client($i);

	ok(spares($c, 2), 'two of them');
	my $drained = $c->call('service.drain');
	ok(spares($c, 0), 'none while drained');
	ok(wait_until(60, sub { !cell_parts($i)->{cell} }),
	    'nor a process of one');
	$c->call('service.resume');
	ok(spares($c, 2), 'and again');
	my @runs = map { batch($c, [ $site->url('/slow') ],
	    { mode => 'async' }) } 1 .. 2;
	ok(wait_until(60, sub {
		$c->call('profile.get')->{activeRuns} == 2 && ready($c) == 0;
	}), 'runs take them');
	ended($c, $_->{runId}) for @runs;
	ok(spares($c, 2), 'when they are over there are two again');
	is($i->stop, 0, 'stop');
	is(left(60, $site->{pid}), '', 'nothing is left');
}

beside(mode_parts(use => \&test_use),
    deaths => sub { test_deaths((modes())[0]) },
    'lost while taken' => \&test_claimed,
    settings => \&test_settings);
done_testing();
