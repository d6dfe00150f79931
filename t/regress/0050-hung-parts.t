#!/usr/bin/perl
# A stopped egressd made every run fail for ever, and nobody ended it; a stopped
# supervisord was noticed by nobody outside systemd. wedged.t stops cells, their
# workers and browsers, but neither of these two. Each program of the service is
# stopped here while the service is idle, starts, or has a run.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;
use Time::HiRes qw(time);

use constant HANG_MS => 3000;

my $site = BrowserTask::Scenario::Site->new;

sub instance {
	my ($mode, @settings) = @_;
	return BrowserTask::Harness->new(mode => $mode,
		settings => [ 'hangMs=' . HANG_MS, @settings ])->start;
}

sub part {
	my ($i, $name) = @_;
	my ($p) = grep { $_->{cmd} =~ /^\Q$name\E\b/ && $_->{state} ne 'Z' }
	    tree($i->{pid});
	return $p && $p->{pid};
}

sub stopped {
	my (@pids) = @_;
	my %is = map { $_ => 1 } @pids;

	kill 'STOP', @pids;
	return wait_until(60, sub {
		!grep { $is{ $_->{pid} } && $_->{state} !~ /[TZ]/ } tree();
	});
}

# Another one takes its place.
sub replaced {
	my ($i, $name, $was, $when) = @_;
	my ($took) = timed(sub {
		ok(wait_until(60, sub { (part($i, $name) // $was) != $was }),
			"$name, $when: is killed and started anew");
	});
	note sprintf '%s, %s: after %.1f s', $name, $when, $took;
	like($i->log, qr/^.*\Q$name\E has not answered for \d+ ms: killed/m,
		"$name, $when: which the log says");
}

# Whoever stops it while it starts sees it as soon as it is there.
sub stop_newborn {
	my ($i, $name) = @_;
	my $was = part($i, $name);

	kill 'KILL', $was;
	my $new = wait_until(60, sub {
		my $p = part($i, $name);
		return $p && $p != $was && $p;
	});
	stopped($new);
	return $new;
}

# Reads pages for some seconds.
sub long_run {
	my ($c) = @_;
	my $r = batch($c, [ map { $site->url("/slow?$_") } 1 .. 12 ],
		{ mode => 'async' }, concurrency => 2);
	done($c, $r->{runId}, 1);
	return $r->{runId};
}

sub serves {
	my ($i, $when) = @_;
	my $c;

	wait_until(60, sub { $c = eval { client($i) } });
	my $r = batch($c, [ $site->url('/login') ], { mode => 'sync' });
	is($r->{status}, 'succeeded', "$when: the next run succeeds")
	    or diag explain $r;
	return $c;
}

# A client whose service hangs is not lost: it connects again.
sub end_of {
	my ($i, $run, $when, @good) = @_;
	my $r = wait_until(120, sub {
		my $got = eval { get(client($i), $run, 'output') } // return;
		return $got->{status} !~ /^(?:queued|running)$/ && $got;
	});
	my $is = join '|', @good;

	like($r->{status}, qr/^(?:$is)$/, "$when: the run goes on")
	    or diag explain $r;
	is($r->{attempt} // 1, 1, "$when: as the same attempt");
	return $r;
}

sub test_part {
	my ($mode, $name) = @_;
	my $i = instance($mode);
	my $launcher = $i->{pid};
	my @good = $name eq 'egressd' ? qw(succeeded partial_success)
	    : 'succeeded';
	my $when = "$name idle";

	my $pid = part($i, $name);
	ok(stopped($pid), "$when: stopped");
	replaced($i, $name, $pid, 'idle');
	my $c = serves($i, $when);

	$when = "$name with a run";
	my $run = long_run($c);
	$pid = part($i, $name);
	ok(stopped($pid), "$when: stopped");
	replaced($i, $name, $pid, 'with a run');
	end_of($i, $run, $when, @good);
	$c = serves($i, $when);

	$when = "$name starting";
	$run = long_run($c);
	$pid = stop_newborn($i, $name);
	replaced($i, $name, $pid, 'starting');
	end_of($i, $run, $when, @good);
	serves($i, $when);
	is($i->{pid}, $launcher, "$name: the service is the same");
	is($i->stop, 0, "$name: stops");
}

# While it is stopped what needs no new compartment goes on; afterwards it does
# not take its own silence for that of others.
sub test_launcher {
	my ($mode) = @_;
	my $i = instance($mode);
	my $c = client($i);
	my %pid = map { $_ => part($i, $_) } qw(supervisord egressd);
	my $run = long_run($c);

	ok(stopped($i->{pid}), 'launcher: stopped with a run');
	my $was = time;
	is($c->call('profile.get', {})->{errorCode}, undef,
		'launcher: questions are answered');
	my $next = batch($c, [ $site->url('/login') ], { mode => 'async' });
	ok($next->{runId}, 'launcher: a run is taken');
	wait_until(60, sub { time - $was > 2 * HANG_MS / 1000 });
	kill 'CONT', $i->{pid};
	end_of($i, $run, 'launcher with a run', 'succeeded');
	end_of($i, $next->{runId}, 'launcher, submitted meanwhile', 'succeeded');
	serves($i, 'launcher');
	is(part($i, $_), $pid{$_}, "launcher: $_ is the same") for sort keys %pid;
	is($i->stop, 0, 'launcher: stops');
}

# A machine that was suspended, or a frozen group.
sub test_all {
	my ($mode) = @_;
	my $i = instance($mode, 'silentMs=3000', 'pingMs=500');
	my $c = client($i);
	my %pid = map { $_ => part($i, $_) } qw(supervisord egressd);
	my $run = long_run($c);
	my @all = ($i->{pid}, map { $_->{pid} } tree($i->{pid}));

	ok(stopped(@all), 'all: stopped');
	my $was = time;
	wait_until(60, sub { time - $was > 2 * HANG_MS / 1000 });
	kill 'CONT', @all;
	end_of($i, $run, 'all', 'succeeded');
	is(part($i, $_), $pid{$_}, "all: $_ is the same") for sort keys %pid;
	is($i->stop, 0, 'all: stops');
}

# What waits for a run, and is stopped before there is one.
sub test_spare {
	my ($mode) = @_;
	my $i = instance($mode, 'warmCells=1', 'pingMs=500', 'silentMs=5000',
		'browserStartMs=10000');
	my $c = serves($i, 'spare');

	for my $kind (qw(worker browser cell)) {
		my $pid = wait_until(60, sub { spare($i)->{$kind} });
		ok(stopped($pid), "$kind of a spare: stopped");
		my $s = batch($c, [ $site->url('/login') ],
			{ mode => 'async', timeoutMs => 30_000 });
		my $r = ended($c, $s->{runId}, 120);
		ok($r && ($r->{status} eq 'succeeded' || $r->{error}{message}),
			"$kind of a spare: the run ends, $r->{status} "
			. ($r->{error}{errorCode} // '')) or diag explain $r;
		serves($i, "$kind of a spare");
	}
	is($i->stop, 0, 'spare: stops');
}

# Of the cell that is up and has a browser.
sub spare {
	my ($i) = @_;
	my @tree = grep { $_->{state} !~ /[ZT]/ } tree($i->{pid});
	my %cell = map { $_->{pid} => $_ } grep { $_->{ppid} == $i->{pid}
	    && $_->{cmd} !~ /^(?:supervisord|egressd)/ } @tree;

	for my $cell (keys %cell) {
		my ($worker) = grep { $_->{ppid} == $cell
		    && $_->{cmd} =~ /^workerd/ } @tree;
		my ($browser) = grep { $_->{ppid} == $cell
		    && $_->{cmd} =~ /--remote-debugging/ } @tree;
		next if !$worker || !$browser
		    || !grep { $_->{cmd} =~ /--type=renderer/ } @tree;
		return { cell => $cell, worker => $worker->{pid},
			browser => $browser->{pid} };
	}
	return {};
}

my $mode = (modes())[-1];
beside(mode_parts(supervisord => sub { test_part($_[0], 'supervisord') },
	egressd => sub { test_part($_[0], 'egressd') }),
    spare => sub { test_spare($mode) },
    launcher => sub { test_launcher($mode) },
    all => sub { test_all($mode) });
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
