#!/usr/bin/perl
# Pages and processes that are stuck, with the real programs and the real
# browser: the run ends by itself within its bounds, or at once when canceled;
# the service answers meanwhile; nothing of it is left.
use strict;
use warnings;
use BrowserTask::Beside;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Size qw(figure sized);
use List::Util qw(max min);
use Test::More;
use Time::HiRes qw(time);

# Promised, and how many times as long a shared machine may take. What a call is
# promised to take it may take anywhere, or twice as long as a call to another
# service at the same moment, in which no worker is stuck.
use constant { CANCEL_S => 1, CRASH_S => 0.5, ANSWER_S => 0.05, SLOWER => 5 };
use constant LIMIT_MS => 8000;

my $site = BrowserTask::Scenario::Site->new;
my $asked = 0;

# Name; page; process that is stopped there, if any. Where a page comes to an
# end by itself it is read over and over, so that the run is always in it.
my %promised = map { $_ => 1 } 'idle', 'spin', 'alerts', 'beforeunload',
    'never loaded', 'renderer stopped', 'browser stopped';
my @five = (
	[ 'spin', '/spin' ],
	[ 'alerts', '/alert-loop' ],
	[ 'no answer', '/never-headers' ],
	[ 'browser stopped', '/never-headers', 'browser' ],
	[ 'worker stopped', '/never-headers', 'worker' ],
);
my @others = (
	[ 'mutating', '/mutate' ],
	[ 'never loaded', '/never' ],
	[ 'trickling', '/trickle?ms=100' ],
	[ 'popups', '/popup' ],
	[ 'beforeunload', '/beforeunload' ],
	[ 'one alert', '/alert' ],
	[ 'idle', '/login' ],
	[ 'reading', '/article-harbour' ],
	[ 'renderer stopped', '/never-headers', 'renderer' ],
	[ 'cell stopped', '/never-headers', 'cell' ],
);

# The run $name, in a state of its own; its pages have their own addresses. No
# navigation ends before the test does: a browser that is stopped would then be
# found out, as it could not close the tab either.
sub begin {
	my ($c, $state, %options) = @_;
	my ($name, $path, $stop) = @$state;
	my $mark = ($path =~ /\?/ ? '&' : '?') . 'n=' . ++$asked;
	my $r = $name eq 'idle' ? wait_for_nothing($c, $site->url("$path$mark"))
	    : batch($c, [ ($site->url("$path$mark")) x 990,
			($site->url('/never-headers')) x 10 ],
		{ mode => 'async', timeoutMs => 600_000, %options },
		# A browser that opens no second tab is found out, too.
		$stop ? (concurrency => 1, navigationTimeoutMs => 120_000)
		    : (concurrency => 2));

	return { state => $state, name => $name, id => $r->{runId},
		stop => $stop,
		path => "$path$mark", answer => $r,
		step => $name eq 'idle' ? 'verify' : 'extract_pages' };
}

# A run that waits on a page on which nothing happens.
sub wait_for_nothing {
	my ($c, $url) = @_;
	return $c->run('submit_and_verify', { startUrl => $url, fields => [
		{ name => 'E-mail or user name', value => 'x' } ],
		submit => { mode => 'selector', selector => '#reveal' },
		successIndicator => { type => 'textIncludes',
			value => 'what never comes', timeoutMs => 120_000 } },
		{ mode => 'async', timeoutMs => 600_000 });
}

# The seconds of CPU that a process has had.
sub worked {
	my ($pid) = @_;
	open(my $fh, '<', "/proc/$pid/schedstat") or return 0;
	return (split ' ', <$fh> // 0)[0] / 1e9;
}

# Is it there? Then what is to be stopped is.
sub look {
	my ($i, $w) = @_;
	my %parts = parts($i, $w->{id});
	my @spins = @{ $parts{renderer} };

	if ($w->{path} =~ m{^/spin}) {
		my %was = %{ $w->{was} //= { map { $_ => worked($_) } @spins } };
		return if !grep { worked($_) > ($was{$_} // 1e9) + 0.1 } @spins;
	}
	return if $w->{name} eq 'idle' && !event($w->{client} //= client($i),
		$w->{id}, 0.01, sub { $_[0]{type} eq 'step_started'
		    && $_[0]{data}{step} eq 'verify' });
	$w->{parts} = \%parts;
	return 1 if !$w->{stop};
	my %stop = map { $_ => 1 } @{ $parts{ $w->{stop} } };
	kill 'STOP', keys %stop;
	return wait_until(60, sub {
		!grep { $stop{ $_->{pid} } && $_->{state} ne 'T' }
		    tree($i->{pid});
	});
}

# Waits until all of these runs are in their states, or, of those that are not,
# all are over.
sub come {
	my ($i, $over, @wait) = @_;

	wait_until(120, sub {
		my %asked = $site->fetched;
		@wait = grep { !$asked{ $_->{path} } || !look($i, $_) } @wait;
		return @wait == $over->(@wait);
	});
	return !@wait;
}

sub has_come { return @{ $_[0]{parts}{all} // [] } >= 5 }

sub reach {
	my ($i, @runs) = @_;
	my $all = come($i, sub { 0 }, @runs);

	ok(has_come($_), "$_->{name}: reached") for @runs;
	return $all;
}

sub cancel {
	my ($i, $c, $w) = @_;
	my ($took, $answer) = timed(sub {
		$c->call('run.cancel', { runId => $w->{id} }) });
	my %now = parts($i, $w->{id});
	my $gone = gone($i, @{ $w->{parts}{all} }) && !@{ $now{all} };
	my $r = get($c, $w->{id}, 'output');

	ok($answer->{success}, "$w->{name}: canceled")
	    or diag explain $answer;
	cmp_ok($took, '<', CANCEL_S * SLOWER, sprintf '%s: after %.0f ms',
		$w->{name}, $took * 1000);
	ok($gone, "$w->{name}: nothing of it is left by then")
	    or diag explain [ grep { !gone($i, $_) } @{ $w->{parts}{all} } ];
	error_is($r->{error}, 'RUN_CANCELED', 'RUN_CANCELED',
		"$w->{name}: its error");
	is($r->{output}{error}{step}, $w->{step}, "$w->{name}: names its step");
	return $took;
}

sub check_next {
	my ($c, $name) = @_;
	my $r = batch($c, [ map { $site->url("/corpus/$_") } 1 .. 3 ],
		{ mode => 'sync' });
	is($r->{status}, 'succeeded', "the next run succeeds $name")
	    or diag explain $r;
}

# One round of questions to the control plane; the times by what was asked, and
# those of the other service.
sub ask {
	my ($c, $calm, $times, @stuck) = @_;
	my %calls = (
		'profile.get' => sub { {} },
		'run.list' => sub { { limit => 20 } },
		'run.get' => sub { { runId => $stuck[ $_[0] % @stuck ]{id} } },
		'template.list' => sub { {} },
	);
	my (%took, @bad);

	for my $n (1 .. $times / keys %calls) {
		for my $call (sort keys %calls) {
			my $params = $calls{$call}->($n);
			my ($s, $a) = $c->timed($call, $params);
			push @{ $took{$call} }, $s;
			push @bad, $a if $a->{errorCode};
			push @{ $took{calm} }, ($calm->timed($call, $params))[0];
		}
	}
	for my $n (1 .. 10) {
		my $r = batch($c, [ $site->url('/login') ],
			{ mode => 'async' });
		my ($s, $a) = $c->timed('run.cancel', { runId => $r->{runId} });
		push @{ $took{'run.cancel'} }, $s;
		push @bad, $a if $r->{status} ne 'queued' || !$a->{success};
	}
	is_deeply(\@bad, [], 'every call is answered');
	return %took;
}

# The p99 of each call, and its bound, of one round.
sub round_of {
	my ($c, $calm, $times, @stuck) = @_;
	my %took = ask($c, $calm, $times, @stuck);
	my $cancels = delete $took{'run.cancel'};
	my $other = quantile(0.99, @{ delete $took{calm} });
	my $bound = min(SLOWER * ANSWER_S, max(ANSWER_S, 2 * $other));
	my %p99 = map { $_ => quantile(0.99, @{ $took{$_} }) } keys %took;

	figure('run.cancel of a queued run: at most %.1f ms of %d',
	    quantile(1, @$cancels) * 1000, scalar @$cancels);
	# Few, and each waits for the disk.
	cmp_ok(quantile(1, @$cancels), '<', CANCEL_S * SLOWER,
		'run.cancel of a queued run');
	figure('p99 of a service with no worker: %.1f ms', $other * 1000);
	return ($bound, %p99);
}

# Up to three rounds: what else the machine does is none of the service's.
sub check_control {
	my ($c, @stuck) = @_;
	my $i = BrowserTask::Harness->new(scripted => 1)->start;
	my $times = sized('calls while all are stuck', 1000, 10_000);
	my ($bound, %p99);

	for my $round (1 .. 3) {
		($bound, %p99) = round_of($c, client($i), $times, @stuck);
		last if !grep { $_ >= $bound } values %p99;
	}
	for my $call (sort keys %p99) {
		figure('%s: p99 is %.1f ms', $call, $p99{$call} * 1000);
		cmp_ok($p99{$call}, '<', $bound, "$call: its p99");
	}
	is($i->stop, 0, 'the other service stops');
}

# Whoever answers has precedence over what computes.
sub niceness {
	my ($pid) = @_;
	my @stat = split ' ', (BrowserTask::Harness::slurp("/proc/$pid/stat")
	    // return) =~ s/.*\) //sr;
	return $stat[16];
}

sub check_precedence {
	my ($i, @stuck) = @_;
	my $own = niceness($$);
	my ($least) = sort { $a <=> $b } 19, $own + 5;

	for my $w (@stuck) {
		my %parts = parts($i, $w->{id});
		# Renderers of pages that are given up come and go.
		my @pages = map { niceness($_) }
		    map { @$_ } @parts{qw(browser renderer)};
		cmp_ok(scalar @pages, '>', 0, "$w->{name}: its browser");
		is((grep { $_ < $least } @pages), 0, "$w->{name}: gives way");
	}
	for my $p (grep { $_->{cmd} =~ /^(?:supervisord|egressd)/ }
	    tree($i->{pid})) {
		is(niceness($p->{pid}), $own, "$p->{name} does not");
	}
}

# No debugging port, nor any other.
sub check_ports {
	my ($i, $when) = @_;
	my ($found, $seen) = listening($i->{pid});

	is($found, '', "nothing listens on TCP $when");
	cmp_ok($seen, '>', 20, "of $seen descriptors");
	is((grep { $_->{cmd} =~ /remote-debugging-port/ } tree($i->{pid})), 0,
		"nor is told to $when");
}

# Pages that need patience, in the background of all the others: each is read.
my @odd = qw(/alert /alert-loop /popup /beforeunload /mutate /never
    /trickle);

sub odd_begin {
	my ($c) = @_;
	my @urls = map { $site->url($_) } map { ($_, '/login') } @odd;

	return batch($c, \@urls, { mode => 'async' }, concurrency => 2)
	    ->{runId};
}

sub odd_check {
	my ($c, $run) = @_;
	my $r = ended($c, $run);
	my %item = items($r);

	is($r->{status}, 'succeeded', 'odd pages: all are read')
	    or diag explain $r->{error};
	for my $path (@odd) {
		my $it = $item{ $site->url($path) };
		ok($it->{success}, sprintf '%s: is read, in %.1f s', $path,
			$it->{elapsedMs} / 1000) or diag explain $it;
		is($it->{status}, 200, "$path: with its status");
		like($it->{title}, qr/\w/, "$path: and title");
	}
	for my $what (qr/opened a window/, qr/kept opening dialogs/) {
		ok((grep { /$what/ } @{ $r->{warnings} }), "warned: $what");
	}
	return $r;
}

# A browser that is stopped is found out after two minutes; many calls may take
# more.
sub begin_again {
	my ($i, $c, @stuck) = @_;
	my %over = map { $_->{id} => 1 } ended_runs($c, @stuck);
	my @again = map { begin($c, $_->{state}) }
	    grep { $over{ $_->{id} } } @stuck;

	reach($i, @again) if @again;
	return ((grep { !$over{ $_->{id} } } @stuck), @again);
}

# What is promised is tried as often as the size says, the rest once.
sub test_stuck {
	my ($i, $first, $rounds) = @_;
	my $c = client($i);
	my $odd = $first ? odd_begin($c) : undef;
	my @stuck = map { begin($c, $_) } @five;
	my %took;
	my $end = sub {
		for my $w (@_) {
			push @{ $took{ $w->{name} } }, cancel($i, $c, $w);
		}
	};

	reach($i, @stuck);
	if ($first) {
		subtest 'the control plane' => sub {
			check_control($c, @stuck) };
		@stuck = begin_again($i, $c, @stuck);
	}
	subtest 'precedence' => sub { check_precedence($i, @stuck) };
	check_ports($i, 'while five runs are stuck');
	$end->(@stuck);
	check_next($c, 'after five that were stuck');
	my @todo = grep { $first || $_->[2] } @others;
	for my $round (2 .. $rounds) {
		push @todo, grep { $promised{ $_->[0] } } @five, @others;
	}
	while (my @some = splice @todo, 0, 5) {
		# Its list grows, and is read again and again.
		$site->reset;
		@stuck = map { begin($c, $_) } @some;
		$end->(@stuck) if reach($i, @stuck);
	}
	check_next($c, 'after all the others');
	for my $name (sort keys %took) {
		figure('cancel, %s: at most %.0f ms of %d', $name,
		    1000 * quantile(1, @{ $took{$name} }),
		    scalar @{ $took{$name} });
	}
	subtest 'odd pages' => sub { odd_check($c, $odd) } if $odd;
}

# Without anybody's help: the run's own limit, whatever is stuck.
sub begin_limits {
	my ($i) = @_;
	my $c = client($i);
	my @todo = grep { $_->[0] =~ /^(spin|no answer|\w+ stopped)$/
	    && ($_->[2] // '') ne 'worker' } @five, @others;
	my @stuck;

	# A slow machine may need more time to get there.
	for my $limit (map { LIMIT_MS * $_ } 1, 4, 16) {
		my @now = map { { %{ begin($c, $_, timeoutMs => $limit) },
			limit => $limit } } @todo;

		come($i, sub { ended_runs($c, @_) }, @now);
		push @stuck, grep { has_come($_) } @now;
		@todo = map { $_->{state} } grep { !has_come($_) } @now;
		last if !@todo;
	}
	is_deeply([ map { $_->[0] } @todo ], [], 'all are reached');
	return @stuck;
}

sub ended_runs {
	my ($c, @runs) = @_;
	return grep { get($c, $_->{id})->{status} !~ /^(?:queued|running)$/ }
	    @runs;
}

sub end_limits {
	my ($i, @stuck) = @_;
	my $c = client($i);

	for my $w (@stuck) {
		my $r = ended($c, $w->{id}, 120);
		my $over = $r->{metrics}{elapsedMs} - $w->{limit};
		error_is($r->{error}, 'RUN_TIMEOUT', 'RUN_TIMEOUT',
			"$w->{name}: its time is over");
		cmp_ok($over, '<', 1000 * CANCEL_S * SLOWER,
			"$w->{name}: ended $over ms after its limit");
		ok(gone($i, @{ $w->{parts}{all} }),
			"$w->{name}: nothing of it is left");
	}
}

# A worker that says nothing is found out; a cell that is stopped holds up
# nothing but its own end.
sub test_silence {
	my ($i) = @_;
	my $c = client($i);
	my $cell = batch($c, [ map { $site->url($_) } '/slow', '/login' ],
		{ mode => 'async' }, concurrency => 1)->{runId};
	my $w = begin($c, [ 'worker', '/never-headers', 'worker' ]);
	my %parts;

	wait_until(60, sub { %parts = parts($i, $cell); $parts{cell}[0] });
	kill 'STOP', @{ $parts{cell} };
	reach($i, $w);
	my ($took, $r) = timed(sub { ended($c, $w->{id}, 120) });
	error_is($r->{error}, 'EXECUTION_ERROR', 'WORKER_SILENT',
		sprintf 'a stopped worker, after %.1f s', $took);
	ok($r->{error}{retryable}, 'which is worth a retry');
	ok(gone($i, @{ $w->{parts}{all} }), 'nothing of it is left');
	check_next($c, 'after a silent worker');
	$r = ended($c, $cell, 120);
	is($r->{status}, 'succeeded', 'a stopped cell: its run is done');
	ok(gone($i, @{ $parts{all} }), 'and nothing of it is left');
}

# The processes of the cell that is being made, as soon as $kind is there.
sub newborn {
	my ($i, $kind, $known) = @_;
	my ($cell, $pid);

	wait_until(60, sub {
		my @tree = grep { $_->{state} ne 'Z' } tree($i->{pid});
		($cell) = map { $_->{pid} } grep { $_->{ppid} == $i->{pid}
		    && $_->{cmd} !~ /^(?:supervisord|egressd)/ && !$known->{ $_->{pid} } }
		    @tree;
		return if !$cell;
		my %is = (cell => qr/^/, worker => qr/^workerd/,
			browser => qr/--remote-debugging/);
		($pid) = map { $_->{pid} } grep { $_->{cmd} =~ $is{$kind}
		    && $_->{cmd} !~ /--type=/ && $_->{ $kind eq 'cell'
		    ? 'pid' : 'ppid' } == $cell } @tree;
		return $pid;
	});
	$known->{$cell} = 1 if $cell;
	return $pid;
}

# Stops or kills what is just being started.
sub begin_starting {
	my ($i) = @_;
	my $c = client($i);
	my @ways = ([ 'KILL', 'browser' ], [ 'KILL', 'worker' ],
		[ 'KILL', 'cell' ], [ 'STOP', 'browser' ], [ 'STOP', 'worker' ],
		[ 'STOP', 'cell' ]);
	my (%known, @runs);

	for my $way (@ways) {
		my ($signal, $kind) = @$way;
		my $r = batch($c, [ $site->url('/login') ],
			{ mode => 'async' });
		my $pid = newborn($i, $kind, \%known);
		ok($pid && kill($signal, $pid), "$signal $kind");
		push @runs, [ "$signal $kind", $r->{runId} ];
		ended($c, $r->{runId}, 120) if $signal eq 'KILL';
	}
	my $r = batch($c, [ $site->url('/never-headers') ],
		{ mode => 'async' });
	newborn($i, 'cell', \%known);
	my ($took, $a) = timed(sub {
		$c->call('run.cancel', { runId => $r->{runId} }) });
	ok($a->{success}, 'canceled') or diag explain $a;
	cmp_ok($took, '<', CANCEL_S * SLOWER, sprintf
		'canceled after %.0f ms', $took * 1000);
	return @runs;
}

# Stuck or dead before it was up: what the run says, and that it ends.
sub end_starting {
	my ($i, @runs) = @_;
	my $c = client($i);

	for my $run (@runs) {
		my ($name, $id) = @$run;
		my $r = ended($c, $id, 120);
		my $e = $r->{error};
		next if !ok($r, "$name: ends");
		is($r->{status}, 'failed', "$name: $r->{metrics}{elapsedMs} ms, "
			. ($e->{details}{cause} // $r->{status}));
		like($e->{errorCode}, qr/^(EXECUTION_ERROR|PAGE_CRASHED)$/,
			"$name: $e->{errorCode}");
		ok($e->{retryable}, "$name: is worth a retry");
		is($r->{output}{error}{step}, 'start', "$name: at its start");
	}
	check_next($c, 'after some that did not start');
	is((grep { $_->{cmd} !~ /^(?:supervisord|egressd)/ } tree($i->{pid})), 0,
		'nothing is left of those that did not start');
}

sub test_kills {
	my ($i, $kills) = @_;
	my $c = client($i);
	my ($reading) = grep { $_->[0] eq 'reading' } @others;
	my @took;

	while ($kills > 0) {
		$site->reset;
		my @some = map { begin($c, $reading) } 1 .. ($kills < 5
		    ? $kills : 5);
		$kills -= @some;
		reach($i, @some);
		for my $n (1 .. @some) {
			my $w = $some[ $n - 1 ];
			done($c, $w->{id}, $n);
			my $was = time;
			kill 'KILL', @{ $w->{parts}{browser} };
			my $r = ended($c, $w->{id}, 120);
			push @took, time - $was;
			error_is($r->{error}, 'PAGE_CRASHED', 'PAGE_CRASHED',
				"browser killed: its run's error");
			ok(gone($i, @{ $w->{parts}{all} }),
				'nothing of it is left');
			cmp_ok(scalar @{ $r->{output}{result}{items} }, '>=',
				$n, 'what was read is kept');
		}
	}
	figure('PAGE_CRASHED after %.0f ms, at most %.0f ms of %d',
	    1000 * quantile(0.5, @took), 1000 * quantile(1, @took),
	    scalar @took);
	cmp_ok(quantile(1, @took), '<', CRASH_S * SLOWER,
		'PAGE_CRASHED in time');
	check_next($c, 'after killed browsers');
}

# One renderer is killed in the middle of a page: the item is read again in a
# fresh tab, and no other is touched.
sub test_renderer {
	my ($i) = @_;
	my $c = client($i);
	my $slow = '/trickle?ms=5&n=' . ++$asked;
	my @urls = map { $site->url($_) }
	    (map { "/corpus/$_" } 1 .. 3), $slow, '/login';
	my $r = batch($c, \@urls, { mode => 'async' }, concurrency => 1);
	my %parts;

	wait_until(60, sub {
		my %n = $site->fetched;
		%parts = parts($i, $r->{runId});
		$n{$slow} && @{ $parts{renderer} };
	});
	# Of the tab's and the one that is kept ready, the tab's has worked more.
	kill 'KILL',
	    (sort { worked($b) <=> worked($a) } @{ $parts{renderer} })[0];
	$r = ended($c, $r->{runId}, 120);
	is($r->{status}, 'succeeded', 'renderer killed: the run goes on')
	    or diag explain $r->{error};
	my @again = grep { $_->{attempts} > 1 } @{ $r->{result}{items} };
	is_deeply([ map { $_->{url} } @again ], [ $urls[3] ],
		'renderer killed: one page is read again');
}

# What a page does is the same in both modes, what a process does is not.
sub test_up {
	my ($mode) = @_;
	my $first = $mode eq (modes())[0];
	my $i = BrowserTask::Harness->new(mode => $mode,
		settings => [ 'maxConcurrentRuns=6', 'silentMs=600000',
		'runTtlMs=86400000' ])->start;
	my $kills = sized('killed browsers', $first ? 10 : 2, 100);
	my @limited;

	subtest stuck => sub {
		test_stuck($i, $first, sized('cancels of each promised state',
			$first ? 3 : 1, 50));
	};
	subtest 'before their limits' => sub { @limited = begin_limits($i) };
	# A few, while the others wait; not so many that pids are used again.
	subtest 'browsers killed' => sub { test_kills($i, min($kills, 10)) };
	subtest limits => sub { end_limits($i, @limited) };
	subtest 'more browsers killed' => sub { test_kills($i, $kills - 10) }
	    if $kills > 10;
	subtest 'renderer killed' => sub { test_renderer($i) } if $first;
	check_ports($i, 'at the end');
	is($i->stop, 0, 'stops');
}

sub test_starting {
	my ($mode) = @_;
	my $i = BrowserTask::Harness->new(mode => $mode,
		settings => [ 'pingMs=200', 'silentMs=5000',
		'browserStartMs=20000' ])->start;
	my @starting;

	subtest starting => sub { @starting = begin_starting($i) };
	subtest silence => sub { test_silence($i) };
	subtest 'not started' => sub { end_starting($i, @starting) };
	is($i->stop, 0, 'stops');
}

like(scalar listening($$), qr/demosite/, 'a listening socket is seen');
beside(mode_parts(up => \&test_up, starting => \&test_starting));
is(left(60, $site->{pid}), '', 'nothing is left');
$site->stop;
done_testing();
